package kernel

import (
	"testing"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestCopyRepeats copies views in which elements and rows are repeated.
func TestCopyRepeats(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	for _, c := range [][4]int{{1, 3, 4, 5}, {2, 3, 4, 5}, {3, 3, 4, 5}, {8, 3, 4, 5}, {9, 3, 4, 5}, {2, 70, 40, 33}, {2, 1, 1, 70}, {2, 300, 3, 17}, {3, 50, 60, 20}} {
		times, planes, rows, cols := c[0], c[1], c[2], c[3]
		src := make([]uint32, planes*rows*cols)
		for i := range src {
			src[i] = uint32(i)
		}
		to := shape.Of(planes, rows, 2, cols, times)
		from := shape.View{Shape: to, Strides: []int{rows * cols, cols, 0, 1, 0}}
		dst := make([]uint32, to.Size())
		copyViews(pool, dst, shape.Contiguous(to), src, from)
		for i, v := range dst {
			x := i / times % cols
			y := i / (times * cols * 2) % rows
			p := i / (times * cols * 2 * rows)
			if want := uint32((p*rows+y)*cols + x); v != want {
				t.Fatalf("%d times, element %d: got %d, want %d", times, i, v, want)
			}
		}
	}
}
