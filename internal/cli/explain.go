package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) explainFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.flags.explain, "explain", false, "print at the end which ops ran as programs and why others did not (setting fusion), and the plans of a router with each member's share of the time")
}

// decorated returns p with the decorators that the settings request: fusion, and the report of --explain.
func (a *app) decorated(p *core.Place) *core.Place {
	e := &explained{app: a}
	if a.config.Fusion {
		p = fusion.Device(p, fusion.With(&e.fusion))
	}
	if !a.flags.explain {
		return p
	}
	a.explained = e
	return p.With(func(b core.Backend) core.Backend { e.Backend = b; return e })
}

// printExplained prints the report of --explain once, while its devices are open.
func (a *app) printExplained() {
	if a.explained != nil {
		a.explained.once.Do(a.explained.print)
	}
}

// explained is a backend that prints the report of --explain before its device is closed.
type explained struct {
	core.Backend
	app    *app
	fusion fusion.Report
	once   sync.Once

	profile core.Profiling // set while the times of a router are recorded, else nil
}

// Open implements core.Backend. A router records the times of its members from then on.
func (e *explained) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := e.Backend.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	if p, ok := core.Extension[core.Profiling](d); ok && e.app.router != nil && p.StartProfile(ctx) == nil {
		e.profile = p
	}
	return &explainedDevice{d, e}, nil
}

// explainedDevice prints the report before it is closed, if it has not been printed yet.
type explainedDevice struct {
	core.Device
	e *explained
}

// Close implements core.Device.
func (d *explainedDevice) Close() error {
	d.e.once.Do(d.e.print)
	return d.Device.Close()
}

func (e *explained) print() {
	if e.app.router != nil {
		e.routes(e.app.router)
	}
	if !e.app.config.Fusion {
		plain.Fprintf(e.app.err, "fusion is off: eager code runs node by node (see the setting fusion in burn --help, or BURN_FUSION)\n")
		return
	}
	var report strings.Builder
	_ = e.fusion.Explain(&report) // a strings.Builder never fails
	e.text(report.String())
}

// text prints lines that may contain names from plugins or models.
func (e *explained) text(s string) { _, _ = io.WriteString(e.app.err, plain.Lines(s)) }

// routes prints where programs are placed, the work of each member, and the transfers.
func (e *explained) routes(r *router.Router) {
	for _, p := range r.Plans() {
		e.text(p.String())
	}
	if e.profile != nil {
		_, _ = e.profile.StopProfile(context.Background()) // if it fails, the report says that the shares are unknown
	}
	stats := r.Stats()
	var whole time.Duration
	for _, m := range stats.Members {
		whole += m.Time
	}
	for _, m := range stats.Members {
		share := "time unknown"
		if whole > 0 {
			share = fmt.Sprintf("%.1f %% of the time", 100*m.Time.Seconds()/whole.Seconds())
		}
		plain.Fprintf(e.app.err, "%s: %s, %d nodes, %d runs of programs, %d nodes that the main member does not support\n", m.Spec, share, m.Nodes, m.Programs, m.Fallbacks)
	}
	for _, l := range stats.Links {
		plain.Fprintf(e.app.err, "%s to %s: %d tensors, %d bytes\n", l.From, l.To, l.Tensors, l.Bytes)
	}
}
