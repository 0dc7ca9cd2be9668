package quantized

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Units is a right operand that is stored as units of Group bytes. Row u of
// units begins at Units[Starts[u]], and its columns are contiguous. The kernel
// may read UnitSlack units beyond the last column of a row. Padding bytes are
// zero in the left operand. They must also be zero in the right operand if the packed
// bytes of the left operand have a zero point other than zero, because columns
// are then summed.
type Units struct {
	Units  []int32
	Starts []int
	Flip   bool  // the bytes are offset by 128 (see FlipsB)
	Zero   int32 // the zero point of all bytes, without that offset
}

// UnitSlack is the number of units that may be read beyond the end of a row.
const UnitSlack = 32

// Group returns the number of bytes in a unit; CanMul must hold.
func Group() int { return active.group }

// FlipsB reports whether the bytes of a right operand are stored with an offset of 128.
func FlipsB(signed bool) bool { return active.group == 4 && !signed }

// UnitOf returns a unit of n bytes b, filled up with zeros.
func UnitOf(b byte, n int, signed bool) int32 {
	kern := active
	src, dst := make([]byte, n), make([]int32, 1)
	for i := range src {
		src[i] = b
	}
	kern.pack(dst, src, 1, 1, n, 1, 1, signed, FlipsB(signed))
	return dst[0]
}

// PackUnits packs units from up to Group rows of n bytes each; rows are stride bytes apart.
func PackUnits(dst []int32, src []byte, n, rows, stride int, signed bool) {
	active.pack(dst, src, n, 1, rows, stride, n, signed, FlipsB(signed))
}

// PackTaps packs the weights a of m outputs as a left operand; CanMul must hold. A tap is one position of a convolution kernel. The inner
// dimension is taps times channels, and the channels of each tap are padded to whole units. Element (i, c, t) of a is at
// [i*RowStride+c*taps+t].
func PackTaps(pool *par.Pool, m, channels, taps int, a Mat) *Packed {
	kern := active
	flip := kern.group == 4 && a.Signed
	padded := micro.CeilDiv(channels, kern.group) * kern.group
	channelsLast := make([]byte, m*taps*padded)
	if flip {
		for i := range channelsLast {
			channelsLast[i] = 0x80 // zero with the offset
		}
	}
	for i := range m {
		for c := range channels {
			for t := range taps {
				channelsLast[(i*taps+t)*padded+c] = a.Data[i*a.RowStride+c*taps+t]
			}
		}
	}
	whole := a
	whole.Data, whole.RowStride, whole.ColStride = channelsLast, taps*padded, 1
	p := PackA(pool, m, taps*padded, whole)
	p.depth = channels * taps
	return p
}

// fromUnits packs columns of B from units and computes their sums.
func (r *product) fromUnits(dst []int32, width, p0, p1, j0, j1 int) {
	u, depth := r.args.Units, p1-p0
	for j := j0; j < j1; j += width {
		to := dst[(j-j0)*depth:][:depth*width]
		for _, start := range u.Starts[p0:p1] {
			if width == 32 {
				*(*[32]int32)(to) = *(*[32]int32)(u.Units[start+j:])
			} else {
				copy(to[:width], u.Units[start+j:])
			}
			to = to[width:]
		}
	}
	r.sumColumns(dst, width, p0, p1, j0, j1)
}
