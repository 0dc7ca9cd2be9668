package normal

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

const (
	// streamed is the size of a result in bytes from which on it is written with non-temporal stores.
	streamed = 16 << 20
	// maxBufferedLine is the greatest length of a line that is computed before it is written. minBuffered is the number of elements that
	// are computed before they are written, if lines are shorter.
	maxBufferedLine, minBuffered = 16 << 10, 4 << 10
)

type lineBuffer [maxBufferedLine]float32

var lineBuffers = sync.Pool{New: func() any { return new(lineBuffer) }}

// useNonTemporal reports whether lines of n elements of out, the first output of c, are to be written with non-temporal stores.
func useNonTemporal(c *kernel.Call, out kernel.Array, n int) bool {
	if out.Buf.Size() < streamed || n > maxBufferedLine || !vector.Has() {
		return false
	}
	for i := range c.In {
		if c.In[i].Buf == out.Buf {
			return false
		}
	}
	return true
}

// streamLines computes lines of n elements from the lines of x, in groups, and writes them with non-temporal stores. f computes the lines
// that begin at element at. Meanwhile, the operands of the next group are prefetched.
func streamLines(y, x []float32, n int, f func(d []float32, at int)) {
	s := lineBuffers.Get().(*lineBuffer)
	size := max(1, minBuffered/n) * n
	for at := 0; at < len(y); at += size {
		d := s[:min(size, len(y)-at)]
		f(d, at)
		to, done := kernel.Bytes(y[at:at+len(d)]), kernel.Bytes(d)
		if next := at + len(d); next < len(y) && vector.CanStream(to) {
			from := unsafe.Pointer(&x[next])
			vector.StreamAhead(to, done, from, from)
			continue
		}
		vector.Stream(to, done)
	}
	vector.Fence()
	lineBuffers.Put(s)
}
