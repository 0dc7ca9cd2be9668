package cli

import (
	"context"
	"fmt"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
)

// conformancePerf prints a line for each op when it is timed. If pack is set, it writes the report package there, signed if there
// is a key.
func (a *app) conformancePerf(ctx context.Context, t *tested, o conformance.Options, pack string, key *store.PrivateKey) error {
	plain.Fprintf(a.out, "%-20s %-5s %10s %10s %10s  %s\n", "op", "type", "median µs", "GB/s", "GFLOP/s", "node")
	timed := 0
	report, err := conformance.Perf(ctx, t.open, o, func(p conformance.Timing) {
		if p.Err != nil {
			plain.Fprintf(a.out, "%-20s %-5s %v\n", p.Op, p.Type, p.Err)
			return
		}
		timed++
		flops := ""
		if p.Flops > 0 {
			flops = fmt.Sprintf("%.2f", float64(p.Flops)/p.Median.Seconds()/1e9)
		}
		plain.Fprintf(a.out, "%-20s %-5s %10.1f %10.2f %10s  %s\n", p.Op, p.Type, float64(p.Median.Nanoseconds())/1e3,
			float64(p.Bytes)/p.Median.Seconds()/1e9, flops, p.Node)
	})
	if err != nil {
		return err
	}
	report.Plugin = t.plugin
	addFacts(ctx, report)
	if err := a.writeReport(report, pack, key); err != nil {
		return err
	}
	switch failed := len(report.Timings) - timed; {
	case timed == 0:
		return fmt.Errorf("no op was timed")
	case failed > 0:
		return fmt.Errorf("%d of %d ops failed or were wrong", failed, len(report.Timings))
	}
	return nil
}
