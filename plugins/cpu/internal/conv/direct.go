package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// directTaps computes outputs one by one, tap by tap, from unpacked weights. It is for convolutions that are too small to repay the packing
// for a matrix product.
type directTaps[T micro.Number] struct{}

const (
	// maxFewOutputs is the greatest number of outputs of a group that direct loops in assembly compute without packing patches.
	maxFewOutputs = 2
	// maxDirectOutputs is the greatest number of outputs of a one-channel group that are computed without a matrix product.
	maxDirectOutputs = 4
)

// hasFewOutputs reports whether a group has too few outputs to repay the packing of patches.
func (p *Plan) hasFewOutputs() bool {
	return p.outputs/p.groups <= maxFewOutputs && p.taps > 0 && p.channels/p.groups > 0
}

// hasSingleInputs reports whether a group has one input and so few outputs
// that they are computed without a matrix product.
func (p *Plan) hasSingleInputs() bool {
	return p.channels/p.groups == 1 && p.outputs/p.groups <= maxDirectOutputs && p.taps > 0
}

func (directTaps[T]) fits(p *Plan) bool {
	return p.hasSingleInputs() || p.hasFewOutputs() && isFloat32[T]() && vector.Has() && p.lastAxis().advance == 1
}

func (directTaps[T]) pack(_ *par.Pool, _ *Plan, w []T, _ use) prepared[T] {
	return &directWeights[T]{w: w}
}

// directWeights contains unpacked weights.
type directWeights[T micro.Number] struct {
	total
	w []T
}

func (w *directWeights[T]) elements() int { return len(w.w) }

func (w *directWeights[T]) run(r *run[T]) bool {
	p, threads := r.plan, r.pool.Threads()
	if p.batch*p.outputs >= 4*threads || threads == 1 {
		r.byOutput = w
		r.pool.For(p.batch*p.outputs, minDirectWork()/max(p.outSize*p.depth(), 1)+1, r.outputsLoop)
	} else {
		r.eachGroup(w)
	}
	return true
}

// outputs computes output channels lo to hi. Channel i is channel i%outputs of image i/outputs.
func (r *run[T]) outputs(lo, hi int) {
	p := r.plan
	in := takeInput[T](p)
	perGroup, held := p.outputs/p.groups, -1
	for i := lo; i < hi; i++ {
		if group := i / perGroup; group != held {
			held = group
			in.set(r.groupInput(group))
		}
		r.byOutput.channel(r, in.source(), i, 0, p.lines())
	}
	giveInput(in, r.single)
}

// group computes the outputs of a group one after the other, each on all threads.
func (w *directWeights[T]) group(r *run[T], in *input[T], image, group int) {
	p := r.plan
	lines := p.lines()
	grain := minDirectWork()/max(p.outSize/lines*p.depth(), 1) + 1
	first := image*p.outputs + group*(p.outputs/p.groups)
	for o := range p.outputs / p.groups {
		r.pool.For(lines, grain, func(lo, hi int) { w.channel(r, in.source(), first+o, lo, hi) })
	}
}

// lines returns the number of lines of an output channel, which are the units of work that threads share.
func (p *Plan) lines() int { return p.axes[0].out }

// channel computes lines lo to hi of output channel i (see outputs) from the
// padded inputs of its group.
func (w *directWeights[T]) channel(r *run[T], src []T, i, lo, hi int) {
	p := r.plan
	size := p.outSize / p.lines()
	out := r.out[i*p.outSize:][lo*size : hi*size]
	channel := i % p.outputs
	weights := w.w[channel*p.depth():][:p.depth()]
	if vector.Has() && p.lastAxis().advance == 1 {
		if out, ok := any(out).([]float32); ok {
			p.runVectors(out, any(src).([]float32), any(weights).([]float32), any(r.epilogue).(*micro.Epilogue[float32]), channel, lo)
			return
		}
	}
	runRows(p, out, src, weights, lo)
	if e := r.epilogue.Rows(channel); e != nil {
		e.Apply(out, len(out), 1, len(out))
	}
}

// planeRows is the number of rows that vector.Plane computes at a time.
const planeRows = 4

