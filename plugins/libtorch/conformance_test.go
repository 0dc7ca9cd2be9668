package libtorch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
)

func openChecked() (core.Backend, error) {
	return New(core.Config{Threads: 1, Options: map[string]string{"check": "true"}})
}

func TestReport(t *testing.T) {
	sample, _ := strconv.Atoi(os.Getenv("SAMPLE"))
	r, err := conformance.Check(t.Context(), openChecked, conformance.Options{Run: os.Getenv("RUN"), Profile: conformance.Profile(os.Getenv("PROFILE")), Sample: sample, Shrink: -1})
	require.NoError(t, err)
	byOp := map[string][]string{}
	for _, x := range r.Results {
		if x.Status == "failed" || fmt.Sprint(x.Status) == "failed" || fmt.Sprint(x.Status) == "fail" {
			o, _, _ := strings.Cut(x.ID, "/")
			byOp[o] = append(byOp[o], x.ID+": "+x.Reason)
		}
	}
	for o, l := range byOp {
		fmt.Println(o, len(l))
		for i := 0; i < len(l) && i < 3; i++ {
			s := l[i]
			if len(s) > 400 {
				s = s[:400]
			}
			fmt.Println("   ", s)
		}
	}
	fmt.Println(r.Passed, "passed", r.Failed, "failed", r.Skipped, "skipped")
}
