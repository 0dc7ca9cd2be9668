package libtorch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// lesson describes a program of a node and its gradient. Inputs are the operands and the gradient of the result; outputs are the result and the
// gradients of the operands.
type lesson struct {
	name  string
	code  op.Code
	in    []op.Desc
	attrs []op.Attr
	need  []bool // operands whose gradients are computed; nil: all
}

func (l *lesson) program(t *testing.T) *program.Program {
	t.Helper()
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	p := &program.Program{Name: l.name}
	input := func(d op.Desc) op.Desc { d.ID = next(); p.Inputs = append(p.Inputs, d); return d }
	var x []op.Desc
	for _, d := range l.in {
		x = append(x, input(d))
	}
	b := op.NewBuilder(next)
	y := b.With(l.code, x, l.attrs...)
	require.NoError(t, b.Err())
	dy := input(y)
	has := map[op.TensorID]bool{y.ID: true, dy.ID: true}
	for _, d := range x {
		has[d.ID] = true
	}
	need := l.need
	if need == nil {
		need = slices.Repeat([]bool{true}, len(x))
	}
	rule, ok := gradient.Of(l.code)
	require.True(t, ok)
	g := rule.Record(b, gradient.Node{Attrs: b.Nodes[0].Attrs, X: x, Y: []op.Desc{y}, DY: []op.Desc{dy}, Need: need, Has: has})
	require.NoError(t, b.Err())
	p.Nodes, p.Outputs = b.Nodes, []op.TensorID{y.ID}
	for i, d := range g {
		if need[i] {
			p.Outputs = append(p.Outputs, d.ID)
		}
	}
	require.NoError(t, p.Check())
	return p
}

func f32(dims ...int) op.Desc { return op.DescOf(dtype.F32, dims...) }

func convolved(stride, pad, dilation, groups int) []op.Attr {
	two := func(name string, v int) op.Attr { return op.Ints(name, v, v) }
	return []op.Attr{two("strides", stride), two("pad_lo", pad), two("pad_hi", pad), two("kernel_dilation", dilation), two("input_dilation", 1), op.Int("groups", groups)}
}

// lessons become programs of two steps: the node, and one operator of torch that computes all gradients.
var lessons = []lesson{
	{name: "gelu", code: op.Gelu, in: []op.Desc{f32(3, 5)}},
	{name: "gelu tanh", code: op.Gelu, in: []op.Desc{f32(3, 5)}, attrs: []op.Attr{op.Str("approximate", "tanh")}},
	{name: "gelu f64", code: op.Gelu, in: []op.Desc{op.DescOf(dtype.F64, 7)}},
	{name: "silu", code: op.Silu, in: []op.Desc{f32(3, 5)}},
	{name: "sigmoid", code: op.Sigmoid, in: []op.Desc{f32(3, 5)}},
	{name: "tanh", code: op.Tanh, in: []op.Desc{f32(4)}},
	{name: "softmax", code: op.Softmax, in: []op.Desc{f32(2, 3, 4)}, attrs: []op.Attr{op.Int("axis", 1)}},
	{name: "log_softmax", code: op.LogSoftmax, in: []op.Desc{f32(4, 6)}, attrs: []op.Attr{op.Int("axis", 1)}},
	{name: "layer_norm", code: op.LayerNorm, in: []op.Desc{f32(2, 3, 4), f32(4), f32(4)}, attrs: []op.Attr{op.Int("axis", 2)}},
	{name: "layer_norm of two axes", code: op.LayerNorm, in: []op.Desc{f32(2, 3, 4), f32(3, 4), f32(3, 4)}, attrs: []op.Attr{op.Int("axis", 1), op.Float("epsilon", 0.1)}},
	{name: "layer_norm without bias", code: op.LayerNorm, in: []op.Desc{f32(5, 4), f32(4)}, attrs: []op.Attr{op.Int("axis", 1)}},
	{name: "layer_norm alone", code: op.LayerNorm, in: []op.Desc{f32(5, 4)}, attrs: []op.Attr{op.Int("axis", 1)}},
	{name: "layer_norm of a constant", code: op.LayerNorm, in: []op.Desc{f32(5, 4), f32(4), f32(4)}, attrs: []op.Attr{op.Int("axis", 1)}, need: []bool{false, true, true}},
	{name: "conv", code: op.Conv, in: []op.Desc{f32(2, 3, 6, 5), f32(4, 3, 3, 2)}, attrs: convolved(1, 0, 1, 1)},
	{name: "conv padded", code: op.Conv, in: []op.Desc{f32(2, 4, 6, 6), f32(4, 2, 3, 3)}, attrs: convolved(2, 1, 1, 2)},
	{name: "conv dilated", code: op.Conv, in: []op.Desc{f32(1, 2, 9, 9), f32(3, 2, 3, 3)}, attrs: convolved(1, 2, 2, 1)},
	{name: "conv of a constant", code: op.Conv, in: []op.Desc{f32(2, 3, 6, 5), f32(4, 3, 3, 2)}, attrs: convolved(1, 0, 1, 1), need: []bool{false, true}},
}

