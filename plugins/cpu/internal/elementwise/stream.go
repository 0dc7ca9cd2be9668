package elementwise

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// streamed is the bytes of a result from which it is written past the caches, which would not hold it until it is read,
// and which would read from memory what is overwritten.
const streamed = 16 << 20

// streams reports whether out, the first output of c, is to be written past the caches. What is computed in place lies
// in them already.
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

// sheet is room for what is computed before it is written past the caches.
type sheet [1024]uint64

var sheets = sync.Pool{New: func() any { return new(sheet) }}

// source is what a part of a result is computed from: its first element, the bytes that an element of the result takes from it,
// and another operand, or nil, of the same element size.
type source struct {
	from, other unsafe.Pointer
	size        int
}

// source1 is the source of one operand, source2 that of two.
func source1[T any](x []T) source {
	var z T
	return source{from: unsafe.Pointer(unsafe.SliceData(x)), size: int(unsafe.Sizeof(z))}
}

func source2[T any](a, b []T) source {
	s := source1(a)
	s.other = unsafe.Pointer(unsafe.SliceData(b))
	return s
}

// at is where the elements for n bytes of the result from element i on begin: two places, of as many bytes each.
func (s *source) at(i, n int) (a, b unsafe.Pointer) {
	a = unsafe.Add(s.from, i*s.size)
	if s.other == nil {
		return a, unsafe.Add(a, n) // the rest of a wider operand, or what comes next
	}
	return a, unsafe.Add(s.other, i*s.size)
}

// stream computes y part by part: f computes the elements from at on. What the next part is computed from is fetched while one is
// written.
func stream[R any](y []R, f func(d []R, at int), from source) {
	s := sheets.Get().(*sheet)
	room := kernel.Cast[R](kernel.Bytes(s[:]))
	for at := 0; at < len(y); at += len(room) {
		d := room[:min(len(room), len(y)-at)]
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
	sheets.Put(s)
}
