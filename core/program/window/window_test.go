package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// tape creates nodes with ids from a start and records them in a window.
type tape struct {
	t     testing.TB
	w     *Window
	last  op.TensorID
	types map[op.TensorID]op.Desc
}

func record(t testing.TB, start op.TensorID, faults *Faults) *tape {
	x := &tape{t: t, w: &Window{}, last: start, types: map[op.TensorID]op.Desc{}}
	x.w.Init(func(id op.TensorID) (op.Desc, bool) { d, ok := x.types[id]; return d, ok }, faults)
	return x
}

func (x *tape) id() op.TensorID { x.last++; return x.last }

// old returns a tensor from before the window.
func (x *tape) old(shape ...int) op.Desc {
	d := op.Desc{ID: x.id(), DType: dtype.F32, Shape: shape}
	x.types[d.ID] = d
	return d
}

func (x *tape) do(c op.Code, drop uint64, in []op.Desc, attrs ...op.Attr) op.Desc {
	n, err := op.New(c, in, attrs...)
	require.NoError(x.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = x.id()
	}
	n.Drop = drop
	kind, values := Hash(&n, x.w.faults)
	x.w.Add(&n, kind, values)
	return n.Outputs[0]
}

type ds = []op.Desc

// Structures that differ in any part have different keys and compare as different. Ids do not matter.
func TestSame(t *testing.T) {
	variants := map[string]func(x *tape){
		"plain": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Sum, 0, ds{x.do(op.Add, 0, ds{a, b})}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"another op": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Sum, 0, ds{x.do(op.Sub, 0, ds{a, b})}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"another attribute": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Sum, 0, ds{x.do(op.Add, 0, ds{a, b})}, op.Ints("axes", 1), op.Flag("keep_dims", false))
		},
		"another shape": func(x *tape) {
			a, b := x.old(2, 3), x.old(2, 3)
			x.do(op.Sum, 0, ds{x.do(op.Add, 0, ds{a, b})}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"one operand twice": func(x *tape) {
			a := x.old(2, 2)
			x.do(op.Sum, 0, ds{x.do(op.Add, 0, ds{a, a})}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"another operand": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Add, 0, ds{a, b})
			x.do(op.Sum, 0, ds{a}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"an operand dropped": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Sum, 0, ds{x.do(op.Add, 1, ds{a, b})}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		},
		"a result freed": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			c := x.do(op.Add, 0, ds{a, b})
			x.do(op.Sum, 0, ds{c}, op.Ints("axes", 0), op.Flag("keep_dims", false))
			x.w.Free(c.ID)
		},
		"one more": func(x *tape) {
			a, b := x.old(2, 2), x.old(2, 2)
			x.do(op.Neg, 0, ds{x.do(op.Sum, 0, ds{x.do(op.Add, 0, ds{a, b})}, op.Ints("axes", 0), op.Flag("keep_dims", false))})
		},
	}
	for name, one := range variants {
		for other, two := range variants {
			a, b := record(t, 100, nil), record(t, 7000, nil)
			one(a)
			two(b)
			kept := a.w.Clone()
			require.Empty(t, a.w.Invalid)
			require.Equal(t, name == other, kept.Same(&b.w.Structure, nil), "%s and %s", name, other)
			require.Equal(t, name == other, a.w.Key() == b.w.Key(), "%s and %s", name, other)
		}
	}
}

// The comparison distinguishes structures even if their hashes are equal because they leave everything out.
func TestSameDecides(t *testing.T) {
	blind := &Faults{Attrs: true, Operands: true, Types: true}
	a, b := record(t, 0, blind), record(t, 0, blind)
	x, y := a.old(2), b.old(3)
	a.do(op.Neg, 0, ds{x})
	b.do(op.Neg, 0, ds{y})
	require.Equal(t, a.w.Key(), b.w.Key())
	require.False(t, a.w.Same(&b.w.Structure, nil))
}

// A window that cannot become a program states the reason in Invalid.
func TestInvalid(t *testing.T) {
	for want, f := range map[string]func(x *tape){
		"not known":  func(x *tape) { x.do(op.Neg, 0, ds{{ID: 99, DType: dtype.F32, Shape: []int{2}}}) },
		"made twice": func(x *tape) { a := x.old(2); x.do(op.Neg, 0, ds{a}); x.last--; x.do(op.Exp, 0, ds{a}) },
		"after it":   func(x *tape) { a := x.old(2); x.do(op.Neg, 1, ds{a}); x.do(op.Neg, 0, ds{a}) },
		"freed twice": func(x *tape) {
			a := x.old(2)
			x.do(op.Neg, 1, ds{a})
			x.w.Free(a.ID)
		},
	} {
		x := record(t, 0, nil)
		f(x)
		require.Contains(t, x.w.Invalid, want)
		x.w.Reset()
		require.Empty(t, x.w.Invalid)
	}
	x := record(t, 0, nil)
	require.False(t, x.w.Free(5), "the window does not know it")
}

