package conv

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// padGrain is the fewest elements that a thread pads at a time.
const padGrain = 16 << 10

// frame holds the input channels of one group in padded form. With the
// padding in place every element of every patch is at a fixed offset, one for
// its place in the patch plus one for the place of the patch.
type frame[T gemm.Number] struct {
	plan    *Plan
	x       []T // the channels
	padded  []T
	buffer  []T
	padding T    // the value of padding and of the holes of a dilated input
	filled  T    // the value that the buffer was filled with
	stale   bool // the buffer was filled for another plan

	parts       int // of a channel, for padLoop
	padLoop     func(lo, hi int)
	packPatches gemm.PackFunc[T]
}

func takeFrame[T gemm.Number](p *Plan) *frame[T] {
	if f, ok := p.idle.Get().(*frame[T]); ok {
		return f
	}
	var zero T
	f := &frame[T]{}
	if pool, ok := freeFrames.Load(any(zero)); ok {
		if free, ok := pool.(*sync.Pool).Get().(*frame[T]); ok {
			f = free
		}
	}
	f.plan, f.stale = p, true
	if f.padLoop == nil {
		f.padLoop = func(lo, hi int) { f.padParts(lo, hi, f.parts) }
		f.packPatches = f.patches
	}
	return f
}

// freeFrames holds frames of plans that are not expected to run again.
var freeFrames sync.Map // by element type: *sync.Pool

// giveFrame returns f for the next run of its plan, or of any plan if this one is single.
func giveFrame[T gemm.Number](f *frame[T], single bool) {
	f.x, f.padded = nil, nil
	if !single {
		f.plan.idle.Put(f)
		return
	}
	var zero T
	f.plan = nil
	if cap(f.buffer) <= 16<<20 {
		pool, _ := freeFrames.LoadOrStore(any(zero), &sync.Pool{})
		pool.(*sync.Pool).Put(f)
	}
}

// reserve allocates the padded channels, whose number is fixed for a plan. The
// padding and the holes are filled once per plan, since no run writes them.
func (f *frame[T]) reserve(channels int) {
	n := channels * f.plan.paddedSize
	if cap(f.buffer) < n {
		f.buffer, f.filled, f.stale = make([]T, n), 0, false
	}
	f.padded = f.buffer[:n]
	switch {
	case !f.stale && f.filled == f.padding:
		return
	case f.padding == 0:
		clear(f.padded)
	default:
		for i := range f.padded {
			f.padded[i] = f.padding
		}
	}
	f.filled, f.stale = f.padding, false
}

// pad fills in padded channels lo to hi.
func (f *frame[T]) pad(lo, hi int) { f.padParts(lo, hi, 1) }

// padOnAll fills in the padded channels on all threads.
func (f *frame[T]) padOnAll(pool *par.Pool, channels int) {
	p := f.plan
	f.parts = 1
	if even := partsPerThread * pool.Threads(); pool.Threads() > 1 && channels < even {
		f.parts = max(1, min((even+channels-1)/max(channels, 1), p.axes[0].in))
	}
	pool.For(channels*f.parts, padGrain/max(p.paddedSize/f.parts, 1)+1, f.padLoop)
}

// partsPerThread is the number of parts of the padding per thread.
const partsPerThread = 4

// padParts fills in parts lo to hi of the padded channels. Each channel has
// parts parts, cut along its first axis.
func (f *frame[T]) padParts(lo, hi, parts int) {
	p := f.plan
	if parts == 1 {
		for c := lo; c < hi; c++ {
			padAxes(f.padded[c*p.paddedSize:][:p.paddedSize], f.x[c*p.inSize:][:p.inSize], p.axes)
		}
		return
	}
	var own [MaxRank]axis
	axes := own[:copy(own[:], p.axes)]
	a, size := &axes[0], p.inSize/p.axes[0].in
	for i := lo; i < hi; i++ {
		c, part := i/parts, i%parts
		first, end := p.axes[0].in*part/parts, p.axes[0].in*(part+1)/parts
		a.in, a.lo = end-first, p.axes[0].lo+first*a.dilation
		padAxes(f.padded[c*p.paddedSize:][:p.paddedSize], f.x[c*p.inSize+first*size:][:a.in*size], axes)
	}
}

