package libtorch

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// The tests of this file check decisions of kernels that need no torch.

// TestPhilox compares philox with a known-answer test of Random123: philox4x32 with 10 rounds.
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		counter, key uint64
		want         [4]uint32
	}{
		{0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
	} {
		var got [4]uint32
		got[0], got[1], got[2], got[3] = philox(c.counter, c.key)
		require.Equal(t, c.want, got)
	}
}

// TestDrawWords checks that words do not depend on the number of goroutines, and that the last block may be partial.
func TestDrawWords(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 7, drawn, drawn + 1, 3*drawn + 5} {
		want := make([]uint32, n)
		for i := range want {
			var b [4]uint32
			b[0], b[1], b[2], b[3] = philox(uint64(9+i/4), 5)
			want[i] = b[i%4]
		}
		for _, threads := range []int{0, 1, 2, 7} {
			got := make([]uint32, n)
			drawWords(got, 9, 5, threads)
			require.True(t, slices.Equal(want, got), "%d words, %d threads", n, threads)
		}
	}
}

func TestLastOf(t *testing.T) {
	require.Nil(t, lastOf([]int64{3, 1, 2}, 1))
	require.Nil(t, lastOf([]int64{3, 1, 1, 3}, 2), "in another batch")
	require.Equal(t, []int64{2, 1, 2}, lastOf([]int64{3, 1, 3}, 1))
	require.Equal(t, []int64{1, 1, 0, 1}, lastOf([]int64{5, 5, 5, 6}, 2))
	require.Nil(t, lastOf(nil, 1))
}

func TestParts(t *testing.T) {
	b, m, n, p := parts(shape.Of(2, 3, 4, 5, 6), 3, 1)
	require.Equal(t, [4]int{2, 12, 5, 6}, [4]int{b, m, n, p})
	b, m, n, p = parts(shape.Of(7), 0, 0)
	require.Equal(t, [4]int{1, 1, 7, 1}, [4]int{b, m, n, p})
}

func TestUnravel(t *testing.T) {
	index := make([]int, 3)
	unravel(23, shape.Of(2, 3, 4), index)
	require.Equal(t, []int{1, 2, 3}, index)
	unravel(5, shape.Of(2, 3, 4), index)
	require.Equal(t, []int{0, 1, 1}, index)
}

// TestTransposed checks that a dilated input becomes a transposed convolution if torch has one of that size.
func TestTransposed(t *testing.T) {
	for _, c := range []struct {
		name           string
		strides, input int
		lo, hi, kernel int
		padding, out   int
		ok             bool
	}{
		{"plain", 1, 1, 0, 0, 3, 2, 0, false},
		{"stride 2", 1, 2, 2, 2, 3, 0, 0, true},
		{"padded", 1, 2, 1, 1, 3, 1, 0, true},
		{"one more at the end", 1, 2, 1, 2, 3, 1, 1, true},
		{"two more, beyond the stride", 1, 2, 1, 3, 3, 0, 0, false},
		{"more padding than the kernel reaches", 1, 2, 3, 3, 3, 0, 0, false},
		{"less at the end", 1, 2, 2, 1, 3, 0, 0, false},
		{"strides of its own", 2, 2, 2, 2, 3, 0, 0, false},
	} {
		v := convolution{strides: []int{c.strides}, input: []int{c.input}, lo: []int{c.lo}, hi: []int{c.hi}, dilation: []int{1}, groups: 1}
		got, ok := v.transposed(shape.Of(1, 1, c.kernel))
		require.Equal(t, c.ok, ok, c.name)
		if ok {
			require.Equal(t, &torch.Convolution{Strides: []int{c.input}, Padding: []int{c.padding}, Dilation: []int{1}, OutputPadding: []int{c.out}, Transposed: true, Groups: 1}, got, c.name)
		}
	}
}

// TestPlane checks that torch pools only if its windows are at the positions of the op's windows.
func TestPlane(t *testing.T) {
	for _, c := range []struct {
		name   string
		in     op.Desc
		lo, hi []int
		want   bool
	}{
		{"plain", f32(1, 2, 6, 6), []int{0, 0}, []int{0, 0}, true},
		{"rank 3", f32(2, 6, 6), []int{0, 0}, []int{0, 0}, true},
		{"padded", f32(1, 2, 6, 6), []int{1, 1}, []int{1, 1}, true},
		{"more at the end, one window more", f32(1, 2, 6, 6), []int{0, 0}, []int{2, 2}, false},
		{"rank 2", f32(6, 6), []int{0, 0}, []int{0, 0}, false},
		{"integers", op.DescOf(dtype.I32, 1, 2, 6, 6), []int{0, 0}, []int{0, 0}, false},
		{"none", f32(0, 2, 6, 6), []int{0, 0}, []int{0, 0}, false},
	} {
		n, err := op.New(op.MaxPool, []op.Desc{c.in}, op.Ints("window", 2, 2), op.Ints("strides", 2, 2), op.Ints("pad_lo", c.lo...), op.Ints("pad_hi", c.hi...),
			op.Ints("dilation", 1, 1), op.Ints("overhang", 0, 0))
		require.NoError(t, err, c.name)
		w := &worker{n: &n, in: []val{{0, c.in.DType, c.in.Shape}}}
		require.Equal(t, c.want, plane(w), c.name)
	}
}

// TestNeeds checks that a kernel that needs a missing function of torch does not run.
func TestNeeds(t *testing.T) {
	none := new(torch.Library)
	for _, c := range []struct {
		needs need
		want  bool
	}{{0, true}, {needsLists, false}, {needsAdd, false}, {needsLists | needsAdd, false}} {
		r := rule{needs: c.needs}
		require.Equal(t, c.want, r.runs(none), "%b", c.needs)
	}
	require.Equal(t, "no lists in calls of operators (torch 2.10 has them), errors by standard error (torch 2.13 returns them), no lent memory (torch 2.11)", lacks(none))
}

// TestScaleOf checks the factor of attention scores: the attribute scale, or 1/√width if it is 0, or 1 if the width is 0.
func TestScaleOf(t *testing.T) {
	for _, c := range []struct {
		width int
		scale float64
		want  float64
	}{{4, 0, 0.5}, {4, 3, 3}, {0, 3, 1}} {
		q := f32(1, 1, 2, c.width)
		n, err := op.New(op.Attention, []op.Desc{q, q, q}, op.Float("scale", c.scale))
		require.NoError(t, err)
		require.InDelta(t, c.want, scaleOf(&n, val{0, q.DType, q.Shape}), 1e-15)
	}
}
