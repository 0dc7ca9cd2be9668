package dtype

import (
	"encoding/binary"
	"math"
)

// AnyFloats are the types that FloatAt reads: floats of every width.
var AnyFloats = Floats | SmallFloats

// FloatAt returns element i of data, little-endian elements of d, which is one of AnyFloats.
func FloatAt(d DType, data []byte, i int) float64 {
	b := data[i*d.Size():]
	switch d {
	case F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case F16:
		return float64(Float16(binary.LittleEndian.Uint16(b)).Float32())
	case BF16:
		return float64(BFloat16(binary.LittleEndian.Uint16(b)).Float32())
	}
	var v [1]float32
	FromSmall(d, b[:1], v[:])
	return float64(v[0])
}
