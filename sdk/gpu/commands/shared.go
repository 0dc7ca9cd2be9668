package commands

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/goburn/burn/core"
)

// The declarations below are for all hardware that executes batches of commands, including package webgpu.

// Fault is the first fault of a device's commands. Results after it cannot be trusted, so the fault ends the device. A lock of the device
// guards it.
type Fault struct{ first error }

// Keep returns the first fault. If no fault is stored yet, it stores err, wrapped in core.ErrBackendLost.
func (f *Fault) Keep(err error) error {
	if err != nil && f.first == nil {
		if f.first = err; !errors.Is(err, core.ErrBackendLost) {
			f.first = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
		}
	}
	return f.first
}

// Close sets the fault of a device without a fault to core.ErrClosed.
func (f *Fault) Close(backend string) {
	if f.first == nil {
		f.first = fmt.Errorf("%s: the device: %w", backend, core.ErrClosed)
	}
}

// Finished reports whether a work has ended. done is the channel that the work closes when it ends.
func Finished(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

const minSpare = 12 // log2 of the size in bytes of the smallest spare buffer

// Spare holds buffers for reuse by their size: powers of 2, from 4 KiB on.
type Spare[B any] map[int64][]B

// Take returns a buffer of at least n bytes, and its size. If no buffer is spare, it creates a buffer with make.
func (s Spare[B]) Take(n int64, make func(size int64) (B, error)) (B, int64, error) {
	size := int64(1) << max(bits.Len64(uint64(n-1)), minSpare)
	if free := s[size]; len(free) > 0 {
		s[size] = free[:len(free)-1]
		return free[len(free)-1], size, nil
	}
	b, err := make(size)
	return b, size, err
}

// Give keeps a buffer for reuse, with the size that Take returned.
func (s Spare[B]) Give(size int64, b B) { s[size] = append(s[size], b) }

// Release releases all spare buffers.
func (s Spare[B]) Release(release func(B)) {
	for _, free := range s {
		for _, b := range free {
			release(b)
		}
	}
}

// Word repeats a pattern of 1, 2 or 4 bytes to a pattern of 4 bytes.
func Word(pattern uint32, width int) uint32 {
	switch width {
	case 1:
		return pattern & 0xff * 0x01010101
	case 2:
		return pattern & 0xffff * 0x00010001
	}
	return pattern
}
