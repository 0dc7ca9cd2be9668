package conformance_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// fault evaluates a node wrongly. right is the correct evaluation.
type fault func(n *op.Node, in []ref.Tensor, right func(*op.Node, []ref.Tensor) ([]ref.Tensor, error)) ([]ref.Tensor, error)

// after returns a fault that changes the results of one op.
func after(c op.Code, change func(n *op.Node, in, out []ref.Tensor)) fault {
	return func(n *op.Node, in []ref.Tensor, right func(*op.Node, []ref.Tensor) ([]ref.Tensor, error)) ([]ref.Tensor, error) {
		out, err := right(n, in)
		if err == nil && n.Op == c {
			change(n, in, out)
		}
		return out, err
	}
}

// attribute returns a fault that changes attributes of one op.
func attribute(c op.Code, change func(n *op.Node, a *op.Attr)) fault {
	return func(n *op.Node, in []ref.Tensor, right func(*op.Node, []ref.Tensor) ([]ref.Tensor, error)) ([]ref.Tensor, error) {
		if n.Op == c {
			m := *n
			m.Attrs = slices.Clone(n.Attrs)
			for i := range m.Attrs {
				change(&m, &m.Attrs[i])
			}
			n = &m
		}
		return right(n, in)
	}
}

// Every planted fault is caught by a case of the op that has it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		op    op.Code // some of its cases must fail
		plant fault
	}{
		{"off by one write", op.Neg, after(op.Neg, func(_ *op.Node, _, out []ref.Tensor) {
			if n := len(out[0].F); n > 3 {
				out[0].F[n-1] = out[0].F[n-2]
			}
		})},
		{"max drops NaN", op.Max, after(op.Max, func(_ *op.Node, in, out []ref.Tensor) {
			for i, f := range out[0].F {
				if math.IsNaN(f) {
					out[0].F[i] = 0
				}
			}
		})},
		{"reduction drops NaN", op.ReduceMax, after(op.ReduceMax, func(_ *op.Node, _, out []ref.Tensor) {
			for i, f := range out[0].F {
				if math.IsNaN(f) {
					out[0].F[i] = 1
				}
			}
		})},
		{"rank 0 broadcasts its first element only", op.Add, after(op.Add, func(_ *op.Node, in, out []ref.Tensor) {
			if len(in[1].Desc.Shape) == 0 && len(out[0].F) > 1 {
				copy(out[0].F[1:], in[0].F[1:])
			}
		})},
		{"permute ignores strides", op.Permute, after(op.Permute, func(_ *op.Node, in, out []ref.Tensor) {
			copy(out[0].F, in[0].F)
			copy(out[0].I, in[0].I)
		})},
		{"slice ignores the sign of step", op.Slice, attribute(op.Slice, func(n *op.Node, a *op.Attr) {
			if a.Name == "step" && slices.Contains(a.Value.Ints(), -1) {
				start := n.Attrs.Ints("start")
				steps := slices.Clone(a.Value.Ints())
				for d := range steps {
					if steps[d] == -1 && start[d]-n.Outputs[0].Shape[d]+1 == 0 {
						steps[d] = 1
						start = slices.Clone(start)
						start[d] = 0
					}
				}
				n.Attrs[0], *a = op.Ints("start", start...), op.Ints("step", steps...)
			}
		})},
		{"argmax takes the last of equals", op.ArgMax, after(op.ArgMax, func(n *op.Node, in, out []ref.Tensor) {
			axis := n.Attrs.Int("axis")
			if s := in[0].Desc.Shape; axis == len(s)-1 && !in[0].Desc.DType.IsFloat() {
				for i := range out[0].I {
					line := in[0].I[i*s[axis]:][:s[axis]]
					for k, v := range line {
						if v == line[out[0].I[i]] {
							out[0].I[i] = int64(k)
						}
					}
				}
			}
		})},
		{"unstable sort", op.Sort, after(op.Sort, func(n *op.Node, _, out []ref.Tensor) {
			s := out[0].Desc.Shape
			for p := 1; p < len(out[0].I) && n.Attrs.Int("axis") == len(s)-1; p++ {
				if p%s[len(s)-1] != 0 && out[0].I[p] == out[0].I[p-1] {
					out[1].I[p], out[1].I[p-1] = out[1].I[p-1], out[1].I[p]
				}
			}
		})},
		{"integer division toward minus infinity", op.Div, after(op.Div, func(_ *op.Node, in, out []ref.Tensor) {
			for i, q := range out[0].I {
				if len(in[0].I) == len(in[1].I) && in[1].I[i] != 0 && in[0].I[i]%in[1].I[i] != 0 && (in[0].I[i] < 0) != (in[1].I[i] < 0) {
					out[0].I[i] = ref.Wrap(out[0].Desc.DType, q-1)
				}
			}
		})},
		{"cast truncates to f16", op.Cast, after(op.Cast, func(_ *op.Node, in, out []ref.Tensor) {
			if out[0].Desc.DType == dtype.F16 && in[0].Desc.DType == dtype.F32 {
				for i, f := range in[0].F {
					if r := out[0].F[i]; math.Abs(r) > math.Abs(f) && !math.IsInf(r, 0) {
						out[0].F[i] = math.Copysign(float64((dtype.Float16From64(math.Abs(r)) - 1).Float32()), r)
					}
				}
			}
		})},
		{"round half away from zero", op.Round, after(op.Round, func(_ *op.Node, in, out []ref.Tensor) {
			for i, f := range in[0].F {
				out[0].F[i] = math.Round(f)
			}
		})},
		{"sum accumulates f16 in f16", op.Sum, after(op.Sum, func(n *op.Node, in, out []ref.Tensor) {
			if in[0].Desc.DType != dtype.F16 || len(out[0].F) != 1 {
				return
			}
			s := 0.0
			for _, f := range in[0].F {
				s = ref.Round(dtype.F16, s+f)
			}
			out[0].F[0] = s
		})},
		{"integers saturate", op.Mul, after(op.Mul, func(_ *op.Node, in, out []ref.Tensor) {
			if out[0].Desc.DType == dtype.I8 && len(in[0].I) == len(in[1].I) {
				for i := range out[0].I {
					out[0].I[i] = min(max(in[0].I[i]*in[1].I[i], -128), 127)
				}
			}
		})},
		{"zero times infinity is skipped", op.MatMul, after(op.MatMul, func(_ *op.Node, _, out []ref.Tensor) {
			for i, f := range out[0].F {
				if math.IsNaN(f) {
					out[0].F[i] = 0
				}
			}
		})},
		{"transpose_b is ignored", op.MatMul, attribute(op.MatMul, func(n *op.Node, a *op.Attr) {
			if s := n.Outputs[0].Shape; a.Name == "transpose_b" && a.Value.Bool() && len(s) == 2 && s[0] == 3 {
				*a = op.Flag("transpose_b", false)
			}
		})},
		{"convolution ignores input dilation", op.Conv, attribute(op.Conv, func(_ *op.Node, a *op.Attr) {
			if a.Name == "input_dilation" {
				*a = op.Ints("input_dilation", slices.Repeat([]int{1}, len(a.Value.Ints()))...)
			}
		})},
		{"average counts padding", op.AvgPool, attribute(op.AvgPool, func(_ *op.Node, a *op.Attr) {
			if a.Name == "count_pad" {
				*a = op.Flag("count_pad", true)
			}
		})},
		{"index outside is clamped", op.Gather, func(n *op.Node, in []ref.Tensor, right func(*op.Node, []ref.Tensor) ([]ref.Tensor, error)) ([]ref.Tensor, error) {
			if n.Op == op.Gather {
				in = slices.Clone(in)
				in[1] = in[1].Clone()
				for i, k := range in[1].I {
					in[1].I[i] = min(max(k, 0), int64(in[0].Desc.Shape[n.Attrs.Int("axis")]-1))
				}
			}
			return right(n, in)
		}},
		{"scatter takes the first of equals", op.Scatter, func(n *op.Node, in []ref.Tensor, right func(*op.Node, []ref.Tensor) ([]ref.Tensor, error)) ([]ref.Tensor, error) {
			if n.Op == op.Scatter && n.Attrs.Str("mode") == "assign" && len(in[0].Desc.Shape) == 2 && n.Attrs.Int("axis") == 0 && len(in[1].I) > 1 {
				in = slices.Clone(in)
				in[1], in[2] = backwards(in[1]), backwards(in[2])
			}
			return right(n, in)
		}},
		{"mean of nothing is zero", op.Mean, after(op.Mean, func(_ *op.Node, in, out []ref.Tensor) {
			if in[0].Desc.Shape.Size() == 0 {
				clear(out[0].F)
			}
		})},
		{"softmax overflows", op.Softmax, after(op.Softmax, func(_ *op.Node, in, out []ref.Tensor) {
			for i, f := range in[0].F {
				if f > 15 {
					out[0].F[i] = math.NaN()
				}
			}
		})},
		{"negative zero is lost", op.Neg, after(op.Neg, func(_ *op.Node, _, out []ref.Tensor) {
			for i, f := range out[0].F {
				out[0].F[i] = f + 0
			}
		})},
		{"random bits ignore the counter's carry", op.RandomBits, attribute(op.RandomBits, func(_ *op.Node, a *op.Attr) {
			if a.Name == "counter" {
				*a = op.Int("counter", int(uint32(a.Value.Int())))
			}
		})},
		{"kernel panics", op.Tan, after(op.Tan, func(n *op.Node, _, out []ref.Tensor) {
			if len(out[0].F) == 7 {
				panic("planted")
			}
		})},
	} {
		t.Run(m.name, func(t *testing.T) {
			open := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) { return m.plant(n, in, ref.Eval) }))
			r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^" + m.op.String() + "/", Shrink: -1})
			require.NoError(t, err)
			require.Error(t, r.Err())
			require.NotZero(t, r.Failed)
			require.NotZero(t, r.Passed, "the fault is not in every case")
		})
	}
}

