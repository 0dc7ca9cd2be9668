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

// stream computes y part by part: f computes the elements from at on. The elements that f reads for y[i] are element i from each of
// from on, two at most; those of the next part are fetched while one is written.
func stream[R any](y []R, f func(d []R, at int), from ...unsafe.Pointer) {
	s := sheets.Get().(*sheet)
	room := kernel.Cast[R](kernel.Bytes(s[:]))
	for at := 0; at < len(y); at += len(room) {
		d := room[:min(len(room), len(y)-at)]
		f(d, at)
		to, done := kernel.Bytes(y[at:at+len(d)]), kernel.Bytes(d)
		if next := at + len(d); len(from) > 0 && next < len(y) && vector.CanStream(to) {
			ahead := next * int(unsafe.Sizeof(d[0]))
			vector.StreamAhead(to, done, unsafe.Add(from[0], ahead), unsafe.Add(from[len(from)-1], ahead))
			continue
		}
		vector.Stream(to, done)
	}
	vector.Fence()
	sheets.Put(s)
}

// begins is where a part of a slice begins.
func begins[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
