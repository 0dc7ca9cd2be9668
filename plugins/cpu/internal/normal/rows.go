package normal

import (
	"math"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

const (
	// minStrip and maxStrip are the least and the greatest number of columns that are normalised at a time, unless there are fewer. Strips
	// that exceed the caches should be wide, because long runs of memory are faster to read.
	minStrip, maxStrip = 256, 4096
	cached             = 128 << 10 // greatest number of elements of a strip that stays in a cache
	// minInner is the least product of the dimensions after the axis for which strips of columns are faster.
	minInner = 32
)

// softmaxRows returns a kernel of softmax of float32 along an axis with many elements after it, or nil for other nodes. It reads strips of
// columns row by row, so that no elements are moved.
func softmaxRows(n *op.Node, in []op.Desc) kernel.Func {
	s, axis := in[0].Shape, n.Attrs.Int("axis")
	outer, length, inner := shape.Shape(s[:axis]).Size(), s[axis], shape.Shape(s[axis+1:]).Size()
	if in[0].DType != dtype.F32 || !vector.Has() || inner < minInner || outer*length == 0 {
		return nil
	}
	line := softmaxStrip
	if n.Op == op.LogSoftmax {
		line = logSoftmaxStrip
	}
	return func(c *kernel.Call) error {
		x, y := kernel.Flat[float32](c.Contiguous(c.In[0])), kernel.Flat[float32](c.Reuse(0, 0))
		strip := minStrip
		if length*minStrip > cached { // as wide as possible while each thread has a strip
			strip = min(maxStrip, max(minStrip, outer*inner/c.Pool.Threads()&^15))
		}
		strips := (inner + strip - 1) / strip
		c.Pool.For(outer*strips, lineGrain/(length*min(inner, strip))+1, func(lo, hi int) {
			workspace := stripWorkspaces.Get().(*stripWorkspace)
			for i := lo; i < hi; i++ {
				from := i/strips*length*inner + i%strips*strip
				line(y[from:], x[from:], min(strip, inner-i%strips*strip), length, inner, workspace)
			}
			stripWorkspaces.Put(workspace)
		})
		return nil
	}
}

// columnMaxima sets m to the maximum of each column of x, whose rows are step apart.
func columnMaxima(m, x []float32, rows, step int) {
	if len(m) <= minStrip {
		vector.Maxima.OfColumns(m, x, rows, step)
		return
	}
	for i := range m {
		m[i] = float32(math.Inf(-1))
	}
	k := 0
	for ; rows-k >= vector.Stacked; k += vector.Stacked {
		vector.Maxima.OfStack(m, x[k*step:], step)
	}
	for maxStrip := vector.Max().Both; k < rows; k++ {
		maxStrip(m, m, x[k*step:][:len(m)])
	}
}

// stripWorkspace is the workspace of a strip. Its slices have one element for each column.
type stripWorkspace struct {
	tops, sums, exps [maxStrip]float32
	totals           [maxStrip]float64
}

var stripWorkspaces = sync.Pool{New: func() any { return new(stripWorkspace) }}

// sumRows is the number of rows that are added in float32 before their sum is added in float64.
const sumRows = 64

// sum sums rows of exponentials into width column sums. row computes row k.
func (workspace *stripWorkspace) sum(width, rows int, row func(k int) []float32) []float32 {
	sums, totals, add := workspace.sums[:width], workspace.totals[:width], vector.Add().Both
	clear(totals)
	for from := 0; from < rows; from += sumRows {
		clear(sums)
		for k := from; k < min(from+sumRows, rows); k++ {
			add(sums, sums, row(k))
		}
		for i, v := range sums {
			totals[i] += float64(v)
		}
	}
	for i, v := range totals {
		sums[i] = float32(v)
	}
	return sums
}

func softmaxStrip(y, x []float32, width, rows, step int, workspace *stripWorkspace) {
	tops := workspace.tops[:width]
	columnMaxima(tops, x, rows, step)
	sub, div := vector.Sub().Both, vector.Div().Both
	sums := workspace.sum(width, rows, func(k int) []float32 {
		to := y[k*step:][:width]
		sub(to, x[k*step:][:width], tops)
		vector.Exp(to, to)
		return to
	})
	for k := range rows {
		to := y[k*step:][:width]
		div(to, to, sums)
	}
}

func logSoftmaxStrip(y, x []float32, width, rows, step int, workspace *stripWorkspace) {
	tops, exps := workspace.tops[:width], workspace.exps[:width]
	columnMaxima(tops, x, rows, step)
	sub := vector.Sub().Both
	sums := workspace.sum(width, rows, func(k int) []float32 {
		sub(exps, x[k*step:][:width], tops)
		vector.Exp(exps, exps)
		return exps
	})
	for i, v := range sums {
		sums[i] = float32(math.Log(float64(v)))
	}
	for k := range rows {
		to := y[k*step:][:width]
		sub(to, x[k*step:][:width], tops)
		sub(to, to, sums)
	}
}
