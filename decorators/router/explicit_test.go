package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// both runs a test with members of two backends ("host") and with members of one backend that copies between peers ("peer").
func both(t *testing.T, f func(t *testing.T, places func(testing.TB) []*core.Place)) {
	t.Run("host", func(t *testing.T) { f(t, two) })
	t.Run("peer", func(t *testing.T) { f(t, peers) })
}

// A node runs on the member that holds most bytes of its operands. A tensor is transferred to a member once. A view from On overrides the
// choice.
func TestPlacement(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		r := over(t, places(t))
		b := r.on(r.s, 1)
		x, y := r.write(r.s, 1, 2, 3), r.write(b, 10, 20, 30)
		require.Equal(t, []float32{-1, -2, -3}, r.read(r.s, r.do(r.s, op.Neg, x)))
		require.Equal(t, []float32{-10, -20, -30}, r.read(r.s, r.do(r.s, op.Neg, y)))
		st := r.Stats()
		require.Equal(t, int64(1), st.Members[0].Nodes)
		require.Equal(t, int64(1), st.Members[1].Nodes)
		require.Empty(t, st.Links)

		sum := r.do(r.s, op.Add, x, y) // equally many bytes on both: the main member
		require.Equal(t, []float32{11, 22, 33}, r.read(r.s, sum))
		require.Equal(t, int64(2), r.Stats().Members[0].Nodes)
		for range 3 {
			r.free(r.s, r.do(r.s, op.Add, x, y))
		}
		tensors, bytes := r.moved()
		require.Equal(t, int64(1), tensors)
		require.Equal(t, int64(12), bytes)
		require.Equal(t, st.Members[0].Spec, r.Stats().Links[0].To)

		wide, row := r.node(op.Neg, []op.Desc{y}), r.write(r.s, 5)
		require.NoError(t, r.s.Submit([]op.Node{wide}, nil))
		broad := r.node(op.Concat, []op.Desc{wide.Outputs[0], row}, op.Int("axis", 0))
		require.NoError(t, r.s.Submit([]op.Node{broad}, nil))
		require.Equal(t, []float32{-10, -20, -30, 5}, r.read(r.s, broad.Outputs[0]), "most bytes are on the second")
		require.Equal(t, int64(3), r.Stats().Members[1].Nodes)

		moved := r.do(b, op.Copy, x)
		require.Equal(t, int64(4), r.Stats().Members[1].Nodes)
		require.Equal(t, []float32{1, 2, 3}, r.read(r.s, moved))
	})
}

// Drops and frees release the tensors on all members, including copies.
func TestNothingLeft(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		r := over(t, places(t))
		b := r.on(r.s, 1)
		for range 10 {
			x, y := r.write(r.s, 1, 2), r.write(b, 3, 4)
			kept := r.do(b, op.Add, x, y)
			drop := r.node(op.Add, []op.Desc{x, y})
			drop.Drop = 3
			require.NoError(t, r.s.Submit([]op.Node{drop}, nil))
			last := r.node(op.Mul, []op.Desc{kept, drop.Outputs[0]})
			last.Drop = 1
			require.NoError(t, r.s.Submit([]op.Node{last}, []op.TensorID{drop.Outputs[0].ID}))
			require.Equal(t, []float32{16, 36}, r.read(r.s, last.Outputs[0]))
			require.Equal(t, int64(1), r.live(r.s))
			r.free(r.s, last.Outputs[0])
			require.Equal(t, int64(0), r.live(r.s))
			require.ErrorIs(t, core.Read(ctx, r.s, x.ID, make([]byte, 8)), core.ErrUnknownTensor)
		}
	})
}

// An error passes from member to member and keeps the name of the failed node. Tensors that do not depend on it stay valid.
func TestPoison(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		for _, from := range []int{0, 1} {
			list := places(t)
			direct := list[0].Backend == list[1].Backend // the backend itself passes the error on, with its own ids
			r := over(t, list)
			a, b := r.on(r.s, from), r.on(r.s, 1-from)
			x := r.write(a, 1, 2)
			i := op.Desc{ID: r.NewIDs(1), DType: dtype.I64, Shape: []int{1}}
			require.NoError(t, a.Write(ctx, i, dtype.Bytes([]int64{7})))
			bad := r.node(op.Gather, []op.Desc{x, i}, op.Int("axis", 0))
			require.NoError(t, a.Submit([]op.Node{bad}, nil))
			far := r.do(b, op.Neg, bad.Outputs[0])
			further := r.do(b, op.Exp, far)
			back := r.do(a, op.Copy, further)
			good := r.do(b, op.Neg, x)
			for _, d := range []op.Desc{bad.Outputs[0], far, further, back} {
				err := core.Read(ctx, r.s, d.ID, make([]byte, d.Bytes()))
				var n *core.NodeError
				require.ErrorAs(t, err, &n)
				require.Equal(t, "gather", n.Op)
				require.ErrorIs(t, err, core.ErrIndex)
				if !direct {
					require.Equal(t, bad.Outputs[0].ID, n.Outputs[0].ID, "ids are the router's")
				}
			}
			require.Equal(t, []float32{-1, -2}, r.read(r.s, good))
			require.ErrorIs(t, core.Sync(ctx, r.s), core.ErrIndex)
			require.NoError(t, core.Sync(ctx, r.s))
			r.free(r.s, x, i, bad.Outputs[0], far, further, back, good)
			require.Equal(t, int64(0), r.live(r.s))
		}
	})
}

func TestInfo(t *testing.T) {
	r := over(t, two(t))
	_, err := r.Open(ctx, 1)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.Equal(t, "router<cpu,cpu>", r.Info().Name)
	require.Len(t, r.Info().Devices, 1)
	require.Equal(t, "a + b", r.Info().Devices[0].Detail)
}
