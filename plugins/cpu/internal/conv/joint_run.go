package conv

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// jointRun is the workspace of one thread. A run on several threads has an additional one: all threads read its padded input.
type jointRun[T micro.Number] struct {
	padded []T
	// The current task: rows is its number of outputs, [j0, j1) are its columns, and row is the distance between rows of sums, in elements.
	rows, j0, j1, row int
	sums, spare       []T
}

var jointScratch sync.Map // by element type: *sync.Pool

func takeJoint[T micro.Number]() *jointRun[T] {
	var zero T
	pool, _ := jointScratch.LoadOrStore(any(zero), &sync.Pool{})
	if s, ok := pool.(*sync.Pool).Get().(*jointRun[T]); ok {
		return s
	}
	return &jointRun[T]{}
}

func giveJoint[T micro.Number](s *jointRun[T]) {
	var zero T
	if pool, ok := jointScratch.Load(any(zero)); ok && len(s.padded)+len(s.sums) <= 16<<20 {
		pool.(*sync.Pool).Put(s)
	}
}

// onOne is a pool of one thread: the products of a task run on the task's thread.
var onOne = par.New(1)

// run computes all phases of all groups of the batch.
func (w *jointWeights[T]) run(r *run[T]) bool {
	if r.accumulate {
		return false
	}
	p, pool := r.plan, r.pool
	items, channels := p.batch*p.groups, p.channels/p.groups
	work := p.outputs / p.groups * p.inSize * p.depth()
	one := pool.Threads() == 1 || items >= 4*pool.Threads()
	split := r.splitJoint(one)
	if one {
		pool.For(items, minWork()/max(work, 1)+1, func(lo, hi int) {
			s := takeJoint[T]()
			for i := lo; i < hi; i++ {
				r.padJoint(s, i, 0, channels)
				w.tasks(r, s, s, split, i, 0, split.tasks)
			}
			giveJoint(s)
		})
		return true
	}
	shared := takeJoint[T]()
	shared.padded = resize(shared.padded, channels*p.joint.size)
	for i := range items {
		if !p.joint.unpadded {
			pool.For(channels, padGrain/4/p.joint.size+1, func(lo, hi int) { r.padJoint(shared, i, lo, hi) })
		}
		pool.For(split.tasks, minWork()/max(work/split.tasks, 1)+1, func(lo, hi int) {
			s := takeJoint[T]()
			w.tasks(r, shared, s, split, i, lo, hi)
			giveJoint(s)
		})
	}
	giveJoint(shared)
	return true
}

// jointSplit is the division of an item into tasks. Each task computes cols
// columns of one block of outputs.
type jointSplit struct{ cols, tasks int }

func (r *run[T]) splitJoint(one bool) jointSplit {
	p, unit := r.plan, 2*gemm.IndirectCols[T]()
	units := (p.joint.end + unit - 1) / unit
	width := min(max(jointElements/(p.joint.rows*len(p.phases)*unit), 1), units)
	across := (units + width - 1) / width
	if threads := r.pool.Threads(); !one {
		across = min((across+threads-1)/threads*threads, units)
	}
	width = (units + across - 1) / across
	across = (units + width - 1) / width
	return jointSplit{width * unit, across * p.blocks()}
}

// padJoint pads channels lo to hi of an item.
func (r *run[T]) padJoint(s *jointRun[T], item, lo, hi int) {
	p := r.plan
	f := p.joint
	if f.unpadded {
		return
	}
	channels := p.channels / p.groups
	s.padded = resize(s.padded, channels*f.size)
	for c := lo; c < hi; c++ {
		to := s.padded[c*f.size:][:f.size]
		clear(to)
		padAxes(to, r.x[(item*channels+c)*p.inSize:][:p.inSize], f.axes)
	}
}

// tasks computes tasks lo to hi of an item. src holds the padded input.
func (w *jointWeights[T]) tasks(r *run[T], src, s *jointRun[T], split jointSplit, item, lo, hi int) {
	p := r.plan
	outputs := p.outputs / p.groups
	from := src.padded
	if p.joint.unpadded {
		from = r.x[item*(p.channels/p.groups)*p.inSize:]
	}
	s.row = split.cols + 16 // A row of a power of two would map to few sets of the cache.
	group := item % p.groups
	for t := lo; t < hi; t++ {
		b, j0 := t%p.blocks(), t/p.blocks()*split.cols
		o0, o1 := p.block(b)
		first := group*outputs + o0
		s.rows, s.j0, s.j1 = o1-o0, j0, min(j0+split.cols, p.joint.end)
		s.sums = resize(s.sums, len(p.phases)*s.rows*s.row)
		e := r.epilogue.Rows(first)
		for i := range p.phases {
			ph := &p.phases[i]
			n := min(s.j1, ph.end) - j0
			if n <= 0 {
				continue
			}
			sums := s.phaseSums(i, 0)[:s.rows*s.row]
			if len(ph.offsets) == 0 {
				clear(sums)
				e.Apply(sums, s.row, s.rows, n)
				continue
			}
			gemm.MulIndirect(onOne, &gemm.Indirect[T]{A: w.packedGroups[(i*p.groups+group)*p.blocks()+b], Src: from[ph.base+j0:], Offsets: ph.offsets,
				Reach: ph.reach, Rows: 1, Cols: n, C: sums, LDC: s.row, Epilogue: e})
		}
		s.interleave(p, r.out[(item/p.groups*p.outputs+first)*p.outSize:][:s.rows*p.outSize])
	}
}

