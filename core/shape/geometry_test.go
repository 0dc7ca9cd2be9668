package shape

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizesAndStrides(t *testing.T) {
	for _, c := range []struct {
		s       Shape
		size    int
		strides []int
		text    string
	}{
		{nil, 1, []int{}, "[]"}, {Of(), 1, []int{}, "[]"}, {Of(7), 7, []int{1}, "[7]"}, {Of(2, 3, 4), 24, []int{12, 4, 1}, "[2,3,4]"}, {Of(2, 0, 4), 0, []int{0, 4, 1}, "[2,0,4]"}, {Of(1, 1), 1, []int{1, 1}, "[1,1]"},
	} {
		require.Equal(t, c.size, c.s.Size())
		require.Equal(t, c.strides, c.s.Strides())
		require.Equal(t, c.text, c.s.String())
		require.Equal(t, len(c.s), c.s.Rank())
		copied := c.s.Clone()
		require.True(t, copied.Equal(c.s))
		if len(copied) > 0 {
			copied[0]++
			require.False(t, copied.Equal(c.s), "a clone shares nothing")
		}
	}
	require.False(t, Of(2).Equal(Of(2, 1)))
}

// The greatest legal number of elements fits into an int with 16 bytes each. One more element is refused, unless another dimension is 0.
func TestCheckBounds(t *testing.T) {
	most := 1<<59 - 1
	for _, c := range []struct {
		s   Shape
		say string
	}{
		{Of(most), ""}, {Of(most + 1), "too many"}, {Of(1<<30, 1<<29), "too many"}, {Of(1<<30-1, 1<<29), ""}, {Of(most, 2), "too many"}, {Of(most+1, 0), ""}, {Of(0, most+1, 9), ""}, {Of(1, 2, 3, 4, 5, 6, 7, 8), ""},
		{Of(1, 1, 1, 1, 1, 1, 1, 1, 0), "rank 9 of [1,1,1,1,1,1,1,1,0], want at most 8"}, {Of(3, -1), "dimension 1 of [3,-1] is negative"}, {Of(-1, 0), "dimension 0"}, {Of(1<<62, 1<<62, -1), "dimension 2"},
	} {
		err := c.s.Check()
		if c.say == "" {
			require.NoError(t, err, "%v", c.s)
			continue
		}
		require.ErrorIs(t, err, Err)
		require.ErrorContains(t, err, c.say)
	}
}

func TestAxisBounds(t *testing.T) {
	for rank := range 4 {
		for axis := -5; axis <= 5; axis++ {
			got, err := Axis(axis, rank)
			if axis < -rank || axis >= rank {
				require.ErrorIs(t, err, Err, "%d of %d", axis, rank)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, (axis+rank)%rank, got)
		}
	}
	_, err := Axis(2, 2)
	require.EqualError(t, err, "shape error: axis 2, want one in [-2,2)")
}

func TestBroadcastOfMany(t *testing.T) {
	s, err := Broadcast()
	require.NoError(t, err)
	require.Empty(t, s)
	s, err = Broadcast(Of(3), Of(2, 1, 1), Of(), Of(4, 1))
	require.NoError(t, err)
	require.Equal(t, Of(2, 4, 3), s)
	_, err = Broadcast(Of(3), Of(1), Of(2, 4))
	require.EqualError(t, err, "shape error: cannot broadcast [3] with [1] with [2,4]: dimension 1 is 3 and 4")
	own := Of(2, 3)
	s, err = Broadcast(own)
	require.NoError(t, err)
	s[0] = 9
	require.Equal(t, Of(2, 3), own, "the result shares no memory with the operand")
}

func TestCanExpand(t *testing.T) {
	for _, c := range []struct {
		s, to Shape
		want  bool
	}{{Of(), Of(), true}, {Of(), Of(2, 3), true}, {Of(3), Of(2, 3), true}, {Of(2, 1), Of(2, 0), true}, {Of(1), Of(0), true}, {Of(2, 3), Of(3), false}, {Of(3), Of(1), false}, {Of(2), Of(2, 3), false}, {Of(0), Of(1), false}, {Of(0), Of(0), true}} {
		err := CanExpand(c.s, c.to)
		require.Equal(t, c.want, err == nil, "%v to %v", c.s, c.to)
		if err != nil {
			require.ErrorIs(t, err, Err)
		}
	}
}

// array is a tensor stored by the index of each element: the model with which views are compared.
type array struct {
	s    Shape
	data map[[4]int]int
}

func (a array) each(f func(at [4]int)) {
	for n := range a.s.Size() {
		var at [4]int
		for i := len(a.s) - 1; i >= 0; i-- {
			at[i], n = n%a.s[i], n/a.s[i]
		}
		f(at)
	}
}

