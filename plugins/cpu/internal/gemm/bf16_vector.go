package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

// halfLoops read matrices of 16-bit floats and widen them. Strides are counted
// in elements. Products with a vector are over whole vectors: n is a positive
// multiple of lanes.
type halfLoops struct {
	lanes        int
	dot4, dot1   func(n int, x *float32, m *uint16, row int, out *float32)
	axpy8, axpy1 func(n int, y, x *float32, m *uint16, row int)
	// strip sets dst[p*width+l] to src[p*row+l] for l < lines and p < depth;
	// lines is two vectors or, if masked is set, at most that.
	strip  func(lines, depth int, src *uint16, row int, dst *float32, width int)
	masked bool
}

// halfLevel holds the loops for 16-bit floats at one instruction set level. Any
// of them may be nil.
type halfLevel struct {
	name      string
	pairs     *pairKernel
	bf16, f16 *halfLoops
}

var activeHalves = func() halfLevel {
	for _, best := range halfLevels() {
		return best
	}
	return halfLevel{name: "portable"}
}()

// loopsFor is the loops for elements of type t, nil if there are none.
func loopsFor(t *HalfType) *halfLoops {
	if t.BF16 {
		return activeHalves.bf16
	}
	return activeHalves.f16
}

// halfVectorBlock is the number of results of a product by columns that are
// computed at a time.
const halfVectorBlock = 2048

// halfVector is a product with one row or one column, seen as y = matrix·x.
type halfVector struct {
	args   *HalfArgs
	matrix Mat[uint16]
	x      []float32
	rows   int
	step   int // between results
	loops  *halfLoops
}

func mulHalfVector(pool *par.Pool, g *HalfArgs) {
	r := &halfVector{args: g, loops: loopsFor(g.Type)}
	data, stride := g.A.Data, g.A.ColStride
	if g.N == 1 {
		r.matrix, r.rows, r.step = g.A, g.M, g.LDC
		data, stride = g.B.Data, g.B.RowStride
	} else {
		r.matrix, r.rows, r.step = g.B.T(), g.N, 1
	}
	w := idleWork.Get().(*halfWork)
	w.b = grow(w.b, g.K)
	r.x = w.b
	r.decode(w, r.x, data, stride)
	pool.For(r.rows, minNativeVectorWork/g.K+1, r.part)
	w.done()
}

// decode widens elements that are stride apart.
func (r *halfVector) decode(w *halfWork, dst []float32, src []uint16, stride int) {
	if stride != 1 {
		w.halves = grow(w.halves, len(dst))
		for p := range dst {
			w.halves[p] = src[p*stride]
		}
		src = w.halves
	}
	r.args.Type.Decode(dst, src[:len(dst)])
}

// part computes results lo to hi.
func (r *halfVector) part(lo, hi int) {
	w := idleWork.Get().(*halfWork)
	for i := lo; i < hi; i += halfVectorBlock {
		n := min(halfVectorBlock, hi-i)
		w.sums = grow(w.sums, n)
		if r.matrix.RowStride == 1 && r.matrix.ColStride != 1 {
			r.byColumns(w, w.sums, i)
		} else {
			r.byRows(w, w.sums, i)
		}
		r.finish(w, w.sums, i)
	}
	w.done()
}

// byRows takes the rows as they come.
func (r *halfVector) byRows(w *halfWork, sums []float32, first int) {
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
	kern := Active[float32]()
	var held [1]float32
	w.line = grow(w.line, min(k-done, halfVectorBlock))
	for i := range sums {
		for p := done; p < k; p += halfVectorBlock {
			x := r.x[p:min(p+halfVectorBlock, k)]
			line := w.line[:len(x)]
			r.decode(w, line, m[i*row+p*r.matrix.ColStride:], r.matrix.ColStride)
			if kern.Dot != nil && len(x) > 16 {
				kern.Dot(x, line, len(x), held[:])
				sums[i] += held[0]
			} else {
				sums[i] += dot(x, line)
			}
		}
	}
}

// byColumns adds the columns of the matrix to sums.
func (r *halfVector) byColumns(w *halfWork, sums []float32, first int) {
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
	w.line = grow(w.line, len(rest))
	for p, x := range r.x {
		r.args.Type.Decode(w.line, m[p*col+done:][:len(rest)])
		for j, v := range w.line {
			rest[j] += v * x
		}
	}
}

// finish rounds results from number first on.
func (r *halfVector) finish(w *halfWork, sums []float32, first int) {
	g, n := r.args, len(sums)
	c := g.C[first*r.step:]
	if g.Accumulate {
		w.line = grow(w.line, n)
		r.decode(w, w.line, c, r.step)
		for i, v := range w.line {
			sums[i] += v
		}
	}
	if g.N == 1 {
		g.Epilogue.from(first, 0).Apply(sums, 1, n, 1)
	} else {
		g.Epilogue.from(0, first).Apply(sums, n, 1, n)
	}
	if r.step == 1 {
		g.Type.Encode(c[:n], sums)
		return
	}
	w.halves = grow(w.halves, n)
	g.Type.Encode(w.halves, sums)
	for i, h := range w.halves {
		c[i*r.step] = h
	}
}
