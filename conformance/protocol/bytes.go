package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The commands and replies of section 4.
const (
	cmdOpen, cmdNode, cmdFree, cmdWrite, cmdBeginWrite, cmdChunk, cmdRead, cmdSignal, cmdCancel = 1, 2, 3, 4, 5, 6, 7, 8, 9
	cmdDefine, cmdRun, cmdWait, cmdAwait, cmdSegment, cmdRetire, cmdWriteShared, cmdReadShared  = 10, 11, 12, 13, 14, 15, 16, 17

	replyOpened, replyData, replyDone, replyFail, replyKept, replyPart, replyRelease = 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87
)

// The limits of section 4.
const (
	maxFrame  = 4194304
	chunkSize = 1048576
	maxInline = 65536
	maxName   = 256
	maxText   = 65536
	maxNames  = 65536
	maxAttrs  = 256
	maxDepth  = 8
	maxBlamed = 64
	maxEvents = 65536
	tokenSize = 32
)

// elements contains the sizes of the element types in bytes, by number.
var elements = [...]int{0, 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}

const f32 = 2

// tensor is an id with a type.
type tensor struct {
	id    uint64
	elem  byte
	shape []uint64
}

func (d tensor) bytes() uint64 {
	n := uint64(elements[d.elem])
	for _, s := range d.shape {
		n *= s
	}
	return n
}

// frame builds a frame. Its methods append to it and return it.
type frame struct {
	b    []byte
	last uint64 // the last id; the next one is encoded as its difference to it
}

func (f *frame) byte(b ...byte) *frame { f.b = append(f.b, b...); return f }

func (f *frame) uint(n ...uint64) *frame {
	for _, v := range n {
		f.b = binary.AppendUvarint(f.b, v)
	}
	return f
}

func (f *frame) int(n int64) *frame { return f.uint(uint64(n)<<1 ^ uint64(n>>63)) }

func (f *frame) text(s string) *frame {
	f.uint(uint64(len(s)))
	f.b = append(f.b, s...)
	return f
}

func (f *frame) id(id uint64) *frame {
	f.int(int64(id - f.last))
	f.last = id
	return f
}

func (f *frame) ids(ids ...uint64) *frame {
	f.uint(uint64(len(ids)))
	for _, id := range ids {
		f.id(id)
	}
	return f
}

func (f *frame) typ(d tensor) *frame { return f.byte(d.elem, byte(len(d.shape))).uint(d.shape...) }

func (f *frame) tensor(d tensor) *frame { return f.id(d.id).typ(d) }

// node appends a node with one new op name, without attributes.
func (f *frame) node(op string, version uint64, in []uint64, drop uint64, out ...tensor) *frame {
	f.byte(cmdNode, 0).text(op).uint(version)
	return f.operands(in, drop, out...).uint(0)
}

// again appends a node of the op that already has that number on the stream.
func (f *frame) again(number uint64, in []uint64, drop uint64, out ...tensor) *frame {
	return f.byte(cmdNode).uint(number).operands(in, drop, out...).uint(0)
}

func (f *frame) operands(in []uint64, drop uint64, out ...tensor) *frame {
	f.ids(in...).uint(drop).uint(uint64(len(out)))
	for _, d := range out {
		f.tensor(d)
	}
	return f
}

func (f *frame) free(ids ...uint64) *frame { return f.byte(cmdFree).ids(ids...) }
func (f *frame) write(d tensor, data []byte) *frame {
	return f.byte(cmdWrite).tensor(d).byte(data...)
}
func (f *frame) beginWrite(request uint64, d tensor) *frame {
	return f.byte(cmdBeginWrite).uint(request).tensor(d)
}
func (f *frame) chunk(request uint64, data []byte) *frame {
	return f.byte(cmdChunk).uint(request).byte(data...)
}
func (f *frame) read(request, id, size uint64) *frame {
	return f.byte(cmdRead).uint(request).id(id).uint(size)
}
func (f *frame) signal() *frame                     { return f.byte(cmdSignal) }
func (f *frame) cancel(request uint64) *frame       { return f.byte(cmdCancel).uint(request) }
func (f *frame) wait(stream, event uint64) *frame   { return f.byte(cmdWait).uint(stream, event) }
func (f *frame) await(request, event uint64) *frame { return f.byte(cmdAwait).uint(request, event) }

// floats returns values as the bytes of a tensor.
func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// reader decodes bytes that a plugin sent. err keeps the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fault(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.b = nil
	}
}

func (r *reader) byte() byte {
	b := r.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fault("it ends %d bytes too early", n-uint64(len(r.b)))
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fault("a number is cut off or has more than ten bytes")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	u := r.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) text(most uint64) string {
	n := r.uint()
	if n > most {
		r.fault("a text of %d bytes, at most %d", n, most)
		return ""
	}
	return string(r.take(n))
}
