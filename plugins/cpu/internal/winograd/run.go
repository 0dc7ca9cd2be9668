package winograd

import (
	"math"
	"sync/atomic"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Call is an execution of a plan for all images and groups: X is [Batch,
// groups*Channels, Height, Width], Out [Batch, groups*Outputs, OutHeight,
// OutWidth]. The rows of the epilogue, which may be nil, are the outputs of
// all groups; BiasCol must be nil.
type Call struct {
	Batch      int
	X, Out     []float32
	Weights    []*Weights // of each group
	Accumulate bool       // add the results to the elements of Out
	Epilogue   *micro.Epilogue[float32]
}

// Run computes c. It reports false, and writes nothing, if X is not finite or so large that a sum might overflow.
func (p *Plan) Run(pool *par.Pool, c *Call) bool {
	r, ok := p.runs.Get().(*run)
	if !ok {
		r = &run{plan: p}
		r.measureLoop, r.taskLoop = r.measure, r.tasks
	}
	r.Call = *c
	done := r.start(pool)
	r.Call = Call{}
	p.runs.Put(r)
	return done
}

// run is the state of one execution. Later ones reuse it.
type run struct {
	Call
	plan      *Plan
	greatest  atomic.Uint32 // bits of the greatest magnitude of X
	partition partition

	measureLoop, taskLoop func(lo, hi int)
}

const (
	// minWork is the least number of multiply-adds for which another thread is used.
	minWork = 256 << 10
	// stretch is the number of inputs whose maximum is taken at a time, minStretches the number of stretches for which another thread is
	// used.
	stretch, minStretches = 4 << 10, 8
)

func (r *run) start(pool *par.Pool) bool {
	p := r.plan
	n := r.Batch * len(r.Weights) * p.Channels * p.Height * p.Width
	r.X, r.Out = r.X[:n], r.Out[:r.Batch*len(r.Weights)*p.Outputs*p.OutHeight*p.OutWidth]
	limit := float32(math.MaxFloat32)
	for _, w := range r.Weights {
		limit = min(limit, w.limit)
	}
	r.greatest.Store(0)
	pool.For(ceil(n, stretch), minStretches, r.measureLoop)
	if r.greatest.Load() > math.Float32bits(limit) {
		return false
	}
	items := r.Batch * len(r.Weights)
	r.partition = p.partition(pool.Threads(), items, r.Weights[0])
	tasks := items * r.partition.across * r.partition.down
	work := p.units * active.unit * active.lanes * elements * p.Channels * p.Outputs / (r.partition.across * r.partition.down)
	pool.For(tasks, minWork/max(work, 1)+1, r.taskLoop)
	return true
}

// measure finds the greatest magnitude in stretches lo to hi of the input.
func (r *run) measure(lo, hi int) {
	x := r.X[lo*stretch : min(hi*stretch, len(r.X))]
	found := active.greatest(len(x), &x[0])
	for {
		held := r.greatest.Load()
		if found <= held || r.greatest.CompareAndSwap(held, found) {
			return
		}
	}
}

// tasks computes tasks lo to hi. The tasks of an image and group are consecutive.
func (r *run) tasks(lo, hi int) {
	p := r.plan
	s, ok := p.scratch.Get().(*scratch)
	if !ok {
		s = &scratch{}
	}
	for t := lo; t < hi; t++ {
		item, part := t/(r.partition.across*r.partition.down), t%(r.partition.across*r.partition.down)
		w := r.Weights[item%len(r.Weights)]
		u0, u1 := share(p.units, r.partition.across, part/r.partition.down)
		p0, p1 := share(w.panels(), r.partition.down, part%r.partition.down)
		for u := u0; u < u1; u += p.block {
			r.block(s, item, w, u, min(u+p.block, u1), p0, p1)
		}
	}
	p.scratch.Put(s)
}

// share returns the bounds of part i of n items that are divided evenly into parts.
func share(n, parts, i int) (lo, hi int) { return n * i / parts, n * (i + 1) / parts }

// scratch is the workspace of a thread.
type scratch struct {
	padded   []float32    // rows of a channel
	split    [2][]float32 // their columns by index modulo four; two buffers, for alternating channels
	inputs   []float32    // transformed: [element][pair of vectors][channel][lane]
	products []float32    // [output of a panel][element][lane]
	tiles    []float32    // of an output: [row][tile][column]
	segments []segment
}

// block computes units u0 to u1 of tiles for panels p0 to p1 of outputs.
func (r *run) block(s *scratch, item int, w *Weights, u0, u1, p0, p1 int) {
	p := r.plan
	lanes := active.lanes
	vectors := (u1 - u0) * active.unit
	t0, t1 := u0*active.unit*lanes, min(u1*active.unit*lanes, p.tiles())
	pairs := ceil(vectors, 2)
	step := pairs*p.Channels*2*lanes + lanes // not a power of two, with which all rows would map to few sets of the cache
	s.inputs = grow(s.inputs, elements*step)
	p.transform(s, r.X[item*p.Channels*p.Height*p.Width:], t0, t1, vectors, step)

	ldc := elements * vectors * lanes
	s.products = grow(s.products, w.height*ldc)
	s.tiles = grow(s.tiles, side*side*vectors*lanes)
	s.segments = p.appendSegments(s.segments[:0], t0, t1, vectors*lanes)
	group := item % len(r.Weights) * p.Outputs
	for i := p0; i < p1; i++ {
		height := min(w.height, p.Outputs-i*w.height)
		for e := range elements {
			a := w.data[(i*elements+e)*w.height*p.Channels:][:w.height*p.Channels]
			for q := range pairs {
				w.multiply(height, min(2, vectors-2*q), a, s.inputs[e*step+q*p.Channels*2*lanes:][:p.Channels*2*lanes], s.products[(e*vectors+2*q)*lanes:], ldc)
			}
		}
		for y := range height {
			active.output(vectors, &s.products[y*ldc], vectors*lanes, &s.tiles[0], side*vectors*lanes)
			output := i*w.height + y
			r.storeTiles(s, r.Out[(item*p.Outputs+output)*p.OutHeight*p.OutWidth:][:p.OutHeight*p.OutWidth], group+output)
		}
	}
}

// multiply computes height rows and one or two vectors of columns.
func (w *Weights) multiply(height, vectors int, a, b, c []float32, ldc int) {
	lanes := active.lanes
	if even := ceil(height, 2); vectors == 1 && w.height%2 == 0 && active.product[0] != nil {
		_ = c[(2*even-1)*ldc+lanes-1]
		active.product[even-1](w.channels, &a[0], w.height, &b[0], 2*lanes, &c[0], ldc)
		return
	}
	for y := 0; y < height; y += w.kernel.MR {
		for k := 0; k < w.channels; k += maxDepth {
			w.kernel.Tile(min(w.kernel.MR, height-y), vectors*lanes, min(maxDepth, w.channels-k), a[k*w.height+y:], 1, w.height,
				b[k*2*lanes:], 2*lanes, c[y*ldc:], ldc, k > 0, nil, 0, 0)
		}
	}
}

// maxDepth is the greatest number of channels that are summed at a time: the weights of a panel stay in the L1 cache.
const maxDepth = 640

// transform computes the transformed inputs of tiles t0 to t1, and of the other
// tiles in the same vectors.
func (p *Plan) transform(s *scratch, x []float32, t0, t1, vectors, step int) {
	lanes := active.lanes
	y0 := t0 / p.span
	down := (t1-1)/p.span - y0 + 2 // rows of tiles; of the last one only two rows of elements are read
	count := (down-1)*side + reach - side
	first := y0*side - p.Top // the row of the input at the first padded row
	from, to := min(max(-first, 0), count), max(min(p.Height-first, count), 0)
	slack := 8*lanes + (p.shared-1)*side*p.pitch // elements that are read beyond the last row
	if n := count*p.pitch + slack; len(s.padded) < n {
		s.padded = make([]float32, n)
	}
	clear(s.padded[:from*p.pitch])
	clear(s.padded[max(to, from)*p.pitch:][:(count-max(to, from))*p.pitch])
	plane := down*p.span + 3*lanes
	s.split[0], s.split[1] = grow(s.split[0], side*reach*plane), grow(s.split[1], side*reach*plane)
	near, far := lanes, 2*lanes // offsets of the parts of a vector
	switch p.shared {
	case 2:
		far = side * p.pitch
	case 4:
		near, far = side*p.pitch, 2*side*p.pitch
	}
	rows := vector.Rows{Count: to - from, Cols: p.Width, DstStep: p.pitch, SrcStep: p.Width}
	for c := range p.Channels + 1 {
		if c < p.Channels {
			if rows.Count > 0 {
				vector.Copy(rows, s.padded[from*p.pitch+p.Left:], x[(c*p.Height+first+from)*p.Width:])
			}
			for i := range side {
				active.split(ceil(ceil(count-i, side), p.shared), p.shared*p.span, &s.padded[i*p.pitch], p.shared*side*p.pitch, near, far,
					&s.split[c%2][i*reach*plane], p.shared*p.span, plane)
			}
		}
		// The previous channel: its vectors straddle rows, which are slow to read until they have left the store queue.
		if c := c - 1; c >= 0 {
			active.input(vectors, &s.split[c%2][t0-y0*p.span], reach*plane, plane, p.span, &s.inputs[c*2*lanes], step, p.Channels*2*lanes)
		}
	}
}

// segment describes rows of the output that a block contains: every side-th row, of cols elements each; rows is their number. The first row
// begins at element number out of the output and at element number at of the buffer of tiles.
type segment struct{ rows, cols, out, at int }

// appendSegments appends the segments of tiles t0 to t1. width is the number of tiles in a row of the buffer.
func (p *Plan) appendSegments(list []segment, t0, t1, width int) []segment {
	for t := t0; t < t1; {
		y, x := t/p.span, t%p.span
		rows, end := 1, min(p.cols, x+t1-t)
		if x == 0 && end == p.cols {
			rows += (t1 - t - p.cols) / p.span
		}
		for i := range side {
			if n := min(rows, ceil(p.OutHeight-y*side-i, side)); n > 0 && x < end {
				list = append(list, segment{n, min(end*side, p.OutWidth) - x*side, (y*side+i)*p.OutWidth + x*side, (i*width + t - t0) * side})
			}
		}
		t = (y + rows) * p.span
	}
	return list
}

// storeTiles writes the tiles of one output channel to out.
func (r *run) storeTiles(s *scratch, out []float32, channel int) {
	p := r.plan
	bias, lo, hi := float32(0), float32(math.Inf(-1)), float32(math.Inf(1))
	if e := r.Epilogue; e != nil {
		if e.BiasRow != nil {
			bias = e.BiasRow[channel]
		}
		if e.HasClamp {
			lo, hi = e.Lo, e.Hi
		}
	}
	for _, g := range s.segments {
		_ = out[g.out+(g.rows-1)*side*p.OutWidth+g.cols-1]
		active.storeTiles(g.rows, g.cols, &out[g.out], side*p.OutWidth, &s.tiles[g.at], side*p.span, r.Accumulate, bias, lo, hi)
	}
}

// grow returns a slice of n elements with undefined values that begins at a cache line.
func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return aligned(n)
	}
	return s[:n]
}