// padAxes copies a dense block to its places in the padded one.
func padAxes[T gemm.Number](to, from []T, axes []axis) {
	a := axes[0]
	if a.in == 0 || a.padded == 0 || len(from) == 0 {
		return
	}
	// Elements first to end of the input stay within the padded length.
	first, end := 0, a.in
	if a.lo < 0 {
		first = (-a.lo + a.dilation - 1) / a.dilation
	}
	end = min(end, (a.padded-a.lo+a.dilation-1)/a.dilation)
	if first >= end {
		return
	}
	if len(axes) == 1 {
		padRow(to, from[first:end], a.lo+first*a.dilation, &a)
		return
	}
	size := len(from) / a.in
	if len(axes) == 2 && a.dilation == 1 && a.phases == 0 && padPlane(to[(a.lo+first)*a.step:], from[first*size:end*size], &a, &axes[1]) {
		return
	}
	if len(axes) == 2 && a.dilation == 1 && a.phases == 1 {
		for first < end && (a.lo+first)%a.stride != 0 {
			first++
		}
		if first == end || samplePlane(to[a.at(a.lo+first)*a.step:], from[first*size:end*size], &a, &axes[1]) {
			return
		}
	}
	for i := first; i < end; i++ {
		at := a.lo + i*a.dilation
		if a.phases > 0 {
			if at%a.stride >= a.phases {
				continue
			}
			at = a.at(at)
		}
		padAxes(to[at*a.step:][:a.step], from[i*size:][:size], axes[1:])
	}
}

// padRow copies elements to the last axis, from place at on.
func padRow[T gemm.Number](to, from []T, at int, a *axis) {
	switch {
	case a.phases > 0 && a.dilation == 1:
		for q := range min(a.stride, len(from)) {
			if phase := (at + q) % a.stride; phase < a.phases {
				part(to[phase*a.length+(at+q)/a.stride:], from[q:], a.stride)
			}
		}
	case a.phases > 0:
		for _, v := range from {
			if at%a.stride < a.phases {
				to[a.at(at)] = v
			}
			at += a.dilation
		}
	case a.dilation == 1:
		copy(to[at:], from)
	default:
		for _, v := range from {
			to[at] = v
			at += a.dilation
		}
	}
}

// padPlane is padAxes for two axes in assembly, for inputs of which all rows
// are kept. It reports whether there is such a loop.
func padPlane[T gemm.Number](to, from []T, rows, cols *axis) bool {
	from32, ok := any(from).([]float32)
	if !ok || !vector.Has() || cols.dilation != 1 || cols.phases != 0 && cols.phases != 2 {
		return false
	}
	first := max(0, -cols.lo)
	end := min(cols.in, cols.padded-cols.lo)
	if first >= end {
		return true
	}
	to32, at := any(to).([]float32), cols.lo+first
	r := vector.Rows{Count: len(from) / cols.in, Cols: end - first, DstStep: rows.step, SrcStep: cols.in}
	if cols.phases == 0 {
		vector.Copy(r, to32[at:], from32[first:])
		return true
	}
	odd := to32
	if end-first > 1 {
		odd = to32[cols.at(at+1):]
	}
	vector.Split(r, to32[cols.at(at):], odd, from32[first:])
	return true
}

// samplePlane is padAxes for two axes in assembly, where one phase of each is
// kept. from begins at the first row that is kept. It reports whether there is
// such a loop.
func samplePlane[T gemm.Number](to, from []T, rows, cols *axis) bool {
	from32, ok := any(from).([]float32)
	if !ok || !vector.Has() || cols.dilation != 1 || cols.phases != 1 || cols.stride != 2 {
		return false
	}
	first := max(0, -cols.lo)
	first += (cols.lo + first) % 2
	end := min(cols.in, cols.padded-cols.lo)
	count := (len(from)/cols.in + rows.stride - 1) / rows.stride
	if first < end {
		vector.Sample(vector.Rows{Count: count, Cols: end - first, DstStep: rows.step, SrcStep: rows.stride * cols.in},
			any(to).([]float32)[cols.at(cols.lo+first):], from32[first:])
	}
	return true
}