// bare returns a device without torch that has all kernels: it can plan, but not compute.
func bare() *device {
	d := &device{fuses: true}
	for code, r := range rules {
		for len(d.table) <= int(code) {
			d.table = append(d.table, rule{})
		}
		d.table[code] = r
	}
	return d
}

func names(steps []fused) (l []string) {
	for _, s := range steps {
		l = append(l, s.Op.String())
	}
	return l
}

// TestFuse checks that a node and its gradient become two steps.
func TestFuse(t *testing.T) {
	for _, l := range lessons {
		steps := bare().fuse(l.program(t))
		require.Len(t, steps, 2, "%s: %v", l.name, names(steps))
		require.Equal(t, l.code, steps[0].Op, l.name)
		for _, s := range steps {
			require.NotNil(t, s.run, l.name)
		}
	}
}

// TestFuseLeaves checks that a gradient that torch does not compute as the rule does is not fused.
func TestFuseLeaves(t *testing.T) {
	half := op.DescOf(dtype.BF16, 3, 5)
	for _, l := range []lesson{
		{name: "narrow", code: op.Gelu, in: []op.Desc{half}},
		{name: "empty", code: op.Gelu, in: []op.Desc{f32(0, 5)}},
		{name: "one element", code: op.LayerNorm, in: []op.Desc{f32(3, 1), f32(1), f32(1)}, attrs: []op.Attr{op.Int("axis", 1)}},
		{name: "wider scale", code: op.LayerNorm, in: []op.Desc{f32(3, 4), f32(), f32(4)}, attrs: []op.Attr{op.Int("axis", 1)}},
		{name: "uneven padding", code: op.Conv, in: []op.Desc{f32(1, 1, 5), f32(1, 1, 3)}, attrs: []op.Attr{op.Ints("strides", 1), op.Ints("pad_lo", 1),
			op.Ints("pad_hi", 0), op.Ints("kernel_dilation", 1), op.Ints("input_dilation", 1)}},
		{name: "a rule that is not in the table", code: op.Softplus, in: []op.Desc{f32(3)}},
		{name: "the gradient of the bias alone", code: op.LayerNorm, in: []op.Desc{f32(5, 4), f32(4), f32(4)}, attrs: []op.Attr{op.Int("axis", 1)}, need: []bool{false, false, true}},
	} {
		p := l.program(t)
		require.Len(t, bare().fuse(p), len(p.Live().Nodes), l.name)
	}
	plain := bare()
	plain.fuses = false
	p := lessons[0].program(t)
	require.Len(t, plain.fuse(p), len(p.Nodes))
}

// TestFuseKeepsWhatIsRead checks that a value within the gradient that is also an output is still computed, and that each step follows those
// that compute its operands.
func TestFuseKeepsWhatIsRead(t *testing.T) {
	p := lessons[0].program(t)
	inner := p.Nodes[1].Outputs[0] // x·x
	p.Outputs = append(p.Outputs, inner.ID)
	steps := bare().fuse(p)
	require.Equal(t, []string{"gelu", "mul", "mul"}, names(steps))
	known := map[op.TensorID]bool{}
	for _, d := range p.Inputs {
		known[d.ID] = true
	}
	for _, s := range steps {
		for _, id := range s.Inputs {
			require.True(t, known[id])
		}
		for _, d := range s.Outputs {
			known[d.ID] = true
		}
	}
	for _, id := range p.Outputs {
		require.True(t, known[id])
	}
}

