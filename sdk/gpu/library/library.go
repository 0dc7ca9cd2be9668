// Package library holds the common parts of the implementations of gpu.Library in the cuda and rocm plugins, on devices of package streams:
// products by a library with the interface of cuBLASLt, the form of a convolution that libraries accept, handles for several goroutines,
// and the check of addresses. If a candidate refuses operands, package gpu tries the next candidate, and generated kernels last.
//
// The package must know no vendor: numbers and names belong to the plugins.
package library

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// None implements the methods of gpu.Library without candidates. A library embeds it and defines the methods for which it has candidates.
type None struct{}

// Product implements gpu.Library.
func (None) Product(gpu.Product) ([]gpu.Candidate, error) { return nil, nil }

// Convolution implements gpu.Library.
func (None) Convolution(gpu.Convolution) ([]gpu.Candidate, error) { return nil, nil }

// Attention implements gpu.Library.
func (None) Attention(gpu.Attention) ([]gpu.Candidate, error) { return nil, nil }

// List holds the libraries of a device that have handles, best first.
type List []interface {
	gpu.Library
	Close() error
}

// Libraries returns the libraries for gpu.Device.
func (l List) Libraries() []gpu.Library {
	var all []gpu.Library
	for _, x := range l {
		all = append(all, x)
	}
	return all
}

// Close closes the handles of the libraries on a device that nothing uses any more. A lost device has no handles.
func (l List) Close(d *streams.GPU) {
	_ = d.Do("close", func() error {
		var errs []error
		for _, x := range l {
			errs = append(errs, x.Close())
		}
		return errors.Join(errs...)
	})
}

// Refuse returns the error for operands that a library does not accept.
func Refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), vendor.ErrUnsupported)
}

// Aligned returns an error if the address of an operand i is not a multiple of align(i) bytes.
func Aligned(library string, args []gpu.Ref, align func(i int) int) error {
	for i, r := range args {
		if at, n := streams.Address(r), align(i); at%streams.Ptr(n) != 0 {
			return Refuse("%s: operand %d at %#x, want a multiple of %d", library, i, uintptr(at), n)
		}
	}
	return nil
}

// Handle is a handle of a library, a pointer.
type Handle interface {
	comparable
	Close() error
}

const lanes = 6

// Lanes are handles of a library, each used by one goroutine at a time. Several handles are needed because a problem takes milliseconds to
// prepare, and programs have many problems.
type Lanes[H Handle] struct {
	all  [lanes]Lane[H]
	next atomic.Uint32
}

// Lane is a handle, created by the first caller that locks the lane. All objects created with a handle are used under the lane's lock.
type Lane[H Handle] struct {
	sync.Mutex
	Handle H
}

// Take locks a free lane, or waits for one. The caller unlocks it.
func (l *Lanes[H]) Take() *Lane[H] {
	for i := range l.all {
		if l.all[i].TryLock() {
			return &l.all[i]
		}
	}
	x := &l.all[l.next.Add(1)%lanes]
	x.Lock()
	return x
}

// Close closes the handles that were created. Nothing uses them any more.
func (l *Lanes[H]) Close() error {
	var none H
	var errs []error
	for i := range l.all {
		if h := l.all[i].Handle; h != none {
			errs = append(errs, h.Close())
		}
	}
	return errors.Join(errs...)
}
