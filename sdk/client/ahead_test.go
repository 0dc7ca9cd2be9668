package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	fake "github.com/goburn/burn/internal/fakeplugin"
)

// both computes x negated and x added to itself.
func both(t testing.TB) *program.Program {
	p := &program.Program{Name: "both", Inputs: []op.Desc{desc(1, 2)}, Outputs: []op.TensorID{id(2), id(3)}}
	p.Nodes = []op.Node{node(t, "neg", 2, p.Inputs), node(t, "add", 3, []op.Desc{p.Inputs[0], p.Inputs[0]})}
	require.NoError(t, p.Check())
	return p
}

// TestReadAhead runs a program and reads its two outputs in different orders, never, twice and late. The values must be right, and no
// tensor may be left.
func TestReadAhead(t *testing.T) {
	b, err := started(t, fake.Good, nil)
	require.NoError(t, err)
	s := open(t, b)
	ctx := context.Background()
	ps, ok := core.Extension[core.Programs](s.dev)
	require.True(t, ok)
	p, err := ps.Define(ctx, s.Stream, both(t), nil)
	require.NoError(t, err)
	next := uint64(100)
	run := func(v float32) (neg, sum op.TensorID) {
		in := id(next)
		neg, sum = id(next+1), id(next+2)
		next += 3
		require.NoError(t, s.Write(ctx, op.Desc{ID: in, DType: desc(1, 2).DType, Shape: []int{2}}, f32(v, 1)))
		require.NoError(t, ps.Run(s.Stream, core.Run{Program: p, Inputs: []op.TensorID{in}, Outputs: []op.TensorID{neg, sum}}))
		require.NoError(t, s.Submit(nil, []op.TensorID{in}))
		return neg, sum
	}
	dst := make([]byte, 8)
	for i := range 30 {
		v := float32(i)
		neg, sum := run(v)
		first, second := neg, sum
		want := [][]byte{f32(-v, -1), f32(2*v, 2)}
		if i%4 == 1 { // in the other order
			first, second = sum, neg
			want[0], want[1] = want[1], want[0]
		}
		require.NoError(t, core.Read(ctx, s, first, dst))
		require.Equal(t, want[0], dst)
		switch i % 5 {
		case 2: // unread
		case 3: // into a place of the wrong size: the plugin says so
			require.ErrorIs(t, core.Read(ctx, s, second, make([]byte, 4)), core.ErrShape)
			fallthrough
		default:
			for range 2 {
				require.NoError(t, core.Read(ctx, s, second, dst))
				require.Equal(t, want[1], dst)
			}
		case 4: // after the next run
			a, c := run(v + 1)
			require.NoError(t, core.Read(ctx, s, second, dst))
			require.Equal(t, want[1], dst)
			require.NoError(t, core.Read(ctx, s, a, dst))
			require.Equal(t, f32(-v-1, -1), dst)
			require.NoError(t, s.Submit(nil, []op.TensorID{a, c}))
		}
		require.NoError(t, s.Submit(nil, []op.TensorID{neg, sum}))
		require.ErrorIs(t, core.Read(ctx, s, neg, dst), core.ErrUnknownTensor)
	}
	require.NoError(t, core.Sync(ctx, s))
	require.Zero(t, tensors(t, s))

	// A node that drops an unread output.
	neg, sum := run(1)
	require.NoError(t, core.Read(ctx, s, neg, dst))
	n := node(t, "neg", next, []op.Desc{{ID: sum, DType: desc(1, 2).DType, Shape: []int{2}}})
	n.Drop = 1
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	require.ErrorIs(t, core.Read(ctx, s, sum, dst), core.ErrUnknownTensor)
	require.NoError(t, core.Read(ctx, s, id(next), dst))
	require.Equal(t, f32(-2, -2), dst)
	require.NoError(t, ps.Undefine(p))
	require.NoError(t, s.Submit(nil, []op.TensorID{neg, id(next)}))
	require.NoError(t, core.Sync(ctx, s))
	require.Zero(t, tensors(t, s))
}
