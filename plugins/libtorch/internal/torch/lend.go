package torch

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// loans contains the host memory that tensors use, by a number that torch passes to deleter.
var loans = struct {
	sync.Mutex
	last uintptr
	open map[uintptr]loan
}{open: map[uintptr]loan{}}

// loan keeps data alive while torch uses it. release is called afterwards.
type loan struct {
	data    []byte
	release func()
}

// deleter is the C function that torch calls when nothing uses lent memory any more.
var deleter = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(_, number uintptr) uintptr {
		loans.Lock()
		l := loans.open[number]
		delete(loans.open, number)
		loans.Unlock()
		if l.release != nil {
			l.release()
		}
		return 0
	})
})

// Lend returns a tensor of the cpu that uses the memory data, in row-major order. release is called once, on any thread, after the tensor
// and all of its views were deleted; it is not called if Lend returns an error. Lend returns ErrMissing if torch does not report the
// deletion, or if data is empty or not aligned.
func (l *Library) Lend(data []byte, shape []int, d Type, size int, release func()) (Handle, error) {
	if !l.Adopts() || len(data) == 0 || uintptr(unsafe.Pointer(&data[0]))%uintptr(size) != 0 {
		return 0, fmt.Errorf("%w: memory that torch cannot borrow: it is empty, not aligned, or torch has no function for it", ErrMissing)
	}
	n := len(shape)
	dims := make([]int64, 2*n+1)
	stride := int64(1)
	for i := n - 1; i >= 0; i-- {
		dims[i], dims[n+i] = int64(shape[i]), stride
		stride *= int64(max(shape[i], 1))
	}
	loans.Lock()
	loans.last++
	number := loans.last
	loans.open[number] = loan{data, release}
	loans.Unlock()
	h := new(uintptr)
	none := ^uintptr(0) // the index of the cpu, -1
	r, _, _ := purego.SyscallN(l.procs.BlobDeleter, uintptr(unsafe.Pointer(&data[0])), uintptr(n), uintptr(unsafe.Pointer(&dims[0])),
		uintptr(unsafe.Pointer(&dims[n])), 0, uintptr(d), uintptr(CPU), none, uintptr(unsafe.Pointer(h)), 0, 0, 0, deleter(), number)
	if int32(r) != 0 {
		loans.Lock()
		delete(loans.open, number)
		loans.Unlock()
		return 0, fmt.Errorf("%w: torch refuses this memory", ErrMissing)
	}
	return Handle(*h), nil
}
