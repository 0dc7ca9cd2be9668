package program

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func vec(id op.TensorID, n int) op.Desc { return op.Desc{ID: id, DType: dtype.F32, Shape: []int{n}} }

// chain returns a program on input t1 and constant t2: t3 = t1+t2, t4 = exp(t3) (dead), t5 = t3·t1, returning t5 and t1.
func chain(t *testing.T) *Program {
	x, c := vec(1, 3), vec(2, 3)
	id := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { id++; return id })
	s := b.Do(op.Add, x, c)
	b.Do(op.Exp, s)
	y := b.Do(op.Mul, s, x)
	require.NoError(t, b.Err())
	return &Program{Name: "chain", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, x.ID}}
}

func TestString(t *testing.T) {
	require.Equal(t, "program \"chain\"\n  input t1 f32[3]\n  const t2 f32[3]\n  t3 f32[3] = add(t1, t2)\n  t4 f32[3] = exp(t3)\n"+
		"  t5 f32[3] = mul(t3, t1)\n  return [t5 t1]\n", chain(t).String())
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Program)
		say    string // part of the error; empty: legal
		is     error
	}{
		{"as it is", func(*Program) {}, "", nil},
		{"outputs repeat", func(p *Program) { p.Outputs = []op.TensorID{5, 5, 2, 1, 3} }, "", nil},
		{"no nodes", func(p *Program) { p.Nodes, p.Outputs = nil, []op.TensorID{1} }, "", nil},
		{"empty", func(p *Program) { *p = Program{} }, "", nil},
		{"dropped at last use", func(p *Program) { p.Nodes[2].Drop = 1 }, "", nil},
		{"input without id", func(p *Program) { p.Inputs[0].ID = 0 }, "input 0 has no id", op.ErrAttr},
		{"input twice", func(p *Program) { p.Inputs = append(p.Inputs, p.Inputs[0]) }, "t1 is defined twice, again by input 1", op.ErrAttr},
		{"const like input", func(p *Program) { p.Consts[0].ID = 1 }, "t1 is defined twice, again by const 0", op.ErrAttr},
		{"illegal shape", func(p *Program) { p.Inputs[0].Shape = []int{-1} }, "input 0: ", op.ErrShape},
		{"used before defined", func(p *Program) { p.Nodes[0], p.Nodes[2] = p.Nodes[2], p.Nodes[0] }, "node 0, mul: t3 is used before it is defined", op.ErrAttr},
		{"node redefines", func(p *Program) { p.Nodes[1].Outputs = []op.Desc{vec(3, 3)} }, "t3 is defined twice, again by node 1, exp", op.ErrAttr},
		{"node defines its input", func(p *Program) { p.Nodes[1].Outputs = []op.Desc{vec(1, 3)} }, "t1 is defined twice", op.ErrAttr},
		{"output shape is false", func(p *Program) { p.Nodes[2].Outputs = []op.Desc{vec(5, 4)} }, "node 2: mul: output 0 is f32[4], want f32[3]", op.ErrShape},
		{"operands do not fit", func(p *Program) { p.Consts[0].Shape = []int{2} }, "node 0: add: ", op.ErrShape},
		{"wrong type", func(p *Program) { p.Consts[0].DType = dtype.I32 }, "node 0: add: ", op.ErrDType},
		{"unknown op", func(p *Program) { p.Nodes[1].Op = 50000 }, "node 1: ", op.ErrUnsupported},
		{"used after drop", func(p *Program) { p.Nodes[0].Drop = 1 }, "t1 is used before it is defined or after it was dropped", op.ErrAttr},
		{"output was dropped", func(p *Program) { p.Nodes[2].Drop = 2 }, "output t1 is not defined, or was dropped", op.ErrAttr},
		{"unknown output", func(p *Program) { p.Outputs = []op.TensorID{9} }, "output t9 is not defined", op.ErrAttr},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := chain(t)
			p.Nodes = slices.Clone(p.Nodes)
			c.change(p)
			err := p.Check()
			if c.say == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.say)
		})
	}
}

func TestLive(t *testing.T) {
	p := chain(t)
	live := p.Live()
	require.Len(t, p.Nodes, 3, "Live does not change its receiver")
	require.Equal(t, []op.Code{op.Add, op.Mul}, []op.Code{live.Nodes[0].Op, live.Nodes[1].Op})
	require.NoError(t, live.Check())
	p.Outputs = []op.TensorID{1}
	require.Empty(t, p.Live().Nodes)
	p.Outputs = []op.TensorID{4}
	require.Len(t, p.Live().Nodes, 2)
}

// A node with several outputs is live when one of them is.
func TestLiveKeepsWholeNodes(t *testing.T) {
	x := vec(1, 3)
	id := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { id++; return id })
	s := b.All(op.Sort, []op.Desc{x}, op.Int("axis", 0))
	b.Do(op.Neg, s[0])
	p := &Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{s[1].ID}}
	live := p.Live()
	require.Len(t, live.Nodes, 1)
	require.Equal(t, [][]op.TensorID{{s[0].ID}}, live.LastUse(), "the values are never read")
}

func TestLastUse(t *testing.T) {
	p := chain(t)
	require.Equal(t, [][]op.TensorID{nil, {4}, {3}}, p.LastUse())
	p.Outputs = []op.TensorID{5, 3}
	require.Equal(t, [][]op.TensorID{nil, {4}, nil}, p.LastUse(), "an output is held")

	// An operand given twice is listed once.
	x := vec(1, 3)
	id := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { id++; return id })
	y := b.Do(op.Neg, x)
	z := b.Do(op.Mul, y, y)
	q := &Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{z.ID}}
	require.Equal(t, [][]op.TensorID{nil, {y.ID}}, q.LastUse())
}
