package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/fusion"
)

// idle is the cpu backend's document over a device that computes nothing: what remains of a step is the host's own work.
type idle struct{ core.Backend }

func (b idle) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return idleDevice{d}, err
}

type idleDevice struct{ core.Device }

func (d idleDevice) OpenStream(context.Context) (core.Stream, error) { return idleStream{}, nil }

func (d idleDevice) Extend(target any) bool {
	t, ok := target.(*core.Programs)
	if ok {
		*t = idlePrograms{}
	}
	return ok
}

type idleStream struct{}

func (idleStream) Submit([]op.Node, []op.TensorID) error        { return nil }
func (idleStream) Write(context.Context, op.Desc, []byte) error { return nil }
func (idleStream) Read(op.TensorID, []byte) core.Ticket         { return core.Failed(nil) }
func (idleStream) Signal() core.Event                           { return core.Failed(nil).(core.Event) }
func (idleStream) Wait(core.Event) error                        { return nil }
func (idleStream) Close() error                                 { return nil }

type idlePrograms struct{}

func (idlePrograms) Define(context.Context, core.Stream, *program.Program, []op.TensorID) (core.ProgramID, error) {
	return 1, nil
}
func (idlePrograms) Run(core.Stream, core.Run) error { return nil }
func (idlePrograms) Undefine(core.ProgramID) error   { return nil }

// BenchmarkHost measures the host's time for a training step that is written op by op: tensor, autodiff and fusion over a device that
// computes nothing.
func BenchmarkHost(b *testing.B) {
	for _, name := range []string{"mnist_cnn", "transformer"} {
		for _, fused := range []bool{false, true} {
			way := map[bool]string{false: "eager", true: "fused"}[fused]
			b.Run(name+"/"+way, func(b *testing.B) {
				c, err := find(name)
				require.NoError(b, err)
				more := []burn.Option{burn.WithDecorator(func(p *core.Place) *core.Place {
					return p.With(func(b core.Backend) core.Backend { return idle{b} })
				})}
				if fused {
					more = append(more, burn.WithDecorator(func(p *core.Place) *core.Place { return fusion.Device(p) }))
				}
				tr, err := newTrainer(context.Background(), c, settings{device: "builtin:cpu", threads: 1, narrow: dtype.F32}, more...)
				require.NoError(b, err)
				defer func() { require.NoError(b, tr.close()) }()
				for range 6 {
					_, err := tr.step(context.Background())
					require.NoError(b, err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := tr.step(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
