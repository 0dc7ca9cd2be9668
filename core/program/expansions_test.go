package program_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Lowering with and without a memory of expansions returns the same nodes except for their ids: also where operands are the same tensor or
// are dropped, where seeds and counters of draws differ, and where the structure was lowered before with other ids.
func TestExpansions(t *testing.T) {
	square, row := op.DescOf(dtype.F32, 4, 6), op.DescOf(dtype.F32, 6)
	type use struct {
		code  op.Code
		in    []op.Desc
		ids   []op.TensorID
		drop  uint64
		attrs []op.Attr
	}
	var uses []use
	add := func(u use) { uses = append(uses, u) }
	for _, drop := range []uint64{0, 1, 2, 3} {
		add(use{op.NotEqual, []op.Desc{square, square}, []op.TensorID{1, 2}, drop, nil})
		add(use{op.NotEqual, []op.Desc{square, square}, []op.TensorID{1, 1}, drop, nil})
		add(use{op.NotEqual, []op.Desc{square, row}, []op.TensorID{1, 2}, drop, nil})
	}
	for axis := range 2 {
		add(use{op.Softmax, []op.Desc{square}, []op.TensorID{1}, 1, []op.Attr{op.Int("axis", axis)}})
	}
	for i := range 3 {
		add(use{op.Dropout, []op.Desc{square}, []op.TensorID{1}, 0, []op.Attr{op.Float("p", 0.25), op.Int("seed", 7*i), op.Int("counter", 100+i)}})
	}
	add(use{op.Dropout, []op.Desc{square}, []op.TensorID{1}, 0, []op.Attr{op.Float("p", 0.5), op.Int("seed", 1), op.Int("counter", 5)}})

	remembering := primitives
	remembering.Expanded = &program.Expansions{}
	id := op.TensorID(1000)
	next := func() op.TensorID { id++; return id }
	// lowered returns the nodes of a lowering as text, with numbers for ids.
	lowered := func(target program.Target, u use, shift op.TensorID) string {
		in := append([]op.Desc(nil), u.in...)
		for i := range in {
			in[i].ID = u.ids[i] + shift
		}
		n, err := op.New(u.code, in, u.attrs...)
		require.NoError(t, err)
		n.Drop = u.drop
		for i := range n.Outputs {
			n.Outputs[i].ID = next()
		}
		nodes, free, err := program.LowerNode(target, &n, in, next)
		require.NoError(t, err)
		require.NoError(t, target.Lowers(&n, in, next))
		numbers := map[op.TensorID]op.TensorID{}
		number := func(id op.TensorID) op.TensorID {
			if numbers[id] == 0 {
				numbers[id] = op.TensorID(len(numbers) + 1)
			}
			return numbers[id]
		}
		for _, d := range append(in, n.Outputs...) {
			number(d.ID)
		}
		text := ""
		for i := range nodes {
			m := nodes[i]
			m.Inputs, m.Outputs = append([]op.TensorID(nil), m.Inputs...), append([]op.Desc(nil), m.Outputs...)
			for k := range m.Inputs {
				m.Inputs[k] = number(m.Inputs[k])
			}
			for k := range m.Outputs {
				m.Outputs[k].ID = number(m.Outputs[k].ID)
			}
			text += m.String() + "\n"
		}
		for _, id := range free {
			text += fmt.Sprintln("free", number(id))
		}
		return text
	}
	for round := range op.TensorID(3) {
		for _, u := range uses {
			require.Equal(t, lowered(primitives, u, 0), lowered(remembering, u, 100*round), "round %d: %v", round, u)
		}
	}
	none := program.Target{Supports: func(*op.Node, []op.Desc) error { return op.ErrUnsupported }, Expanded: &program.Expansions{}}
	n, err := op.New(op.Neg, []op.Desc{square})
	require.NoError(t, err)
	for range 2 {
		require.ErrorIs(t, none.Lowers(&n, []op.Desc{square}, next), op.ErrUnsupported)
	}
}

// A full memo drops the entries that nobody has asked for since it was last full.
func TestMemo(t *testing.T) {
	var m program.Memo[int]
	_, ok := m.Get([]byte("a"))
	require.False(t, ok)
	m.Put([]byte("a"), 1, 1)
	m.Put([]byte("b"), 2, 4<<20)
	m.Put([]byte("c"), 3, 4<<20) // the memo is full: a and b are old now
	v, ok := m.Get([]byte("a"))
	require.True(t, ok)
	require.Equal(t, 1, v)
	m.Put([]byte("d"), 4, 1)
	_, ok = m.Get([]byte("b"))
	require.False(t, ok)
}

// Entries that are all in use do not exceed the bound either: two times 2 MiB, and the entry that fills each half.
func TestMemoIsBounded(t *testing.T) {
	var m program.Memo[int]
	const size, count = 256 << 10, 64
	found := func(n int) (some int) {
		for i := range n {
			if _, ok := m.Get([]byte{byte(i)}); ok {
				some++
			}
		}
		return some
	}
	for i := range count {
		m.Put([]byte{byte(i)}, i, size)
		require.LessOrEqual(t, found(i+1), 2*(8+1))
	}
}