func (a array) list() (out []int) {
	a.each(func(at [4]int) { out = append(out, a.data[at]) })
	return out
}

// from returns an array of shape s whose element at an index is the element of a at source of the index.
func (a array) from(s Shape, source func(at [4]int) [4]int) array {
	b := array{s, map[[4]int]int{}}
	b.each(func(at [4]int) { b.data[at] = a.data[source(at)] })
	return b
}

// Chains of movements of a view have the same elements as the same movements of an array, and do not change their receivers.
func TestViewsAgainstArrays(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	contiguous := 0
	for range 1500 {
		s := make(Shape, 1+r.IntN(3))
		for i := range s {
			s[i] = r.IntN(4)
		}
		v := Contiguous(s)
		a, n := array{s, map[[4]int]int{}}, 0
		a.each(func(at [4]int) { a.data[at], n = n, n+1 })
		for range 4 {
			before := elements(v)
			next := v
			switch r.IntN(4) {
			case 0:
				axes := r.Perm(len(a.s))
				to := make(Shape, len(a.s))
				for i, x := range axes {
					to[i] = a.s[x]
				}
				next = v.Permute(axes)
				a = a.from(to, func(at [4]int) (from [4]int) {
					for i, x := range axes {
						from[x] = at[i]
					}
					return from
				})
			case 1:
				axis := r.IntN(len(a.s))
				next = v.Flip([]int{axis})
				a = a.from(a.s, func(at [4]int) [4]int { at[axis] = a.s[axis] - 1 - at[axis]; return at })
			case 2:
				axis := r.IntN(len(a.s))
				start, step, to := make([]int, len(a.s)), make([]int, len(a.s)), a.s.Clone()
				for i := range step {
					step[i] = 1
				}
				if to[axis] > 0 {
					start[axis], step[axis] = r.IntN(to[axis]), []int{-2, -1, 1, 2}[r.IntN(4)]
					room := to[axis] - 1 - start[axis]
					if step[axis] < 0 {
						room = start[axis]
					}
					to[axis] = r.IntN(room/max(step[axis], -step[axis]) + 2)
				} else {
					start[axis] = 5 // nothing is read there
				}
				next = v.Slice(start, step, to)
				a = a.from(to, func(at [4]int) [4]int { at[axis] = start[axis] + step[axis]*at[axis]; return at })
			default:
				if len(a.s) == 4 {
					continue
				}
				to := append(Of(r.IntN(3)), a.s...)
				for i := 1; i < len(to); i++ {
					if to[i] == 1 {
						to[i] = r.IntN(3)
					}
				}
				old := a.s
				next = v.Expand(to)
				a = a.from(to, func(at [4]int) (from [4]int) {
					for i := range old {
						if old[i] != 1 {
							from[i] = at[i+1]
						}
					}
					return from
				})
			}
			require.Equal(t, before, elements(v), "a movement does not change its receiver")
			v = next
			require.True(t, v.Shape.Equal(a.s))
			require.Equal(t, a.list(), elements(v), "%v", v)
		}
		dense := true
		for i, p := range elements(v) {
			dense = dense && p == v.Offset+i
		}
		if v.Shape.Size() > 0 { // without elements, either answer is right
			require.Equal(t, dense, v.IsContiguous(), "%+v", v)
		}
		if dense {
			contiguous++
		}
		joined := Collapse(v)[0]
		require.Equal(t, elements(v), elements(joined))
		for _, d := range joined.Shape {
			require.NotEqual(t, 1, d)
		}
		if v.IsContiguous() && v.Shape.Size() > 1 {
			require.Len(t, joined.Shape, 1, "a dense view collapses to one dimension")
		}
	}
	require.Greater(t, contiguous, 100)
}

// Reshape refuses a shape only if no strides in the same buffer describe it.
func TestReshapeIsRefusedForGoodReason(t *testing.T) {
	v := Contiguous(Of(4, 6)).Permute([]int{1, 0})
	for _, to := range []Shape{Of(24), Of(2, 12), Of(3, 8)} {
		_, ok := v.Reshape(to)
		require.False(t, ok, "%v", to)
	}
	for _, to := range []Shape{Of(6, 4), Of(2, 3, 4), Of(6, 2, 2), Of(3, 2, 1, 2, 2), Of(6, 4, 1)} {
		w, ok := v.Reshape(to)
		require.True(t, ok, "%v", to)
		require.Equal(t, elements(v), elements(w))
	}
	w, ok := Contiguous(Of(1)).Expand(Of(5)).Reshape(Of(5, 1))
	require.True(t, ok)
	require.Equal(t, []int{0, 0, 0, 0, 0}, elements(w))
}
