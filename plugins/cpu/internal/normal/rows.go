package normal

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

const (
	// strip is how many columns are normalised at a time.
	strip = 256
	// fewest neighbours behind the axis for which columns pay.
	fewest = 32
)

// softmaxRows is softmax of float32 along an axis with many elements behind it: strips of columns, row by row, so that
// nothing is moved. It is nil for others.
func softmaxRows(n *op.Node, in []op.Desc) kernel.Func {
	s, axis := in[0].Shape, n.Attrs.Int("axis")
	outer, length, inner := shape.Shape(s[:axis]).Size(), s[axis], shape.Shape(s[axis+1:]).Size()
	if in[0].DType != dtype.F32 || !vector.Has() || inner < fewest || outer*length == 0 {
		return nil
	}
	strips := (inner + strip - 1) / strip
	line := softmaxStrip
	if n.Op == op.LogSoftmax {
		line = logSoftmaxStrip
	}
	return func(c *kernel.Call) error {
		x, y := kernel.Flat[float32](c.Contiguous(c.In[0])), kernel.Flat[float32](c.Reuse(0, 0))
		c.Pool.For(outer*strips, dearGrain/(length*min(inner, strip))+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				from := i/strips*length*inner + i%strips*strip
				line(y[from:], x[from:], min(strip, inner-i%strips*strip), length, inner)
			}
		})
		return nil
	}
}

// mostOf sets m to the greatest of each column of width columns of x, rows step apart.
func mostOf(m, x []float32, rows, step int) {
	vector.Maxima.OfColumns(m, x, rows, step)
}

func softmaxStrip(y, x []float32, width, rows, step int) {
	var m, sum [strip]float32
	most, sums := m[:width], sum[:width]
	mostOf(most, x, rows, step)
	add, sub, div := vector.Add().Both, vector.Sub().Both, vector.Div().Both
	for k := range rows {
		to := y[k*step:][:width]
		sub(to, x[k*step:][:width], most)
		vector.Exp(to, to)
		add(sums, sums, to)
	}
	for k := range rows {
		to := y[k*step:][:width]
		div(to, to, sums)
	}
}

func logSoftmaxStrip(y, x []float32, width, rows, step int) {
	var m, sum, e [strip]float32
	most, sums, exps := m[:width], sum[:width], e[:width]
	mostOf(most, x, rows, step)
	add, sub := vector.Add().Both, vector.Sub().Both
	for k := range rows {
		sub(exps, x[k*step:][:width], most)
		vector.Exp(exps, exps)
		add(sums, sums, exps)
	}
	for i, v := range sums {
		sums[i] = float32(math.Log(float64(v)))
	}
	for k := range rows {
		to := y[k*step:][:width]
		sub(to, x[k*step:][:width], most)
		sub(to, to, sums)
	}
}
