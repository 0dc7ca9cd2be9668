package half

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// loops contains functions that read matrices of 16-bit floats and widen them.
// Strides are counted in elements. In the products with a vector, n is a
// positive multiple of lanes.
type loops struct {
	lanes        int
	dot4, dot1   func(n int, x *float32, m *uint16, row int, out *float32)
	axpy8, axpy1 func(n int, y, x *float32, m *uint16, row int)
	// strip sets dst[p*width+l] to src[p*row+l] for l < lines and p < depth; lines is 2*lanes or, if masked is set, at most that.
	strip  func(lines, depth int, src *uint16, row int, dst *float32, width int)
	masked bool
}

// level contains the loops for 16-bit floats at one instruction set level. Any of them may be nil.
type level struct {
	name      string
	pairs     *pairKernel
	bf16, f16 *loops
}

var active = func() level {
	for _, best := range levels() {
		return best
	}
	return level{name: "portable"}
}()

// loopsFor returns the loops for elements of type t, nil if there are none.
func loopsFor(t *Type) *loops {
	if t.BF16 {
		return active.bf16
	}
	return active.f16
}

// vectorBlock is the greatest number of results that are computed at a time,
// and of elements of a row that are widened at a time.
const vectorBlock = 2048

// vectorProduct is a product with one row or one column, computed as y = matrix·x.
type vectorProduct struct {
	args   *Args
	matrix gemm.Mat[uint16]
	x      []float32
	rows   int
	step   int // between results
	loops  *loops
}

func mulVector(pool *par.Pool, g *Args) {
	r := &vectorProduct{args: g, loops: loopsFor(g.Type)}
	data, stride := g.A.Data, g.A.ColStride
	if g.N == 1 {
		r.matrix, r.rows, r.step = g.A, g.M, g.LDC
		data, stride = g.B.Data, g.B.RowStride
	} else {
		r.matrix, r.rows, r.step = g.B.T(), g.N, 1
	}
	w := idleWorkspaces.Get().(*workspace)
	w.b = panel.Grow(w.b, g.K)
	r.x = w.b
	r.decode(w, r.x, data, stride)
	pool.For(r.rows, micro.MinNativeVectorWork/g.K+1, r.part)
	w.done()
}

// decode widens elements that are stride elements apart.
func (r *vectorProduct) decode(w *workspace, dst []float32, src []uint16, stride int) {
	if stride != 1 {
		w.halves = panel.Grow(w.halves, len(dst))
		for p := range dst {
			w.halves[p] = src[p*stride]
		}
		src = w.halves
	}
	r.args.Type.Decode(dst, src[:len(dst)])
}

// part computes results lo to hi.
func (r *vectorProduct) part(lo, hi int) {
	w := idleWorkspaces.Get().(*workspace)
	for i := lo; i < hi; i += vectorBlock {
		n := min(vectorBlock, hi-i)
		w.sums = panel.Grow(w.sums, n)
		if r.matrix.RowStride == 1 && r.matrix.ColStride != 1 {
			r.byColumns(w, w.sums, i)
		} else {
			r.byRows(w, w.sums, i)
		}
		r.finish(w, w.sums, i)
	}
	w.done()
}

// byRows computes each result from one row of the matrix.
func (r *vectorProduct) byRows(w *workspace, sums []float32, first int) {
	m, row, k, done := r.matrix.Data[first*r.matrix.RowStride:], r.matrix.RowStride, len(r.x), 0
	clear(sums)
	if r.loops != nil && r.matrix.ColStride == 1 && k >= r.loops.lanes {
		done = k / r.loops.lanes * r.loops.lanes
		i := 0
		for ; i+4 <= len(sums); i += 4 {
			_ = m[(i+3)*row+k-1]
			r.loops.dot4(done, &r.x[0], &m[i*row], row, &sums[i])
		}
		for ; i < len(sums); i++ {
			_ = m[i*row+k-1]
			r.loops.dot1(done, &r.x[0], &m[i*row], row, &sums[i])
		}
	}
	if done == k {
		return
	}
	kern := micro.Active[float32]()
	var held [1]float32
	w.line = panel.Grow(w.line, min(k-done, vectorBlock))
	for i := range sums {
		for p := done; p < k; p += vectorBlock {
			x := r.x[p:min(p+vectorBlock, k)]
			line := w.line[:len(x)]
			r.decode(w, line, m[i*row+p*r.matrix.ColStride:], r.matrix.ColStride)
			if kern.Dot != nil && len(x) > 16 {
				kern.Dot(x, line, len(x), held[:])
				sums[i] += held[0]
			} else {
				sums[i] += micro.Dot(x, line)
			}
		}
	}
}

// byColumns adds the columns of the matrix to sums.
func (r *vectorProduct) byColumns(w *workspace, sums []float32, first int) {
	m, col, k, done := r.matrix.Data[first:], r.matrix.ColStride, len(r.x), 0
	clear(sums)
	if r.loops != nil && len(sums) >= r.loops.lanes {
		done = len(sums) / r.loops.lanes * r.loops.lanes
		_ = m[(k-1)*col+done-1]
		p := 0
		for ; p+8 <= k; p += 8 {
			r.loops.axpy8(done, &sums[0], &r.x[p], &m[p*col], col)
		}
		for ; p < k; p++ {
			r.loops.axpy1(done, &sums[0], &r.x[p], &m[p*col], col)
		}
	}
	rest := sums[done:]
	if len(rest) == 0 {
		return
	}
	w.line = panel.Grow(w.line, len(rest))
	for p, x := range r.x {
		r.args.Type.Decode(w.line, m[p*col+done:][:len(rest)])
		for j, v := range w.line {
			rest[j] += v * x
		}
	}
}

// finish turns sums into results, which it rounds and stores beginning with
// number first.
func (r *vectorProduct) finish(w *workspace, sums []float32, first int) {
	g, n := r.args, len(sums)
	c := g.C[first*r.step:]
	if g.Accumulate {
		w.line = panel.Grow(w.line, n)
		r.decode(w, w.line, c, r.step)
		for i, v := range w.line {
			sums[i] += v
		}
	}
	if g.N == 1 {
		g.Epilogue.Block(first, 0).Apply(sums, 1, n, 1)
	} else {
		g.Epilogue.Block(0, first).Apply(sums, n, 1, n)
	}
	if r.step == 1 {
		g.Type.Encode(c[:n], sums)
		return
	}
	w.halves = panel.Grow(w.halves, n)
	g.Type.Encode(w.halves, sums)
	for i, h := range w.halves {
		c[i*r.step] = h
	}
}
