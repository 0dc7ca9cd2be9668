package conformance

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// declaring is a backend whose devices declare that they may flush subnormal numbers of f32 to zero.
type declaring struct{ core.Backend }

type declaringDevice struct {
	core.Device
	caps core.Capabilities
}

func (d declaring) Open(ctx context.Context, i int) (core.Device, error) {
	x, err := d.Backend.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	c := *x.Capabilities()
	c.Flushes = dtype.SetOf(dtype.F32)
	return &declaringDevice{x, c}, nil
}

func (d *declaringDevice) Capabilities() *core.Capabilities { return &d.caps }

// A device that declares flushing may flush subnormal numbers to zero, but nothing else in its results may be wrong. A device that does
// not declare flushing may not flush.
func TestFlushedResults(t *testing.T) {
	t.Parallel()
	zero := func(f float64) float64 {
		if math.Abs(f) < 0x1p-126 {
			return math.Copysign(0, f)
		}
		return f
	}
	keep := func(f float64) float64 { return f }
	plus := func(f float64) float64 { return zero(f) + 0x1p-126 }
	unsigned := func(f float64) float64 { return math.Abs(zero(f)) }
	for name, c := range map[string]struct {
		in, out  func(float64) float64
		declares bool
		passes   bool
	}{
		"declares flushing, keeps all":        {keep, keep, true, true},
		"declares flushing, flushes both":     {zero, zero, true, true},
		"declares flushing, flushes operands": {zero, keep, true, true},
		"declares flushing, flushes results":  {keep, zero, true, true},
		"flushes both undeclared":             {zero, zero, false, false},
		"flushes results undeclared":          {keep, zero, false, false},
		"declares flushing, adds":             {zero, plus, true, false},
		"declares flushing, loses signs":      {zero, unsigned, true, false},
		"declares flushing, doubles":          {zero, func(f float64) float64 { return 2 * zero(f) }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := func(ts []ref.Tensor, f func(float64) float64) []ref.Tensor {
				ts = cloneAll(ts)
				for _, x := range ts {
					for i := range x.F {
						if x.Desc.DType == dtype.F32 {
							x.F[i] = f(x.F[i])
						}
					}
				}
				return ts
			}
			r, err := Check(context.Background(), func() (core.Backend, error) {
				b := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
					out, err := ref.Eval(n, change(in, c.in))
					return change(out, c.out), err
				}))
				if c.declares {
					return declaring{b}, nil
				}
				return b, nil
			}, Options{Run: `^(neg|mul|sub|sqrt|log)/f32/[^/]+/special$`, Shrink: -1})
			require.NoError(t, err)
			require.Positive(t, r.Passed+r.Failed)
			if c.passes {
				require.Zero(t, r.Failed, "%v", r.Err())
			} else {
				require.Positive(t, r.Failed)
			}
		})
	}
}