// TestFuseTwice checks that each of two equal nodes is fused with its own gradient.
func TestFuseTwice(t *testing.T) {
	one := lessons[8].program(t)
	p := *one
	last := op.TensorID(0)
	for id := range p.Descs() {
		last = max(last, id)
	}
	shift := func(id op.TensorID) op.TensorID {
		if slices.ContainsFunc(p.Inputs[:3], func(d op.Desc) bool { return d.ID == id }) {
			return id // both read the same x, scale and bias
		}
		return id + last
	}
	dy := p.Inputs[3]
	dy.ID = shift(dy.ID)
	p.Inputs = append(slices.Clone(p.Inputs), dy)
	for _, n := range one.Nodes {
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		for i := range n.Inputs {
			n.Inputs[i] = shift(n.Inputs[i])
		}
		for i := range n.Outputs {
			n.Outputs[i].ID = shift(n.Outputs[i].ID)
		}
		p.Nodes = append(p.Nodes[:len(p.Nodes):len(p.Nodes)], n)
	}
	for _, id := range one.Outputs {
		p.Outputs = append(p.Outputs[:len(p.Outputs):len(p.Outputs)], shift(id))
	}
	require.NoError(t, p.Check())
	steps := bare().fuse(&p)
	require.Len(t, steps, 4, "%v", names(steps))
	read := map[op.TensorID]int{}
	for _, s := range steps {
		for _, id := range s.Inputs {
			read[id]++
		}
	}
	require.Equal(t, 1, read[p.Inputs[3].ID])
	require.Equal(t, 1, read[dy.ID])
}

// write uploads a tensor whose elements are results of value.
func (r *rig) write(d op.Desc, value func() float64) op.Desc {
	d.ID = r.d.NewIDs(1)
	n := d.Shape.Size()
	var data []byte
	if d.DType == dtype.F64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = value()
		}
		data = dtype.Bytes(v)
	} else {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(value())
		}
		data = dtype.Bytes(v)
	}
	require.NoError(r.t, r.s.Write(r.t.Context(), d, data))
	return d
}

// fetched reads a tensor of floats as float64.
func (r *rig) fetched(d op.Desc) []float64 {
	if d.DType != dtype.F64 {
		d = r.node(op.Cast, []op.Desc{d}, op.Type("dtype", dtype.F64))
	}
	dst := make([]byte, d.Bytes())
	require.NoError(r.t, r.s.Read(d.ID, dst).Wait(r.t.Context()))
	return dtype.Slice[float64](dst)
}

// TestPlan checks that a program returns the same as its nodes one by one, also for numbers that are not finite.
func TestPlan(t *testing.T) {
	r := newRig(t)
	run, ok := core.Extension[core.Programs](r.d)
	require.True(t, ok)
	random := rand.New(rand.NewPCG(1, 2))
	ordinary := func() float64 { return random.NormFloat64() }
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e10, -1e-30}
	strange := func() float64 {
		if random.IntN(8) == 0 {
			return odd[random.IntN(len(odd))]
		}
		return random.NormFloat64()
	}
	for _, l := range lessons {
		p := l.program(t)
		id, err := run.Define(t.Context(), r.s, p, nil)
		require.NoError(t, err, l.name)
		for k, value := range []func() float64{ordinary, strange} {
			var in, out []op.TensorID
			at := map[op.TensorID]op.Desc{}
			for _, d := range p.Inputs {
				x := r.write(d, value)
				at[d.ID] = x
				in = append(in, x.ID)
			}
			for range p.Outputs {
				out = append(out, r.d.NewIDs(1))
			}
			require.NoError(t, run.Run(r.s, core.Run{Program: id, Inputs: in, Outputs: out}))
			for _, n := range p.Nodes {
				var operands []op.Desc
				for _, x := range n.Inputs {
					operands = append(operands, at[x])
				}
				y := r.node(n.Op, operands, n.Attrs...)
				at[n.Outputs[0].ID] = y
			}
			for i, d := range p.OutputDescs() {
				d.ID = out[i]
				got, want := r.fetched(d), r.fetched(at[p.Outputs[i]])
				require.NoError(t, alike(got, want), "%s, with strange numbers: %v, result %d", l.name, k == 1, i)
			}
		}
		require.NoError(t, run.Undefine(id))
	}
}

// alike compares results that f32 sums in different orders: the same elements must be finite, and the finite elements must be close.
func alike(got, want []float64) error {
	scale := 0.0
	for _, w := range want {
		if a := math.Abs(w); a < 1e10 {
			scale = max(scale, a)
		}
	}
	for i, w := range want {
		g := got[i]
		switch {
		case g == w, (w-w != 0) && (g-g != 0): // which of infinity and NaN depends on the order
		case math.Abs(g-w) <= 1e-5*max(scale, math.Abs(w)):
		default:
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}
