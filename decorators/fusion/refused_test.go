package fusion_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// refusing is a backend whose streams refuse nodes while on is set.
type refusing struct {
	core.Backend
	on atomic.Bool
}

func (b *refusing) Open(c context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(c, i)
	return &refusingDevice{d, b}, err
}

type refusingDevice struct {
	core.Device
	b *refusing
}

func (d *refusingDevice) OpenStream(c context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(c)
	return &refusingStream{s, d.b}, err
}

func (d *refusingDevice) Extend(target any) bool {
	if t, ok := target.(*core.Programs); ok {
		return core.WrapExtension(d.Device, t, func(x core.Programs) core.Programs { return refusingPrograms{x} })
	}
	return d.Device.Extend(target)
}

type refusingStream struct {
	core.Stream
	b *refusing
}

func (s *refusingStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) > 0 && s.b.on.Load() {
		return fmt.Errorf("too many nodes: %w", core.ErrOutOfMemory)
	}
	return s.Stream.Submit(nodes, free)
}

// refusingPrograms unwraps streams before it calls the extension below.
type refusingPrograms struct{ core.Programs }

func (x refusingPrograms) Define(c context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	return x.Programs.Define(c, s.(*refusingStream).Stream, p, consts)
}

func (x refusingPrograms) Run(s core.Stream, r core.Run) error {
	return x.Programs.Run(s.(*refusingStream).Stream, r)
}

// If the device refuses nodes that fusion had accepted and held for a plan, they fail like executed nodes: the reads of their results and,
// once, the next event return the error. Later nodes are unaffected.
func TestHeldNodesRefused(t *testing.T) {
	b := &refusing{Backend: processor(t)}
	r := over(t, b)
	step := func(x op.Desc) (half, y op.Desc) {
		half = r.do(op.Neg, 0, ds{x})
		return half, r.do(op.Square, 0, ds{half})
	}
	x := r.write(1, 2)
	for range 4 { // until the plan is made
		half, y := step(x)
		require.Equal(t, []float32{1, 4}, r.read(y))
		r.free(half, y)
	}
	require.Positive(t, r.stats().Hits)

	b.on.Store(true)
	half := r.do(op.Neg, 0, ds{x}) // held, because the plan begins with neg
	n := r.node(op.Abs, 0, ds{half})
	require.NoError(t, r.Submit([]op.Node{n}, nil)) // no plan continues with abs: both nodes are passed on
	require.ErrorIs(t, r.fetch(n.Outputs[0]), core.ErrOutOfMemory)
	err := r.fetch(half)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	var failed *core.NodeError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "neg", failed.Op)
	require.Equal(t, half.ID, failed.Outputs[0].ID)
	require.ErrorIs(t, core.Sync(ctx, r.Stream), core.ErrOutOfMemory)
	require.NoError(t, core.Sync(ctx, r.Stream), "the refusal was already reported")

	b.on.Store(false)
	again, y := step(x)
	require.Equal(t, []float32{1, 4}, r.read(y))
	require.Equal(t, []float32{-1, -2}, r.read(again))
	require.Error(t, r.fetch(r.do(op.Neg, 0, ds{half})), "the refused nodes have created no tensor")
	require.ErrorIs(t, core.Sync(ctx, r.Stream), core.ErrUnknownTensor)
}