// phaseSums returns the sums of phase i, beginning with the sums of the given output of the task.
func (s *jointRun[T]) phaseSums(i, output int) []T { return s.sums[(i*s.rows+output)*s.row:] }

// interleave stores columns j0 to j1 of all phases to their positions in out.
func (s *jointRun[T]) interleave(p *Plan, out []T) {
	a := &p.axes[len(p.axes)-1]
	width, step := p.joint.axes[len(p.axes)-1].padded, a.dilation
	into, interleaved := any(out).([]float32)
	var w interleaver
	if interleaved = interleaved && vector.Has() && a.out >= step && step > 1 && step&(step-1) == 0; interleaved {
		s.spare = resize(s.spare, 2*step*(s.j1-s.j0))
		w = interleaver{any(s.sums).([]float32), any(s.spare).([]float32), s.rows * s.row}
	}
	for i := 0; i < len(p.phases); {
		p.phases[i].eachLine(p, s.j0, s.j1, func(count, to, toStep, at, n int) {
			at -= s.j0
			for o := range s.rows {
				if interleaved {
					r := vector.Rows{Count: count, Cols: min(step*n, a.out-to%a.out), DstStep: toStep, SrcStep: width}
					w.interleave(r, into[o*p.outSize+to:], (i*s.rows+o)*s.row+at, 1, step)
					continue
				}
				for y := range count {
					storeStrided(out[o*p.outSize+to+y*toStep:], s.phaseSums(i, o)[at+y*width:][:n], step)
				}
			}
		})
		if interleaved {
			i += step // the phases of a row are consecutive
		} else {
			i++
		}
	}
}

// interleaver merges rows of phases. The rows of consecutive phases are phase elements apart in sums. spare is the workspace for rows that
// are not merged completely in one step.
type interleaver struct {
	sums, spare []float32
	phase       int
}

// interleave merges n phases into the rows of dst: phase k fills elements k, k+n, k+2n and so on. The first phase begins at element number
// at of sums; each further phase is skip phases later. n is a power of two.
func (w interleaver) interleave(r vector.Rows, dst []float32, at, skip, n int) {
	next := at + skip*w.phase
	if n == 2 {
		vector.Interleave(r, dst, w.sums[at:], w.sums[next:])
		return
	}
	half := (r.Cols + 1) / 2
	even, odd := w.spare[:half], w.spare[half:2*half]
	w.spare = w.spare[2*half:]
	for range r.Count {
		w.interleave(vector.Rows{Count: 1, Cols: half}, even, at, 2*skip, n/2)
		w.interleave(vector.Rows{Count: 1, Cols: r.Cols / 2}, odd, next, 2*skip, n/2)
		vector.Interleave(vector.Rows{Count: 1, Cols: r.Cols}, dst, even, odd)
		at, next, dst = at+r.SrcStep, next+r.SrcStep, dst[min(r.DstStep, len(dst)):]
	}
}

// eachLine calls f for the rows of outputs within columns j0 to j1. Each call covers count rows of n outputs. The first row begins at
// column number at and is stored at element number to of the output; each further row is stored toStep elements later.
func (ph *phase) eachLine(p *Plan, j0, j1 int, f func(count, to, toStep, at, n int)) {
	last := len(p.axes) - 1
	width, n := p.joint.axes[last].padded, ph.out[last]
	j1 = min(j1, ph.end)
	for l := j0 / width; l*width < j1; {
		x0, x1 := max(0, j0-l*width), min(n, j1-l*width)
		count, to, toStep := 1, ph.first[last]+x0*ph.dilation[last], 0
		stride, left, valid := p.axes[last].out, l, x0 < x1
		for d := last - 1; d >= 0; d-- {
			i := left % p.joint.axes[d].padded
			left /= p.joint.axes[d].padded
			valid = valid && i < ph.out[d]
			to += (ph.first[d] + i*ph.dilation[d]) * stride
			if d == last-1 {
				toStep = ph.dilation[d] * stride
				if x0 == 0 && x1 == n {
					count = max(1, min(ph.out[d]-i, (j1-l*width-n)/width+1))
				}
			}
			stride *= p.axes[d].out
		}
		if valid {
			f(count, to, toStep, l*width+x0, x1-x0)
		}
		l += count
	}
}

// storeStrided copies the elements of the slice from to every step-th element of the slice to.
func storeStrided[T micro.Number](to, from []T, step int) {
	at := 0
	for _, v := range from {
		to[at] = v
		at += step
	}
}
