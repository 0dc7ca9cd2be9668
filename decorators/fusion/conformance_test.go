package fusion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/plugins/cpu"
)

// The conformance suite passes over fusion in two modes: "passed", in which hardly any window repeats and nodes are passed on, and "fused",
// in which every window becomes a program at its first occurrence.
func TestConformance(t *testing.T) {
	sample := 240
	switch {
	case long.Tests():
		sample = 1
	case testing.Short(): // the race detector, where a case takes ten times as long
		sample = 400
	}
	for name, open := range map[string]func() (core.Backend, error){
		"cpu":       func() (core.Backend, error) { return cpu.New(core.Config{Threads: 2}) },
		"reference": func() (core.Backend, error) { return ref.New(), nil },
	} {
		for mode, option := range map[string]fusion.Option{"passed": fusion.Cache(64, 1<<20), "fused": fusion.AtFirstSight()} {
			var expect []string
			if mode == "fused" { // a program differs from its nodes here: its results fail together, and a profile names the program
				expect = []string{"refused/within", "profiling/records", "profiling/recordings"}
			}
			t.Run(name+"/"+mode, func(t *testing.T) {
				var report fusion.Report
				r, err := conformance.Check(t.Context(), func() (core.Backend, error) {
					b, err := open()
					if err != nil {
						return nil, err
					}
					return fusion.Wrap(b, fusion.With(&report), option), nil
				}, conformance.Options{Sample: sample, Shrink: -1, Expect: expect})
				require.NoError(t, err)
				require.NoError(t, r.Err())
				var hits, windows int64
				for _, s := range report.Stats() {
					hits, windows = hits+s.Hits, windows+s.Windows
				}
				t.Logf("%d cases passed; of the devices that were open last, %d of %d windows ran as programs", r.Passed, hits, windows)
			})
		}
	}
}
