package torch

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// runFrames is the address of a C function whose argument is a *batch and which performs the calls of the batch in order. It saves the cost
// of entering C for each call, and supports what purego does not: more than 15 arguments, and integer and float arguments in one call.
var runFrames uintptr

// batch contains calls that are performed together. Assembly code depends on the layout of batch and frame.
type batch struct {
	frames *frame
	n      uint64 // frames to call
	left   uint64 // frames that did not return 0
}

// frame is one call of a C function. If bit i of load is set, for i below 2, args[i] is a pointer, and the argument is the word that it
// points to, which an earlier frame has written.
type frame struct {
	fn     uintptr
	args   [16]uintptr
	floats [2]float64
	ret    uint64 // the returned value
	load   uint64
}

const (
	maxFrames = 64
	maxWords  = 1 << 12
)

// Thread calls torch from one operating system thread, to which its goroutine is locked, because torch keeps modes, errors and thread pools
// per thread. Only that goroutine may use the Thread. Errors of methods contain torch's message.
type Thread struct {
	lib    *Library
	batch  batch
	entry  [1]uintptr // argument list: the address of batch
	n      int        // number of collected frames
	frames [maxFrames]frame
	used   int // number of words in use
	words  [maxWords]uint64
	large  [][]uint64     // word lists that did not fit
	failed error          // error because of which the collected calls cannot be performed
	held   unsafe.Pointer // the last host memory that was passed to C; storing it here moves it to the heap

	cell  uintptr   // written by C code
	cells []uintptr // unused memory for optional arguments
	op    *Operator // the operator that is being called
	args  []slot
	stack *[maxArguments]uint64
}

// Thread returns a Thread for the calling goroutine, which must be locked to its operating system thread and stay locked.
func (l *Library) Thread() *Thread {
	t := &Thread{lib: l, stack: new([maxArguments]uint64)}
	t.entry[0] = uintptr(unsafe.Pointer(&t.batch))
	t.batch.frames = &t.frames[0]
	t.call(l.procs.GradModeSetEnabled, 0)
	return t
}

// frame appends a call.
func (t *Thread) frame(fn uintptr) *frame {
	if t.n == maxFrames {
		if err := t.flush(); err != nil && t.failed == nil {
			t.failed = err
		}
	}
	f := &t.frames[t.n]
	t.n++
	f.fn, f.load = fn, 0
	return f
}

// flush performs the calls that were collected. After a failure it drops the remaining calls.
func (t *Thread) flush() error {
	n := t.n
	t.n = 0
	if err := t.failed; err != nil {
		t.failed = nil
		return err
	}
	if n == 0 {
		return nil
	}
	t.batch.n = uint64(n)
	purego.SyscallN(runFrames, t.entry[:]...)
	runtime.KeepAlive(t)
	if t.batch.left != 0 {
		return t.lib.failure()
	}
	return nil
}

// call calls a function with integer arguments at once, and returns its result. It may be used while calls are being collected.
func (t *Thread) call(fn uintptr, args ...uintptr) uint64 {
	r, _, _ := purego.SyscallN(fn, args...)
	return uint64(r)
}

// reset makes all words available again.
func (t *Thread) reset() {
	t.used = 0
	if t.large != nil {
		clear(t.large)
		t.large = t.large[:0]
	}
}

// take returns n uninitialized words that C code may read and write until reset.
func (t *Thread) take(n int) []uint64 {
	if t.used+n > maxWords {
		w := make([]uint64, n)
		t.large = append(t.large, w)
		return w
	}
	w := t.words[t.used : t.used+n : t.used+n]
	t.used += n
	return w
}

// ints copies integers to memory for C code, and returns its address.
func (t *Thread) ints(v []int) uintptr {
	w := t.take(max(len(v), 1))
	for i, x := range v {
		w[i] = uint64(x)
	}
	return uintptr(unsafe.Pointer(&w[0]))
}

// addressOf returns the address of p. p must be on the heap, like everything within a Thread, because stacks of goroutines move.
func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
