package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestCopyRepeats copies views in which elements and rows stand several times.
func TestCopyRepeats(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	for _, times := range []int{1, 2, 3, 8, 9} {
		planes, rows, cols := 3, 4, 5
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
			require.Equal(t, uint32((p*rows+y)*cols+x), v, "%d times, element %d", times, i)
		}
	}
}
