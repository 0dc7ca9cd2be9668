// Package requantize contains the epilogue of integer sums: it scales them to floats, and may clamp and quantize these to bytes. Packages
// contraction and byteconv apply it to the products of package quantized. The epilogue must not depend on shapes: callers pass the channel
// of a row.
package requantize

import (
	"math"
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Epilogue is applied to integer sums. It computes s·Scale+Bias in f32, rounding after each step, and clamps to [Lo, Hi]
// if Clamp is set. If Quantize is set, it then divides by Step, rounds to even, adds the zero point Zero, and saturates to
// [Min, Max].
type Epilogue struct {
	Scale, Bias []float32 // one element, or one per channel; Bias may be nil
	Clamp       bool
	Lo, Hi      float32

	Quantize   bool
	Step, Zero float32
	Min, Max   float32
}

// block is the number of elements that pass through all steps together, so that they stay in the L1 cache.
const block = 1024

var blocks = sync.Pool{New: func() any { return new([block]float32) }}

// Grain is the least number of sums for which another thread is used.
const Grain = 1 << 14

// Output is the destination of results: bytes if they are quantized, else floats.
type Output struct {
	Bytes  []byte
	Floats []float32
}

// Output returns the elements of a, a contiguous array of results.
func (e *Epilogue) Output(a kernel.Array) Output {
	if e.Quantize {
		return Output{Bytes: kernel.Flat[byte](a)}
	}
	return Output{Floats: kernel.Flat[float32](a)}
}

// perChannel returns the element for channel i of v, which has one element for all channels or one for each.
func perChannel(v []float32, i int) float32 {
	if len(v) == 1 {
		return v[0]
	}
	return v[i]
}

// Row applies the epilogue to sums of one channel and stores the results, beginning at element number at.
func (e *Epilogue) Row(to Output, at int, sums []int32, channel int) {
	scale, bias := perChannel(e.Scale, channel), float32(0)
	if e.Bias != nil {
		bias = perChannel(e.Bias, channel)
	}
	buffer := blocks.Get().(*[block]float32)
	defer blocks.Put(buffer)
	for len(sums) > 0 {
		n := min(len(sums), block)
		v := buffer[:n]
		fromInts(v, sums[:n])
		if vector.Has() {
			vector.Mul().To(v, v, scale)
			if e.Bias != nil {
				vector.Add().To(v, v, bias)
			}
		} else {
			for i := range v {
				v[i] *= scale
			}
			if e.Bias != nil {
				for i := range v {
					v[i] += bias
				}
			}
		}
		e.store(to, at, v)
		sums, at = sums[n:], at+n
	}
}

// Columns applies the epilogue to a row of sums, one for each channel.
func (e *Epilogue) Columns(to Output, at int, sums []int32) {
	if len(e.Scale) == 1 && len(e.Bias) <= 1 {
		e.Row(to, at, sums, 0)
		return
	}
	buffer := blocks.Get().(*[block]float32)
	defer blocks.Put(buffer)
	for j := 0; j < len(sums); j += block {
		n := min(len(sums)-j, block)
		v := buffer[:n]
		fromInts(v, sums[j:j+n])
		e.perColumn(v, e.Scale, j, vector.Has() && len(e.Scale) > 1, true)
		if e.Bias != nil {
			e.perColumn(v, e.Bias, j, vector.Has() && len(e.Bias) > 1, false)
		}
		e.store(to, at+j, v)
	}
}

// perColumn multiplies v by elements of by, or adds them. by has one element for all columns, or one for each; the first element of v is in
// column j.
func (e *Epilogue) perColumn(v, by []float32, j int, fast, multiply bool) {
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

// store clamps and quantizes v as e says, and writes the results to the output to, beginning at element number at. It overwrites v.
func (e *Epilogue) store(to Output, at int, v []float32) {
	if e.Clamp {
		if vector.Has() {
			vector.Clamp(v, v, e.Lo, e.Hi)
		} else {
			for i := range v {
				v[i] = min(max(v[i], e.Lo), e.Hi)
			}
		}
	}
	if !e.Quantize {
		copy(to.Floats[at:], v)
		return
	}
	d := to.Bytes[at : at+len(v)]
	for i := vector.Quantize(d, v, e.Step, e.Zero, e.Min, e.Max); i < len(d); i++ {
		q := float32(math.RoundToEven(float64(v[i] / e.Step)))
		if q != q {
			q = 0
		}
		d[i] = byte(int32(min(max(q+e.Zero, e.Min), e.Max)))
	}
}
