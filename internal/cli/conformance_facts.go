package cli

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/conformance"
)

// smiFields are the fields queried from nvidia-smi for every GPU.
var smiFields = []string{"name", "driver_version", "vbios_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.limit", "persistence_mode"}

// addFacts records the drivers and clocks of GPUs, which belong in the report package beside its timings. Without a tool that
// reports them it records none.
func addFacts(ctx context.Context, r *conformance.Report) {
	tool, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, tool, "--query-gpu="+strings.Join(smiFields, ","), "--format=csv,noheader").Output()
	if err != nil {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		values := strings.Split(line, ", ")
		for k, name := range smiFields[:min(len(smiFields), len(values))] {
			if r.Machine.Facts == nil {
				r.Machine.Facts = map[string]string{}
			}
			r.Machine.Facts["gpu"+strconv.Itoa(i)+"."+name] = strings.TrimSpace(values[k])
		}
	}
}
