package wire

import (
	"fmt"
	"math/bits"
	"runtime/debug"

	"github.com/goburn/burn/core"
)

// SharedAt is the size in bytes from which tensors go through segments.
const SharedAt = MaxInline + 1

// SegmentCapacity returns the size of the segment for n bytes: one of eight sizes per power of two, so that segments can be reused.
func SegmentCapacity(n int) int {
	const page = 4096
	step := max(page, 1<<max(0, bits.Len(uint(n-1))-4))
	return (n + step - 1) / step * step
}

// Touch runs f, which reads or writes shared memory, and turns a memory fault into an ErrProtocol.
func Touch(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if fault, ok := p.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("shared memory: %w: fault at 0x%x", core.ErrProtocol, fault.Addr())
				return
			}
			panic(p)
		}
	}()
	f()
	return nil
}
