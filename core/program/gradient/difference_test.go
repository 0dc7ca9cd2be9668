package gradient_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

// example is a node with operands, at a point where it is differentiable.
type example struct {
	op    op.Code
	in    []ref.Tensor
	attrs []op.Attr
}

func (e example) String() string {
	s := e.op.String()
	for _, x := range e.in {
		s += fmt.Sprintf(" %v", x.Desc)
	}
	return fmt.Sprintf("%s %v", s, op.Attrs(e.attrs))
}

func tensors(in ...ref.Tensor) []ref.Tensor { return in }

func with(attrs ...op.Attr) []op.Attr { return attrs }

func axis(n int) op.Attr { return op.Int("axis", n) }

func axes(n ...int) op.Attr { return op.Ints("axes", n...) }

// drawn returns an f64 tensor of numbers from [lo, hi), the same ones for the same seed, none of them closer to zero than 0.03.
func drawn(seed uint64, lo, hi float64, dims ...int) ref.Tensor {
	r := rand.New(rand.NewPCG(seed, 7))
	x := ref.Zeros(op.DescOf(dtype.F64, dims...))
	for i := range x.F {
		for math.Abs(x.F[i]) < 0.03 {
			x.F[i] = lo + (hi-lo)*r.Float64()
		}
	}
	return x
}

// real, positive and unit draw from (-2, 2), (0.2, 2) and (-0.9, 0.9).
func real(seed uint64, dims ...int) ref.Tensor     { return drawn(seed, -2, 2, dims...) }
func positive(seed uint64, dims ...int) ref.Tensor { return drawn(seed, 0.2, 2, dims...) }
func unit(seed uint64, dims ...int) ref.Tensor     { return drawn(seed, -0.9, 0.9, dims...) }

// numbers, indices and truth return tensors of f64, i64 and bool with the given elements.
func numbers(v []float64, dims ...int) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(dtype.F64, dims...), F: v}
}

func indices(v []int64, dims ...int) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(dtype.I64, dims...), I: v}
}

func truth(v []int64, dims ...int) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(dtype.Bool, dims...), I: v}
}

// backward evaluates the rule of a node on the reference and returns the gradient of each operand in need. dy returns the gradient of each
// float result, or a tensor without elements if there is none. The rule can read only the operands and results that it declares to read.
// A returned gradient that is zero has no elements.
func backward(t *testing.T, e example, need []bool, dy func(i int, d op.Desc) ref.Tensor) []ref.Tensor {
	t.Helper()
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	values := map[op.TensorID]ref.Tensor{}
	x := gradient.Node{Need: need, Has: map[op.TensorID]bool{}}
	for _, v := range e.in {
		v.Desc.ID = next()
		x.X = append(x.X, v.Desc)
	}
	n, err := op.New(e.op, x.X, e.attrs...)
	require.NoError(t, err)
	results, err := ref.Eval(&n, e.in)
	require.NoError(t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = next()
	}
	x.Attrs, x.Y = n.Attrs, n.Outputs
	r, ok := gradient.Of(e.op)
	require.True(t, ok, "%v has no rule", e.op)
	ins, outs := r.Reads(need)
	for i, d := range x.X {
		if ins>>i&1 != 0 {
			x.Has[d.ID], values[d.ID] = true, e.in[i]
		}
	}
	for i, d := range x.Y {
		if outs>>i&1 != 0 {
			x.Has[d.ID], values[d.ID] = true, results[i]
		}
		var g op.Desc
		if v := dy(i, d); d.DType.IsFloat() && v.F != nil {
			g = d
			g.ID = next()
			x.Has[g.ID], values[g.ID] = true, v
		}
		x.DY = append(x.DY, g)
	}
	b := op.NewBuilder(next)
	grads := r.Record(b, x)
	require.NoError(t, b.Err())
	for i := range b.Nodes {
		m := &b.Nodes[i]
		args := make([]ref.Tensor, len(m.Inputs))
		for k, id := range m.Inputs {
			v, ok := values[id]
			require.True(t, ok, "%v reads %v, which the rule does not declare", m, id)
			args[k] = v
		}
		res, err := ref.Eval(m, args)
		require.NoError(t, err, "%v", m)
		for k, d := range m.Outputs {
			values[d.ID] = res[k]
		}
	}
	out := make([]ref.Tensor, len(e.in))
	for i, g := range grads {
		if need[i] && g.ID != 0 {
			require.True(t, g.SameType(x.X[i]), "gradient of operand %d is %v, want %v", i, g, x.X[i])
			out[i] = values[g.ID]
		}
	}
	return out
}

// differ compares the gradients of every float operand with central differences of Σ dy·y, for every set of operands that need one.
func differ(t *testing.T, e example) {
	t.Helper()
	descs := make([]op.Desc, len(e.in))
	var floats []int
	for i, x := range e.in {
		if descs[i] = x.Desc; x.Desc.DType.IsFloat() {
			floats = append(floats, i)
		}
	}
	n, err := op.New(e.op, descs, e.attrs...)
	require.NoError(t, err)
	weight := func(i int, d op.Desc) ref.Tensor { return real(uint64(100+i), d.Shape...) }
	loss := func(in []ref.Tensor) float64 {
		y, err := ref.Eval(&n, in)
		require.NoError(t, err)
		sum := 0.0
		for i, v := range y {
			if v.Desc.DType.IsFloat() {
				for k, w := range weight(i, n.Outputs[i]).F {
					if !math.IsInf(v.F[k], 0) { // a maximum of no elements, whatever the operands
						sum += w * v.F[k]
					}
				}
			}
		}
		return sum
	}
	want := make([][]float64, len(e.in))
	for _, i := range floats {
		want[i] = make([]float64, len(e.in[i].F))
		for k := range want[i] {
			const h = 1e-5
			in := append([]ref.Tensor(nil), e.in...)
			in[i] = e.in[i].Clone()
			in[i].F[k] += h
			up := loss(in)
			in[i].F[k] -= 2 * h
			want[i][k] = (up - loss(in)) / (2 * h)
		}
	}
	for mask := 1; mask < 1<<len(floats); mask++ {
		need := make([]bool, len(e.in))
		for k, i := range floats {
			need[i] = mask>>k&1 != 0
		}
		got := backward(t, e, need, weight)
		for i, w := range want {
			if !need[i] {
				continue
			}
			for k := range w {
				g := 0.0
				if got[i].F != nil {
					g = got[i].F[k]
				}
				require.InDelta(t, w[k], g, 2e-6*(1+math.Abs(w[k])), "operands %b, element %d of gradient %d", mask, k, i)
			}
		}
	}
}

func differAll(t *testing.T, examples []example) {
	for _, e := range examples {
		t.Run(e.String(), func(t *testing.T) { differ(t, e) })
	}
}
