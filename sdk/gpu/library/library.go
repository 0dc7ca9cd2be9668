// Package library has what the vendors' libraries of the cuda and rocm plugins share as implementations of gpu.Library, on devices of package
// streams: products by a library of the form of cuBLASLt, the form of a convolution that libraries take, handles for several goroutines, and
// the check of addresses. A candidate that refuses operands gives the next one its turn, and generated kernels the last; that rule is
// package gpu's.
//
// The package must know no vendor: numbers and names are the plugins'.
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

// None implements gpu.Library's methods without candidates. A library embeds it and has the methods that it serves.
type None struct{}

// Product implements gpu.Library.
func (None) Product(gpu.Product) ([]gpu.Candidate, error) { return nil, nil }

// Convolution implements gpu.Library.
func (None) Convolution(gpu.Convolution) ([]gpu.Candidate, error) { return nil, nil }

// Attention implements gpu.Library.
func (None) Attention(gpu.Attention) ([]gpu.Candidate, error) { return nil, nil }

// List are the libraries of a device that have handles, best first.
type List []interface {
	gpu.Library
	Close() error
}

// Libraries returns them for gpu.Device.
func (l List) Libraries() []gpu.Library {
	var all []gpu.Library
	for _, x := range l {
		all = append(all, x)
	}
	return all
}

// Close closes their handles on a device that nothing uses any more. A lost device has none.
func (l List) Close(d *streams.GPU) {
	_ = d.Do("close", func() error {
		var errs []error
		for _, x := range l {
			errs = append(errs, x.Close())
		}
		return errors.Join(errs...)
	})
}

// Refuse is the error of operands that a library does not take.
func Refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), vendor.ErrUnsupported)
}

// Aligned refuses operands whose addresses are no multiples of align(i) bytes.
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

// Lanes are handles of a library of which one goroutine at a time uses each: problems take milliseconds to prepare, and programs have many.
type Lanes[H Handle] struct {
	all  [lanes]Lane[H]
	next atomic.Uint32
}

// Lane is a handle, made by who locks the lane first. All that is made with a handle is used under the lane's lock.
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

// Close closes the handles that were made. Nobody uses them any more.
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
