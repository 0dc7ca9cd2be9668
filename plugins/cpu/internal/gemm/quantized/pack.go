package quantized

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
)

// pack packs a matrix of lines x depth bytes into panels of units. It fills incomplete units at the end of the inner dimension, and missing
// lines of the last panel, with zeros.
func (kern *kernel) pack(dst []int32, src []byte, lines, lineStride, depth, depthStride, width int, signed, flip bool) {
	units := micro.CeilDiv(depth, kern.group)
	if rest := lines % width; rest != 0 {
		clear(dst[(lines-rest)*units:][:units*width])
	}
	x := unitPacker{kern: kern, signed: signed}
	if flip {
		x.flip = 0x80808080
	}
	for l := 0; l < lines; l += width {
		x.panel(dst[l*units:][:units*width], src[l*lineStride:], min(width, lines-l), lineStride, depth, depthStride, width)
	}
}

// unitPacker packs bytes into units.
type unitPacker struct {
	kern   *kernel
	signed bool
	flip   uint32 // of four bytes
}

// panel packs one panel.
func (x unitPacker) panel(dst []int32, src []byte, lines, lineStride, depth, depthStride, width int) {
	group, first := x.kern.group, 0
	whole, gatheredLines := depth/group, 0
	if depth > 0 && lineStride == 1 {
		_ = src[(depth-1)*depthStride+lines-1]
		flip := x.flip
		if group == 2 && x.signed {
			flip = 0x00800080
		}
		for ; first+gathered <= lines; first += gathered {
			if whole > 0 {
				x.kern.gather(whole, &src[first], depthStride, &dst[first], width, flip)
			}
		}
		gatheredLines = first
		if whole*group < depth && first > 0 {
			x.last(dst[whole*width:], src[whole*group*depthStride:], first, depth-whole*group, depthStride, width, flip)
		}
	}
	if whole > 0 && depthStride == 1 && group == 4 {
		if x.transpose(dst, src, lines, lineStride, whole, width) {
			first = lines
		}
		for ; first < lines; first++ {
			row, at := src[first*lineStride:][:whole*4], first
			for len(row) >= 4 {
				dst[at] = int32(binary.LittleEndian.Uint32(row) ^ x.flip)
				row = row[4:]
				at += width
			}
		}
	}
	if depthStride == 1 && group == 2 {
		for ; first < lines; first++ {
			x.words(dst[first:], src[first*lineStride:][:whole*2], width)
		}
	}
	for l := gatheredLines; l < lines; l++ {
		from := whole
		if l >= first {
			from = 0
		}
		for u := from; u*group < depth; u++ {
			var unit uint32
			for t := range min(group, depth-u*group) {
				b := src[l*lineStride+(u*group+t)*depthStride]
				switch {
				case group == 4:
					unit |= uint32(b^byte(x.flip)) << (8 * t)
				case x.signed:
					unit |= uint32(uint16(int8(b))) << (16 * t)
				default:
					unit |= uint32(b) << (16 * t)
				}
			}
			dst[u*width+l] = int32(unit)
		}
	}
}

// quarters contains idle workspaces for unitPacker.last.
var quarters = sync.Pool{New: func() any { return new([4 * gathered]byte) }}

// last packs the last, incomplete unit of each line, which has rows bytes. lines is a multiple of gathered.
func (x unitPacker) last(dst []int32, src []byte, lines, rows, row, width int, flip uint32) {
	held := quarters.Get().(*[4 * gathered]byte)
	for i := range held {
		held[i] = byte(x.flip) // flipped to zero
	}
	for l := 0; l < lines; l += gathered {
		for t := range rows {
			copy(held[t*gathered:][:gathered], src[t*row+l:])
		}
		x.kern.gather(1, &held[0], gathered, &dst[l:][:gathered][0], width, flip)
	}
	quarters.Put(held)
}

// words packs pairs of bytes of one line. The units are width apart.
func (x unitPacker) words(dst []int32, row []byte, width int) {
	at := 0
	if x.signed {
		for len(row) >= 2 {
			dst[at] = int32(uint32(uint16(int8(row[0]))) | uint32(int8(row[1]))<<16)
			row = row[2:]
			at += width
		}
		return
	}
	for len(row) >= 2 {
		dst[at] = int32(row[0]) | int32(row[1])<<16
		row = row[2:]
		at += width
	}
}

// transpose packs units of four adjacent elements. It does nothing and reports false if the kernel has no Transpose, or if there are several
// lines and lineStride is not a multiple of four.
func (x unitPacker) transpose(dst []int32, src []byte, lines, lineStride, units, width int) bool {
	turn := micro.Active[float32]().Transpose
	if turn == nil || lineStride%4 != 0 && lines > 1 {
		return false
	}
	_, _ = src[(lines-1)*lineStride+4*units-1], dst[(units-1)*width+lines-1]
	from := unsafe.Slice((*float32)(unsafe.Pointer(&src[0])), (lines-1)*(lineStride/4)+units)
	to := unsafe.Slice((*float32)(unsafe.Pointer(&dst[0])), len(dst))
	turn(to, from, lines, lineStride/4, units, width)
	if x.flip == 0 {
		return true
	}
	for u := range units {
		row := dst[u*width:][:lines]
		for l := range row {
			row[l] ^= int32(-0x7f7f7f80) // flips the sign bit of each byte
		}
	}
	return true
}
