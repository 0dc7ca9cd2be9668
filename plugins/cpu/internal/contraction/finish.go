package contraction

import (
	"math"
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Finish is the epilogue of integer sums. It computes s·Scale+Bias in f32, rounding after each step, and clamps to [Lo, Hi]
// if Clamp is set. If Quantize is set, it then divides by Step, rounds to even, adds the zero point Zero, and saturates to
// [Least, Most].
type Finish struct {
	Scale, Bias []float32 // one element, or one per channel; Bias may be nil
	Clamp       bool
	Lo, Hi      float32

	Quantize    bool
	Step, Zero  float32
	Least, Most float32
}

// finishBlock is the number of elements that pass through all steps together, so that they stay in the L1 cache.
const finishBlock = 1024

var finishRoom = sync.Pool{New: func() any { return new([finishBlock]float32) }}

// outcome is the destination of results: bytes if they are quantized, else floats.
type outcome struct {
	bytes  []byte
	floats []float32
}

func (f *Finish) outcome(a kernel.Array) outcome {
	if f.Quantize {
		return outcome{bytes: kernel.Flat[byte](a)}
	}
	return outcome{floats: kernel.Flat[float32](a)}
}

// perChannel returns the element for channel i of a slice that has one element for all channels, or one each.
func perChannel(v []float32, i int) float32 {
	if len(v) == 1 {
		return v[0]
	}
	return v[i]
}

// row applies the epilogue to sums of one channel and stores the results from element at on.
func (f *Finish) row(to outcome, at int, sums []int32, channel int) {
	scale, bias := perChannel(f.Scale, channel), float32(0)
	if f.Bias != nil {
		bias = perChannel(f.Bias, channel)
	}
	room := finishRoom.Get().(*[finishBlock]float32)
	defer finishRoom.Put(room)
	for len(sums) > 0 {
		n := min(len(sums), finishBlock)
		v := room[:n]
		fromInts(v, sums[:n])
		if vector.Has() {
			vector.Mul().To(v, v, scale)
			if f.Bias != nil {
				vector.Add().To(v, v, bias)
			}
		} else {
			for i := range v {
				v[i] *= scale
			}
			if f.Bias != nil {
				for i := range v {
					v[i] += bias
				}
			}
		}
		f.end(to, at, v)
		sums, at = sums[n:], at+n
	}
}

// columns finishes a row of sums, each of a channel of its own.
func (f *Finish) columns(to outcome, at int, sums []int32) {
	if len(f.Scale) == 1 && len(f.Bias) <= 1 {
		f.row(to, at, sums, 0)
		return
	}
	room := finishRoom.Get().(*[finishBlock]float32)
	defer finishRoom.Put(room)
	for j := 0; j < len(sums); j += finishBlock {
		n := min(len(sums)-j, finishBlock)
		v := room[:n]
		fromInts(v, sums[j:j+n])
		f.each(v, f.Scale, j, vector.Has() && len(f.Scale) > 1, true)
		if f.Bias != nil {
			f.each(v, f.Bias, j, vector.Has() && len(f.Bias) > 1, false)
		}
		f.end(to, at+j, v)
	}
}

// each multiplies or adds elements from j on of one for all or one each.
func (f *Finish) each(v, by []float32, j int, fast, multiply bool) {
	switch {
	case fast && multiply:
		vector.Mul().Both(v, v, by[j:j+len(v)])
	case fast:
		vector.Add().Both(v, v, by[j:j+len(v)])
	case multiply:
		for i := range v {
			v[i] *= perChannel(by, j+i)
		}
	default:
		for i := range v {
			v[i] += perChannel(by, j+i)
		}
	}
}

func fromInts(v []float32, sums []int32) {
	for i := vector.FromI32(v, sums); i < len(v); i++ {
		v[i] = float32(sums[i])
	}
}

// end clamps and quantizes v.
func (f *Finish) end(to outcome, at int, v []float32) {
	if f.Clamp {
		if vector.Has() {
			vector.Clamp(v, v, f.Lo, f.Hi)
		} else {
			for i := range v {
				v[i] = min(max(v[i], f.Lo), f.Hi)
			}
		}
	}
	if !f.Quantize {
		copy(to.floats[at:], v)
		return
	}
	d := to.bytes[at : at+len(v)]
	for i := vector.Quantize(d, v, f.Step, f.Zero, f.Least, f.Most); i < len(d); i++ {
		q := float32(math.RoundToEven(float64(v[i] / f.Step)))
		if q != q {
			q = 0
		}
		d[i] = byte(int32(min(max(q+f.Zero, f.Least), f.Most)))
	}
}