// A program that is recorded as a window and converted back is the same program: the nodes in order, their operands, the outputs and the
// donated inputs.
func TestRecordProgram(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		last := op.TensorID(0)
		next := func() op.TensorID { last++; return last }
		b := op.NewBuilder(next)
		p := &program.Program{}
		var pool ds
		for range 1 + rnd.IntN(3) {
			d := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{2, 2}}
			pool, p.Inputs = append(pool, d), append(p.Inputs, d)
		}
		pick := func() op.Desc { return pool[rnd.IntN(len(pool))] }
		made := len(pool)
		for range 1 + rnd.IntN(9) {
			pool = append(pool, b.Do([]op.Code{op.Add, op.MatMul, op.Max}[rnd.IntN(3)], pick(), pick()))
		}
		p.Nodes = b.Nodes
		for _, d := range pool[made:] {
			if rnd.IntN(2) == 0 {
				p.Outputs = append(p.Outputs, d.ID)
			}
		}
		used := map[op.TensorID]bool{}
		for i := range p.Nodes {
			for _, id := range p.Nodes[i].Inputs {
				used[id] = true
			}
		}
		var inputs ds
		var given []op.TensorID
		for _, d := range p.Inputs {
			if used[d.ID] {
				if inputs = append(inputs, d); rnd.IntN(2) == 0 {
					given = append(given, d.ID)
				}
			}
		}
		p.Inputs = inputs
		w, err := Record(p, given)
		require.NoError(t, err)
		q := w.Program("", nil)
		require.Len(t, q.Nodes, len(p.Nodes))
		require.Len(t, q.Program.Inputs, len(p.Inputs))
		for i, local := range q.Outputs {
			require.Equal(t, op.TensorID(local)+1, q.Program.Outputs[i])
			require.Contains(t, p.Outputs, w.IDs[local])
		}
		require.Len(t, q.Outputs, len(p.Outputs))
		count := 0
		for i, d := range q.Donated {
			if d {
				count++
				require.Contains(t, given, w.IDs[q.Inputs[i]])
			}
		}
		require.Equal(t, len(given), count)
		for i := range q.Nodes {
			for k, id := range q.Nodes[i].Inputs {
				require.Equal(t, p.Nodes[i].Inputs[k], w.IDs[id-1])
			}
		}
		again, err := Record(q.Program, givenOf(q))
		require.NoError(t, err)
		require.True(t, w.Same(&again.Structure, nil))
		require.Equal(t, w.Exact(), again.Exact())
		owners := w.Owners(q.Program)
		for i := range q.Nodes {
			require.Equal(t, i, owners[q.Nodes[i].Outputs[0].ID])
		}
	}
	_, err := Record(&program.Program{}, []op.TensorID{4})
	require.ErrorIs(t, err, op.ErrAttr)
}

func givenOf(q *Program) (ids []op.TensorID) {
	for i, d := range q.Donated {
		if d {
			ids = append(ids, q.Program.Inputs[i].ID)
		}
	}
	return ids
}

// A stream of equal rounds that is cut by a limit alone is cut at the same nodes of every round after a few rounds, by at most about
// twice as many marks as the limit needs.
func TestMarks(t *testing.T) {
	for _, c := range []struct{ round, limit int }{{1000, 300}, {1000, 4096}, {5000, 4096}, {12001, 4096}, {900, 899}, {4100, 4096}} {
		rnd := rand.New(rand.NewPCG(uint64(c.round), 3))
		kinds := make([]uint64, c.round)
		for i := range kinds {
			kinds[i] = rnd.Uint64()
		}
		var m Marks
		since := 0
		const rounds = 40
		var cuts [rounds][]int
		for r := range rounds {
			for i, k := range kinds {
				since++
				ends := m.Pass(k)
				if !ends && since >= c.limit {
					m.Leave()
					ends = true
				}
				if ends {
					since = 0
					cuts[r] = append(cuts[r], i)
				}
			}
		}
		last := cuts[rounds-1]
		if c.round < c.limit {
			require.LessOrEqual(t, len(last), 1)
		}
		require.Equal(t, last, cuts[rounds-2], "%+v", c)
		require.Equal(t, last, cuts[rounds/2], "%+v", c)
		require.NotEmpty(t, last)
		require.LessOrEqual(t, len(last), 2*(c.round/c.limit+1), "%+v", c)
	}
}

// In a loop of few nodes, each window has many whole rounds, and each has as many as the one before.
func TestMarksOfShortLoops(t *testing.T) {
	for _, round := range []int{1, 2, 7, 63} {
		var m Marks
		since, lengths := 0, []int{}
		for i := range 40000 {
			since++
			ends := m.Pass(uint64(i%round + 1))
			if !ends && since >= 4096 {
				m.Leave()
				ends = true
			}
			if ends {
				lengths, since = append(lengths, since), 0
			}
		}
		require.Greater(t, len(lengths), 20)
		for _, n := range lengths[2:] {
			require.Equal(t, lengths[2], n, "a round of %d", round)
		}
		require.GreaterOrEqual(t, lengths[2], manyNodes)
		require.Zero(t, lengths[2]%round)
	}
}
