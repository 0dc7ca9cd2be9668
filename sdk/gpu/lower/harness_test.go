package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/template"
)

// tiny is a device so small that little data needs several blocks and several launches.
var tiny = template.Target{
	Subgroup: 32, Threads: 1024, Shared: 48 << 10, Units: 4, Blocks: 2, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16,
	Types: dtype.Any, Math: dtype.Any, Atomics: dtype.SetOf(dtype.I32, dtype.U32, dtype.F32),
}

// narrowGrid is tiny with fewer threads, and with grids too small for the blocks that the tests need.
var narrowGrid = func() template.Target {
	t := tiny
	t.Grid, t.Threads = [3]int{3, 3, 3}, 256
	return t
}()

// sketch builds a program for a test.
type sketch struct {
	*op.Builder
	p    program.Program
	last op.TensorID
}

func newSketch() *sketch {
	s := &sketch{p: program.Program{Name: "sketch"}}
	s.Builder = op.NewBuilder(func() op.TensorID { s.last++; return s.last })
	return s
}

func (s *sketch) input(d dtype.DType, dims ...int) op.Desc {
	s.last++
	x := op.Desc{ID: s.last, DType: d, Shape: dims}
	s.p.Inputs = append(s.p.Inputs, x)
	return x
}

func (s *sketch) graph(t testing.TB, outs ...op.Desc) *group.Graph {
	t.Helper()
	require.NoError(t, s.Err())
	s.p.Nodes = s.Nodes
	for _, o := range outs {
		s.p.Outputs = append(s.p.Outputs, o.ID)
	}
	require.NoError(t, s.p.Check())
	return group.NewGraph(s.p.Live())
}

// memory is a slot that holds a tensor by a view, with guard bytes around the elements and between them.
type memory struct {
	bytes []byte
	view  shape.View
}

// guard is the byte around tensors, which no kernel may change.
const guard = 0xA5

// place stores a tensor in new memory by a view.
func place(x ref.Tensor, v shape.View) memory {
	size := x.Desc.DType.Size()
	m := memory{view: v, bytes: make([]byte, ((v.Offset+extent(v)+3)*size+3)&^3)} // whole words
	for i := range m.bytes {
		m.bytes[i] = guard
	}
	raw := x.Bytes()
	walk(v, func(i, at int) { copy(m.bytes[at*size:][:size], raw[i*size:]) })
	return m
}

func extent(v shape.View) int {
	if v.Shape.Size() == 0 {
		return 0
	}
	far := 1
	for d, s := range v.Strides {
		far += max(0, s) * (v.Shape[d] - 1)
	}
	return far
}

// walk calls f with the row-major number of each element and its index in memory.
func walk(v shape.View, f func(i, at int)) {
	for i := range v.Shape.Size() {
		at, rest := v.Offset, i
		for d := len(v.Shape) - 1; d >= 0; d-- {
			at += rest % v.Shape[d] * v.Strides[d]
			rest /= v.Shape[d]
		}
		f(i, at)
	}
}

// read returns the tensor, and fails the test if a guard byte changed.
func (m memory) read(t testing.TB, d op.Desc) ref.Tensor {
	t.Helper()
	size := d.DType.Size()
	raw, mine := make([]byte, d.Bytes()), make([]bool, len(m.bytes))
	walk(m.view, func(i, at int) {
		copy(raw[i*size:][:size], m.bytes[at*size:])
		for k := range size {
			mine[at*size+k] = true
		}
	})
	for i, b := range m.bytes {
		require.True(t, mine[i] || b == guard, "byte %d beside the result was changed", i)
	}
	x, err := ref.FromBytes(d, raw)
	require.NoError(t, err)
	return x
}

// strewn returns a random view of shape s with gaps, permuted axes and reversed axes.
func strewn(r *rand.Rand, s shape.Shape) shape.View {
	order := r.Perm(len(s))
	strides, step := make([]int, len(s)), 1+r.IntN(2)
	for _, a := range order {
		strides[a] = step
		step *= s[a] + r.IntN(2)
	}
	v := shape.View{Shape: s, Strides: strides, Offset: r.IntN(5)}
	for a := range s {
		if r.IntN(3) == 0 {
			v = v.Flip([]int{a})
		}
	}
	return v
}

// runner runs the groups of a program by the interpreter and compares each result with the reference, which evaluates node by node.
type runner struct {
	t       testing.TB
	seed    uint64
	target  template.Target
	policy  group.Policy
	r       *rand.Rand
	strewn  bool // inputs that a kernel reads by views get random views
	values  map[op.TensorID]ref.Tensor
	terms   map[op.TensorID]float64 // error bound of each tensor, in units of its type
	groups  []*group.Group
	options interp.Options
	// words, if its Words is set, is the hardware that the kernels of target are rewritten for.
	words template.Target
}

