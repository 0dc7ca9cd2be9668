package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// Frame is one message of a stream. A received Frame must be freed once; a sent Frame belongs to the transport.
type Frame struct {
	parts mem.BufferSlice
}

// Len returns the length in bytes.
func (f *Frame) Len() int { return f.parts.Len() }

// Free releases the memory.
func (f *Frame) Free() {
	f.parts.Free()
	f.parts = nil
}

// Bytes calls use with the content, which is only valid during the call.
func (f *Frame) Bytes(use func([]byte) error) error {
	if len(f.parts) == 1 {
		return use(f.parts[0].ReadOnlyData())
	}
	b := f.parts.MaterializeToBuffer(framePool)
	defer b.Free()
	return use(b.ReadOnlyData())
}

// peek copies up to len(dst) leading bytes.
func (f *Frame) peek(dst []byte) []byte {
	n := 0
	for _, p := range f.parts {
		n += copy(dst[n:], p.ReadOnlyData())
		if n == len(dst) {
			break
		}
	}
	return dst[:n]
}

// copyFrom copies the content from offset on to dst, which must have room for it.
func (f *Frame) copyFrom(offset int, dst []byte) {
	n := 0
	for _, p := range f.parts {
		b := p.ReadOnlyData()
		if offset >= len(b) {
			offset -= len(b)
			continue
		}
		n += copy(dst[n:], b[offset:])
		offset = 0
	}
}

// NewFrame returns a frame of a copy of content.
func NewFrame(content []byte) *Frame {
	buf := framePool.Get(len(content))
	copy(*buf, content)
	return &Frame{parts: mem.BufferSlice{mem.NewBuffer(buf, framePool)}}
}

// pool keeps the buffers of frames in two sizes: batches, and chunks of data.
type pool struct {
	small, large sync.Pool
}

const batchCapacity = 64 << 10

var framePool = &pool{}

// Get returns a buffer of n bytes. Its content is arbitrary.
func (p *pool) Get(n int) *[]byte {
	var b *[]byte
	switch {
	case n <= batchCapacity:
		if b, _ = p.small.Get().(*[]byte); b == nil {
			s := make([]byte, batchCapacity)
			b = &s
		}
	case n <= ChunkSize:
		if b, _ = p.large.Get().(*[]byte); b == nil {
			s := make([]byte, ChunkSize)
			b = &s
		}
	default:
		s := make([]byte, n)
		return &s
	}
	*b = (*b)[:n]
	return b
}

// Put returns a buffer to the pool, if it has one of the two sizes.
func (p *pool) Put(b *[]byte) {
	switch cap(*b) {
	case batchCapacity:
		p.small.Put(b)
	case ChunkSize:
		p.large.Put(b)
	}
}

// Buffer is memory for tensor data that is sent without a copy. Frames of DataFrame refer to it. The memory returns to its pool after the
// last of these frames was sent and Free was called.
type Buffer struct {
	data []byte
	root mem.Buffer
}

// NewBuffer returns n bytes of arbitrary content.
func NewBuffer(n int) *Buffer {
	b := bulkPool.Get(n)
	return &Buffer{data: *b, root: mem.NewBuffer(b, bulkPool)}
}

// Data returns the memory. It must not be written to after the first frame refers to it.
func (b *Buffer) Data() []byte { return b.data }

// Free releases the Buffer.
func (b *Buffer) Free() { b.root.Free() }

// bulk keeps one large buffer, because downloads of the same size tend to repeat.
type bulk struct{ sync.Pool }

var bulkPool = &bulk{}

func (p *bulk) Get(n int) *[]byte {
	if b, _ := p.Pool.Get().(*[]byte); b != nil {
		if cap(*b) >= n && cap(*b) <= 4*n+ChunkSize {
			*b = (*b)[:n]
			return b
		}
	}
	s := make([]byte, n)
	return &s
}

func (p *bulk) Put(b *[]byte) { p.Pool.Put(b) }