// backwards returns a copy of t with its rows in reverse order.
func backwards(t ref.Tensor) ref.Tensor {
	out := t.Clone()
	rows := t.Desc.Shape[0]
	width := t.Desc.Shape.Size() / rows
	for i := range rows {
		if t.Desc.DType.IsFloat() {
			copy(out.F[i*width:][:width], t.F[(rows-1-i)*width:])
		} else {
			copy(out.I[i*width:][:width], t.I[(rows-1-i)*width:])
		}
	}
	return out
}

// False claims in a capability document are caught.
func TestFalseClaimIsCaught(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Claiming(func(c op.Code) bool { return c != op.Erf }))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^claims/"})
	require.NoError(t, err)
	require.Equal(t, 1, r.Failed)
	for _, m := range []struct {
		name, id string
		lie      func(c *core.Capabilities)
	}{
		{"another version", "claims/document", func(c *core.Capabilities) {
			c.Ops["erf"] = core.OpCapability{Version: 9, Operands: c.Ops["erf"].Operands}
		}},
		{"no types of operands", "claims/document", func(c *core.Capabilities) { c.Ops["erf"] = core.OpCapability{Version: 1} }},
		{"types that the row does not accept", "claims/document", func(c *core.Capabilities) { c.Ops["erf"] = core.Uniform(1, dtype.Bools) }},
		{"operands of an op without operands", "claims/document", func(c *core.Capabilities) { c.Ops["iota"] = core.Uniform(1, dtype.Numbers) }},
		{"an op that is not in the table", "claims/document", func(c *core.Capabilities) { c.Ops["erfff"] = core.Uniform(1, dtype.Floats) }},
		{"emulation of a type that is not claimed", "claims/document", func(c *core.Capabilities) { c.Types, c.Emulated = dtype.Required, dtype.SetOf(dtype.F64) }},
		{"a required type is missing", "claims/document", func(c *core.Capabilities) { c.Types &^= dtype.SetOf(dtype.U8) }},
		{"a negative limit", "claims/document", func(c *core.Capabilities) { c.Limits.Elements = -1 }},
		{"a lesser rank", "claims/document", func(c *core.Capabilities) { c.Limits.Rank = 4 }},
		{"results that no node can have", "claims/met", func(c *core.Capabilities) {
			c.Ops["equal"] = core.Uniform(1, dtype.Floats)
		}},
		{"a primitive without a required type", "claims/gather", func(c *core.Capabilities) {
			claim := c.Ops["gather"]
			claim.Operands = []dtype.Set{claim.Operands[0], dtype.SetOf(dtype.I32)}
			c.Ops["gather"] = claim
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			r, err := conformance.Check(context.Background(), openRef(ref.Declaring(m.lie)), conformance.Options{Run: "^" + m.id + "$"})
			require.NoError(t, err)
			require.Equal(t, 1, r.Failed)
		})
	}
}