func newRunner(t testing.TB, target template.Target, seed uint64) *runner {
	return &runner{t: t, seed: seed, target: target, policy: Policy(target), r: rand.New(rand.NewPCG(seed, 1)),
		options: interp.Options{Order: interp.Shuffled, Seed: seed, Subgroup: target.Subgroup}}
}

// run runs all groups of g on the values of its inputs. For some seeds it runs them on hardware whose memory is words.
func (c *runner) run(g *group.Graph, inputs []ref.Tensor) {
	c.t.Helper()
	if c.seed/4%3 == 2 && reflect.DeepEqual(c.target, tiny) && onWords(g) {
		c.toWords([]int{8, 1, 16}[c.seed/12%3])
	}
	c.values = map[op.TensorID]ref.Tensor{}
	for i, d := range g.Inputs {
		c.values[d.ID] = inputs[i]
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		in := make([]ref.Tensor, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = c.values[id]
		}
		outs, err := ref.Eval(n, in)
		require.NoError(c.t, err)
		for k, d := range n.Outputs {
			outs[k].Desc = d
			c.values[d.ID] = outs[k]
		}
	}
	c.groups = g.Decide(c.policy)
	for _, x := range c.groups {
		c.group(g, x)
	}
}

func (c *runner) group(g *group.Graph, x *group.Group) {
	c.t.Helper()
	var in, out []template.Operand
	var slots [][]byte
	for i, id := range x.Inputs {
		if _, ok := Immediate(g, id); ok {
			in, slots = append(in, template.Operand{}), append(slots, nil)
			continue
		}
		v := shape.Contiguous(g.Desc(id).Shape)
		if c.strewn && Strided(g, x, i) {
			v = strewn(c.r, v.Shape)
		}
		m := place(c.values[id], v)
		in = append(in, template.Operand{Type: g.Desc(id).DType, View: v})
		slots = append(slots, m.bytes)
	}
	var results []memory
	for _, d := range x.Outputs {
		v := shape.Contiguous(d.Shape)
		m := place(ref.Zeros(d), v)
		for i := range m.bytes {
			m.bytes[i] = guard
		}
		results = append(results, m)
		out = append(out, template.Operand{Type: d.DType, View: v})
		slots = append(slots, m.bytes)
	}
	w, err := Group(c.target, g, x, in, out)
	require.NoError(c.t, err, "%v", x)
	checkWork(c.t, c.target, w, slots)
	if c.words.Words {
		w = rewritten(c.t, c.words, w, slots)
	}
	require.NoError(c.t, interp.RunWork(w, slots, c.options), "%v\n%s", x, text(w))
	for i, d := range x.Outputs {
		got := results[i].read(c.t, d)
		if err := c.same(g, x, d, got); err != nil {
			require.NoError(c.t, err, "%v\n%s", x, text(w))
		}
	}
}

// same compares a result with the reference, within the sum of the tolerances of all nodes of its group.
func (c *runner) same(g *group.Graph, x *group.Group, d op.Desc, got ref.Tensor) error {
	var rel, abs float64
	exact := true
	for _, k := range x.Nodes() {
		n := &g.Nodes[k]
		row := op.Lookup(n.Op)
		terms := 1
		if row.Tolerance.PerTerm {
			terms = op.Terms(n, g.In(n))
		}
		if len(x.Nodes()) > 1 && d.DType.IsFloat() { // an exact node passes on the rounding of the nodes before it
			e := map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[d.DType]
			rel, abs = rel+e, abs+e
		}
		if !row.Tolerance.Exact {
			exact = false
		}
		r, a := row.Tolerance.Bounds(n.Outputs[0].DType, terms)
		if n.Outputs[0].DType == dtype.F64 && (n.Op == op.Asin || n.Op == op.Acos) {
			r *= 256 // the accuracy of Go's package math
		}
		rel, abs = rel+r, abs+a
	}
	want := c.values[d.ID]
	for i := range d.Shape.Size() {
		if !d.DType.IsFloat() {
			if got.I[i] != want.I[i] {
				return fmt.Errorf("element %d of %v is %d, want %d", i, d, got.I[i], want.I[i])
			}
			continue
		}
		a, b := got.F[i], want.F[i]
		switch {
		case math.IsNaN(a) && math.IsNaN(b), a == b && math.Signbit(a) == math.Signbit(b):
		case a == b && !exact:
		case math.IsNaN(a) != math.IsNaN(b), exact, math.IsInf(b, 0), !(math.Abs(a-b) <= abs+rel*math.Abs(b)):
			return fmt.Errorf("element %d of %v is %v, want %v within %v + %v of it", i, d, a, b, abs, rel)
		}
	}
	return nil
}
