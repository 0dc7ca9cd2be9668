package place

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

// someProgram returns a random program without dead nodes.
func someProgram(t *testing.T, rnd *rand.Rand) *program.Program {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	b := op.NewBuilder(next)
	p := &program.Program{Name: "some"}
	var pool []op.Desc
	for i := range 4 {
		d := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{3, 3}}
		if pool = append(pool, d); i < 2 {
			p.Inputs = append(p.Inputs, d)
		} else {
			p.Consts = append(p.Consts, d)
		}
	}
	pick := func() op.Desc { return pool[rnd.IntN(len(pool))] }
	for range 1 + rnd.IntN(20) {
		switch rnd.IntN(3) {
		case 0:
			pool = append(pool, b.Do(op.MatMul, pick(), pick()))
		case 1:
			pool = append(pool, b.Do(op.Add, pick(), pick()))
		default:
			pool = append(pool, b.Do(op.Tanh, pick()))
		}
	}
	require.NoError(t, b.Err())
	p.Nodes = b.Nodes
	for range 3 {
		p.Outputs = append(p.Outputs, pick().ID)
	}
	return p.Live()
}

// Parts contain every node once, are legal programs, and read only inputs of the program and outputs of earlier parts.
func TestParts(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		whole := someProgram(t, rnd)
		p, err := Distinct(whole)
		require.NoError(t, err)
		require.NoError(t, p.Check())
		seen := map[op.TensorID]bool{}
		for _, id := range p.Outputs {
			require.False(t, seen[id], "outputs differ")
			seen[id] = true
		}
		units := Units(group.NewGraph(p), func(int) []bool { return []bool{true, true, true} })
		assigned := make([]int, len(units))
		for i := range assigned {
			assigned[i] = rnd.IntN(3)
		}
		there, nodes := map[op.TensorID]bool{}, 0
		for _, d := range p.Inputs {
			there[d.ID] = true
		}
		for _, x := range Parts(p, units, assigned) {
			require.NoError(t, x.Program.Check(), "%v", p)
			nodes += len(x.Program.Nodes)
			for _, id := range x.In {
				require.True(t, there[id], "%v is read before it is made", id)
			}
			for _, id := range x.Out {
				there[id] = true
			}
			for _, i := range x.Units {
				require.Equal(t, x.Member, assigned[i])
			}
		}
		require.Len(t, p.Nodes, nodes)
		for _, id := range p.Outputs {
			require.True(t, there[id])
		}
	}
}

// The key of a unit depends on what it computes, and not on ids, names or the rest of the program.
func TestKey(t *testing.T) {
	p := someProgram(t, rand.New(rand.NewPCG(1, 1)))
	q := *p
	q.Name = "other"
	require.Equal(t, Key(Canonical(p)), Key(Canonical(&q)))
	require.Equal(t, Key(Canonical(p)), Key(Canonical(Canonical(p))))
	build := func(skip int, c op.Code, n int) string {
		last := op.TensorID(skip)
		b := op.NewBuilder(func() op.TensorID { last++; return last })
		x := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{n}}
		y := b.Do(c, b.Do(op.Neg, x))
		p := &program.Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}
		units := Units(group.NewGraph(p), func(int) []bool { return []bool{true} })
		return Key(Alone(p, units, len(units)-1))
	}
	require.Equal(t, build(1, op.Exp, 4), build(9, op.Exp, 4))
	require.NotEqual(t, build(1, op.Exp, 4), build(1, op.Exp, 5))
	require.NotEqual(t, build(1, op.Exp, 4), build(1, op.Tanh, 4))
}
