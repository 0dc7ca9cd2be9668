package commands

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/goburn/burn/core"
)

// What follows is for all hardware that executes batches of commands, package webgpu's too.

// Fault is the first fault of a device's commands. What came after it cannot be trusted: it ends the device. A lock of the device guards it.
type Fault struct{ first error }

// Keep keeps an error that is the first, as a core.ErrBackendLost, and returns the first fault.
func (f *Fault) Keep(err error) error {
	if err != nil && f.first == nil {
		if f.first = err; !errors.Is(err, core.ErrBackendLost) {
			f.first = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
		}
	}
	return f.first
}

// Close makes a device that has no fault core.ErrClosed.
func (f *Fault) Close(backend string) {
	if f.first == nil {
		f.first = fmt.Errorf("%s: the device: %w", backend, core.ErrClosed)
	}
}

// Finished reports whether a work that closes a channel at its end has ended.
func Finished(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

const minSpare = 12 // bits of the size of a spare buffer

// Spare are buffers that wait to be used again, by their size: powers of 2, from 4 KiB on.
type Spare[B any] map[int64][]B

// Take returns a buffer of n bytes or more with its size, made where none is spare.
func (s Spare[B]) Take(n int64, make func(size int64) (B, error)) (B, int64, error) {
	size := int64(1) << max(bits.Len64(uint64(n-1)), minSpare)
	if free := s[size]; len(free) > 0 {
		s[size] = free[:len(free)-1]
		return free[len(free)-1], size, nil
	}
	b, err := make(size)
	return b, size, err
}

// Give keeps a buffer of a size of Take.
func (s Spare[B]) Give(size int64, b B) { s[size] = append(s[size], b) }

// Release releases all spare buffers.
func (s Spare[B]) Release(release func(B)) {
	for _, free := range s {
		for _, b := range free {
			release(b)
		}
	}
}

// Word returns a pattern of a width of 1, 2 or 4 bytes as a pattern of 4 bytes.
func Word(pattern uint32, width int) uint32 {
	switch width {
	case 1:
		return pattern & 0xff * 0x01010101
	case 2:
		return pattern & 0xffff * 0x00010001
	}
	return pattern
}
