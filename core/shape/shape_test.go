package shape

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ a, b, want Shape }{
		{Of(), Of(), Of()},
		{Of(), Of(2, 3), Of(2, 3)},
		{Of(3), Of(2, 1), Of(2, 3)},
		{Of(2, 1, 4), Of(5, 1), Of(2, 5, 4)},
		{Of(0, 3), Of(1, 3), Of(0, 3)},
		{Of(1), Of(0), Of(0)},
		{Of(2), Of(3), Of(-1)},
		{Of(0), Of(2), Of(-1)},
	} {
		got, err := Broadcast(c.a, c.b)
		if c.want.Equal(Of(-1)) { // no common shape
			require.ErrorIs(t, err, Err)
			continue
		}
		require.NoError(t, err)
		require.True(t, got.Equal(c.want), "%v with %v: %v", c.a, c.b, got)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, Of().Check())
	require.NoError(t, Of(0, 1<<40, 1<<40).Check())
	require.NoError(t, Of(1<<40, 1<<40, 0).Check())
	require.ErrorIs(t, Of(1<<40, 1<<40).Check(), Err)
	require.ErrorIs(t, Of(-1).Check(), Err)
	require.ErrorIs(t, Of(1, 1, 1, 1, 1, 1, 1, 1, 1).Check(), Err)
	require.ErrorIs(t, Of(1<<40, 1<<40, -4, 0).Check(), Err)
}

func TestAxis(t *testing.T) {
	a, err := Axis(-1, 3)
	require.NoError(t, err)
	require.Equal(t, 2, a)
	_, err = Axis(3, 3)
	require.ErrorIs(t, err, Err)
	_, err = Axis(0, 0)
	require.ErrorIs(t, err, Err)
}

// elements returns the buffer position of each element of v in row-major order, computed from index and strides.
func elements(v View) []int {
	var out []int
	idx := make([]int, len(v.Shape))
	for n := v.Shape.Size(); n > 0; n-- {
		p := v.Offset
		for i, x := range idx {
			p += x * v.Strides[i]
		}
		out = append(out, p)
		for i := len(idx) - 1; i >= 0; i-- {
			idx[i]++
			if idx[i] < v.Shape[i] {
				break
			}
			idx[i] = 0
		}
	}
	return out
}

func TestViewMoves(t *testing.T) {
	v := Contiguous(Of(2, 3))
	require.Equal(t, []int{0, 3, 1, 4, 2, 5}, elements(v.Permute([]int{1, 0})))
	require.Equal(t, []int{2, 1, 0, 5, 4, 3}, elements(v.Flip([]int{1})))
	require.Equal(t, []int{5, 3}, elements(v.Slice([]int{1, 2}, []int{1, -2}, Of(1, 2))))
	require.Equal(t, []int{0, 1, 2, 0, 1, 2}, elements(Contiguous(Of(3)).Expand(Of(2, 3))))
	require.True(t, v.IsContiguous())
	require.False(t, v.Permute([]int{1, 0}).IsContiguous())
}

// Reshape keeps the order of the elements, whatever the view.
func TestReshapeKeepsOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	free := 0
	for range 2000 {
		dims := []int{2, 3, 4, 1}
		r.Shuffle(4, func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
		v := Contiguous(Shape(dims)).Permute(r.Perm(4))
		if r.IntN(2) == 0 {
			v = v.Flip([]int{r.IntN(4)})
		}
		to := []Shape{Of(24), Of(4, 6), Of(2, 1, 12), Of(1, 24, 1), Of(2, 3, 4), Of(3, 8)}[r.IntN(6)]
		if w, ok := v.Reshape(to); ok {
			free++
			require.Equal(t, elements(v), elements(w), "%v to %v", v, to)
		} else {
			require.False(t, v.IsContiguous(), "a contiguous view always reshapes")
		}
	}
	require.Greater(t, free, 100)
	w, ok := Contiguous(Of()).Reshape(Of(1, 1))
	require.True(t, ok)
	require.Equal(t, []int{0}, elements(w))
	_, ok = Contiguous(Of(0, 3)).Reshape(Of(3, 0, 7))
	require.True(t, ok)
}

func TestCollapse(t *testing.T) {
	a := Contiguous(Of(2, 3, 1, 4))
	b := Contiguous(Of(4)).Expand(Of(2, 3, 1, 4))
	c := Collapse(a, b)
	require.Equal(t, Of(6, 4), c[0].Shape)
	require.Equal(t, []int{0, 1}, c[1].Strides)
	require.Equal(t, elements(a), elements(c[0]))
	require.Equal(t, elements(b), elements(c[1]))
	require.Empty(t, Collapse(Contiguous(Of(1, 1)))[0].Shape)
}
