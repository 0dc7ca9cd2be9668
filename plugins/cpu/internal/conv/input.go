package conv

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// padGrain is the least number of elements that a thread pads at a time.
const padGrain = 16 << 10

// input holds the input channels of one group, padded. The offset of an element
// of a patch in the padded channels is the sum of the offset of the element within the patch and the offset of the patch.
type input[T micro.Number] struct {
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

func takeInput[T micro.Number](p *Plan) *input[T] {
	if in, ok := p.inputs.Get().(*input[T]); ok {
		return in
	}
	var zero T
	in := &input[T]{}
	if pool, ok := freeInputs.Load(any(zero)); ok {
		if free, ok := pool.(*sync.Pool).Get().(*input[T]); ok {
			in = free
		}
	}
	in.plan, in.stale = p, true
	if in.padLoop == nil {
		in.padLoop = func(lo, hi int) { in.padParts(lo, hi, in.parts) }
		in.packPatches = in.patches
	}
	return in
}

// freeInputs holds inputs of plans that are not expected to run again.
var freeInputs sync.Map // by element type: *sync.Pool

// giveInput keeps the memory of in for the next run of its plan or, if single is set, for the next run of any plan.
func giveInput[T micro.Number](in *input[T], single bool) {
	in.x, in.padded = nil, nil
	if !single {
		in.plan.inputs.Put(in)
		return
	}
	var zero T
	in.plan = nil
	if cap(in.buffer) <= 16<<20 {
		pool, _ := freeInputs.LoadOrStore(any(zero), &sync.Pool{})
		pool.(*sync.Pool).Put(in)
	}
}

// reserve allocates the padded channels, whose number is fixed for a plan. The
// padding and the holes are filled once per plan, since no run writes them.
func (in *input[T]) reserve(channels int) {
	n := channels * in.plan.paddedSize
	if cap(in.buffer) < n {
		in.buffer, in.filled, in.stale = make([]T, n), 0, false
	}
	in.padded = in.buffer[:n]
	switch {
	case !in.stale && in.filled == in.padding:
		return
	case in.padding == 0:
		clear(in.padded)
	default:
		for i := range in.padded {
			in.padded[i] = in.padding
		}
	}
	in.filled, in.stale = in.padding, false
}

// set assigns the channels of a group and pads them on the calling thread.
func (in *input[T]) set(x []T) {
	in.x = x
	if !in.plan.unpadded {
		channels := in.plan.channels / in.plan.groups
		in.reserve(channels)
		in.padParts(0, channels, 1)
	}
}

// setPadded is like set, on all threads of the pool.
func (in *input[T]) setPadded(pool *par.Pool, x []T) {
	p := in.plan
	in.x = x
	if p.unpadded {
		return
	}
	channels := p.channels / p.groups
	in.reserve(channels)
	in.parts = 1
	if even := partsPerThread * pool.Threads(); pool.Threads() > 1 && channels < even {
		in.parts = max(1, min((even+channels-1)/max(channels, 1), p.axes[0].in))
	}
	pool.For(channels*in.parts, padGrain/max(p.paddedSize/in.parts, 1)+1, in.padLoop)
}

// partsPerThread is the number of parts of the padding per thread.
const partsPerThread = 4

// padParts fills in parts lo to hi of the padded channels. Each channel is cut along its first axis into a fixed number of parts (parts).
func (in *input[T]) padParts(lo, hi, parts int) {
	p := in.plan
	if parts == 1 {
		for c := lo; c < hi; c++ {
			padAxes(in.padded[c*p.paddedSize:][:p.paddedSize], in.x[c*p.inSize:][:p.inSize], p.axes)
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
		padAxes(in.padded[c*p.paddedSize:][:p.paddedSize], in.x[c*p.inSize+first*size:][:a.in*size], axes)
	}
}

// source returns the padded channels.
func (in *input[T]) source() []T {
	if in.plan.unpadded {
		return in.x
	}
	return in.padded
}