// runVectors computes an output channel, beginning at line lo, in assembly.
func (p *Plan) runVectors(out, src, weights []float32, e *micro.Epilogue[float32], channel, lo int) {
	bias, least, most := float32(0), float32(math.Inf(-1)), float32(math.Inf(1))
	if e != nil {
		if e.BiasRow != nil {
			bias = e.BiasRow[channel]
		}
		if e.HasClamp {
			least, most = e.Lo, e.Hi
		}
	}
	if size, stride := p.square(); size > 0 && vector.HasPlane(size, stride) {
		p.eachPlane(out, src, lo, func(r vector.Rows, dst, src []float32) {
			if r.Count < planeRows {
				vector.Taps(r, dst, src, p.offsets, weights, bias, least, most)
				return
			}
			// The last planeRows rows are computed first, and some of them again below: a loop over single rows takes longer.
			if rest := r.Count % planeRows; rest > 0 && r.Count > planeRows {
				tail, at := r, r.Count-planeRows
				r.Count, tail.Count = r.Count-rest, planeRows
				vector.Plane(tail, size, stride, dst[at*r.DstStep:], src[at*r.SrcStep:], p.offsets[:size], weights, bias, least, most)
			}
			vector.Plane(r, size, stride, dst, src, p.offsets[:size], weights, bias, least, most)
		})
		return
	}
	p.eachPlane(out, src, lo, func(r vector.Rows, dst, src []float32) {
		vector.Taps(r, dst, src, p.offsets, weights, bias, least, most)
	})
}

// square returns the side of a square kernel over the last two axes on one input channel whose rows are contiguous, and the stride of the
// rows. It returns zeros for other kernels.
func (p *Plan) square() (size, stride int) {
	rank := len(p.axes)
	if rank < 2 || p.channels != p.groups {
		return 0, 0
	}
	y, x := &p.axes[rank-2], &p.axes[rank-1]
	if y.kernel != x.kernel || p.taps != x.kernel*x.kernel || y.kernelDilation != 1 || y.phases > 0 {
		return 0, 0
	}
	return x.kernel, y.stride
}

// eachPlane calls f for each plane that the last two axes of an output form, beginning at line lo.
func (p *Plan) eachPlane(out, src []float32, lo int, f func(r vector.Rows, dst, src []float32)) {
	rank := len(p.axes)
	cols := p.axes[rank-1].out
	rows := vector.Rows{Count: 1, Cols: cols, DstStep: cols}
	switch {
	case rank == 1:
		rows.Cols = len(out)
	case rank == 2:
		rows.Count, rows.SrcStep = len(out)/cols, p.axes[0].advance
	default:
		rows.Count, rows.SrcStep = p.axes[rank-2].out, p.axes[rank-2].advance
	}
	at := p.cursor(lo * (p.outSize / p.lines()))
	for len(out) > 0 {
		f(rows, out, src[at.offset:])
		out = out[rows.Count*rows.Cols:]
		for y := 0; y < rows.Count && len(out) > 0; y++ {
			at.skip(cols)
		}
	}
}

// runRows computes an output, beginning at line lo, row by row of the last axis. One pass over the output row adds one tap or three.
func runRows[T micro.Number](p *Plan, out, src, weights []T, lo int) {
	last := p.lastAxis()
	at := p.cursor(lo * (p.outSize / p.lines()))
	step := last.advance
	for len(out) > 0 {
		row := out[:min(last.out, len(out))]
		clear(row)
		from, w, offsets := src[at.offset:], weights, p.offsets
		for ; len(w) >= 3; w, offsets = w[3:], offsets[3:] {
			taps3(row, from[offsets[0]:], from[offsets[1]:], from[offsets[2]:], w[0], w[1], w[2], step)
		}
		for i, v := range w {
			tap(row, from[offsets[i]:], v, step)
		}
		out = out[len(row):]
		at.skip(len(row))
	}
}

func taps3[T micro.Number](row, a, b, c []T, u, v, w T, step int) {
	if step == 1 {
		a, b, c = a[:len(row)], b[:len(row)], c[:len(row)]
		for i := range row {
			row[i] += u*a[i] + v*b[i] + w*c[i]
		}
		return
	}
	j := 0
	for i := range row {
		row[i] += u*a[j] + v*b[j] + w*c[j]
		j += step
	}
}

func tap[T micro.Number](row, from []T, w T, step int) {
	if step == 1 {
		from = from[:len(row)]
		for i := range row {
			row[i] += w * from[i]
		}
		return
	}
	j := 0
	for i := range row {
		row[i] += w * from[j]
		j += step
	}
}
