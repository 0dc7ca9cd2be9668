package elementwise

import (
	"sync"

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
type sheet [2048]uint64

var sheets = sync.Pool{New: func() any { return new(sheet) }}

// stream computes y part by part: f computes the elements from at on.
func stream[R any](y []R, f func(d []R, at int)) {
	s := sheets.Get().(*sheet)
	room := kernel.Cast[R](kernel.Bytes(s[:]))
	for at := 0; at < len(y); at += len(room) {
		d := room[:min(len(room), len(y)-at)]
		f(d, at)
		vector.Stream(kernel.Bytes(y[at:at+len(d)]), kernel.Bytes(d))
	}
	sheets.Put(s)
}