// part copies every stride-th element.
func part[T gemm.Number](to, from []T, stride int) {
	n := (len(from) + stride - 1) / stride
	to = to[:n]
	k := 0
	for i := range to {
		to[i] = from[k]
		k += stride
	}
}

// source returns the padded channels.
func (f *frame[T]) source() []T {
	if f.plan.plain {
		return f.x
	}
	return f.padded
}

// patches is the gemm.PackFunc of the input: row p of B is an element of the
// patch, column j a place of the output.
func (f *frame[T]) patches(dst []T, width, k0, k1, j0, j1 int) {
	src, offsets := f.source(), f.plan.offsets[k0:k1]
	at := f.plan.cursor(j0)
	last := &f.plan.axes[len(f.plan.axes)-1]
	if kern := gemm.Active[T](); kern.Collect != nil && last.advance == 1 && last.out >= leastRun {
		f.collect(kern, dst, width, offsets, &at, j0, j1)
		return
	}
	size := width * (k1 - k0)
	var places [maxWidth]int
	for ; j0 < j1; j0 += width {
		panel := dst[:size]
		dst = dst[size:]
		n := min(width, j1-j0)
		for i := range n {
			places[i] = at.offset
			at.next()
		}
		switch {
		case n == width && width == 2:
			gather2(panel, src, offsets, places[0], places[1])
		case n == width && width == 4:
			gather4(panel, src, offsets, places[0], places[1], places[2], places[3])
		case n == width && places[n-1]-places[0] == n-1:
			for _, k := range offsets {
				copy(panel, src[k+places[0]:][:width])
				panel = panel[width:]
			}
		default:
			if n < width {
				clear(panel)
			}
			for _, k := range offsets {
				for i, place := range places[:n] {
					panel[i] = src[k+place]
				}
				panel = panel[width:]
			}
		}
	}
}

// leastRun is the shortest output row whose patches are copied in runs.
const leastRun = 4

// collect is patches for plans in which neighbouring outputs of a row read
// neighbouring elements.
func (f *frame[T]) collect(kern *gemm.Kernel[T], dst []T, width int, offsets []int, at *cursor, j0, j1 int) {
	src, size := f.source(), width*len(offsets)
	last := len(at.axes) - 1
	row := at.axes[last].out
	for ; j0 < j1; j0 += width {
		panel := dst[:size]
		dst = dst[size:]
		n := min(width, j1-j0)
		if n < width {
			clear(panel)
		}
		for i := 0; i < n; {
			run := min(row-at.at[last], n-i)
			kern.Collect(panel[i:], src[at.offset:], run, offsets, width)
			at.skip(run)
			i += run
		}
	}
}

// maxWidth is the widest panel that a kernel may ask for.
const maxWidth = 128

func gather2[T gemm.Number](panel, src []T, offsets []int, a, b int) {
	for _, k := range offsets {
		to := (*[2]T)(panel)
		to[0], to[1] = src[k+a], src[k+b]
		panel = panel[2:]
	}
}

func gather4[T gemm.Number](panel, src []T, offsets []int, a, b, c, d int) {
	for _, k := range offsets {
		to := (*[4]T)(panel)
		to[0], to[1], to[2], to[3] = src[k+a], src[k+b], src[k+c], src[k+d]
		panel = panel[4:]
	}
}

// cursor iterates over the output positions in order and tracks the offset of
// the patch in the padded input.
type cursor struct {
	axes   []axis
	at     [MaxRank]int
	offset int
}

// cursor returns a cursor at place j.
func (p *Plan) cursor(j int) cursor {
	c := cursor{axes: p.axes}
	for i := len(p.axes) - 1; i >= 0; i-- {
		a := &p.axes[i]
		c.at[i] = j % a.out
		j /= a.out
		c.offset += c.at[i] * a.advance
	}
	return c
}

func (c *cursor) next() {
	for i := len(c.axes) - 1; i >= 0; i-- {
		a := &c.axes[i]
		c.at[i]++
		c.offset += a.advance
		if c.at[i] < a.out {
			return
		}
		c.offset -= a.out * a.advance
		c.at[i] = 0
	}
}

// skip advances by n positions, at most to the start of the next row.
func (c *cursor) skip(n int) {
	last := len(c.axes) - 1
	c.at[last] += n - 1
	c.offset += (n - 1) * c.axes[last].advance
	c.next()
}
