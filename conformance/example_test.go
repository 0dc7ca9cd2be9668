package conformance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cpu"
)

// Check runs some cases of the suite on a backend. The tests of a backend call conformance.Run instead.
func ExampleCheck() {
	open := func() (core.Backend, error) { return cpu.New(core.Config{}) }
	report, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^neg/f32/"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Passed > 0, report.Failed, report.Err())
	// Output: true 0 <nil>
}
