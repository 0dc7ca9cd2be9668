package elementwise

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// streamed is the size in bytes from which on a result is written with non-temporal stores: the caches would evict it before it is read,
// and ordinary stores first read the memory that they overwrite.
const streamed = 16 << 20

// streams reports whether out, the first output of c, is written with non-temporal stores. A result that overwrites an operand is not,
// because the operand is already in the caches.
func streams(c *kernel.Call, out kernel.Array) bool {
	if out.Buf.Size() < streamed || !vector.Has() {
		return false
	}
	for i := range c.In {
		if c.In[i].Buf == out.Buf {
			return false
		}
	}
	return true
}

// streamBuffer is a buffer for results before they are written with non-temporal stores.
type streamBuffer [1024]uint64

var streamBuffers = sync.Pool{New: func() any { return new(streamBuffer) }}

// source describes the one or two operands that are prefetched while a result is computed. from and other point to their first
// elements; other is nil for a single operand. size and bytes are the sizes of an element and of an operand, in bytes.
type source struct {
	from, other unsafe.Pointer
	size, bytes int
}

// source1 returns the source of one operand, source2 of two.
func source1[T any](x []T) source {
	var z T
	size := int(unsafe.Sizeof(z))
	return source{from: unsafe.Pointer(unsafe.SliceData(x)), size: size, bytes: len(x) * size}
}

func source2[T any](a, b []T) source {
	s := source1(a)
	s.other = unsafe.Pointer(unsafe.SliceData(b))
	return s
}

// at returns two addresses from which to prefetch n bytes each, before n bytes of the result are computed from element i on. Both are
// inside the operands, because the garbage collector aborts a program that holds a pointer to memory which was not allocated.
func (s *source) at(i, n int) (a, b unsafe.Pointer) {
	a = unsafe.Add(s.from, i*s.size)
	switch {
	case s.other != nil:
		return a, unsafe.Add(s.other, i*s.size)
	case i*s.size+n < s.bytes:
		return a, unsafe.Add(a, n) // the rest of a wider operand, or the elements after it
	}
	return a, a
}

// stream computes y in parts: f computes the elements from index at on. While a part is written, the operands of the next one are
// prefetched.
func stream[R any](y []R, f func(d []R, at int), from source) {
	s := streamBuffers.Get().(*streamBuffer)
	buffer := kernel.Cast[R](kernel.Bytes(s[:]))
	for at := 0; at < len(y); at += len(buffer) {
		d := buffer[:min(len(buffer), len(y)-at)]
		f(d, at)
		to, done := kernel.Bytes(y[at:at+len(d)]), kernel.Bytes(d)
		if next := at + len(d); next < len(y) && vector.CanStream(to) {
			a, b := from.at(next, len(to))
			vector.StreamAhead(to, done, a, b)
			continue
		}
		vector.Stream(to, done)
	}
	vector.Fence()
	streamBuffers.Put(s)
}
