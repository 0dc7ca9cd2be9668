package torch

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// runFrames is the address of a C function of one argument, a *batch, that makes calls one after the other: one way into C for
// several functions, with what purego cannot pass: more than 15 arguments, and integers and floats together.
var runFrames uintptr

// batch is calls that are made together. Its layout is known to assembly, as that of frame is.
type batch struct {
	frames *frame
	n      uint64 // frames to call
	left   uint64 // frames that did not return 0, of those
}

// frame is one call of a C function. With bit i of load set, argument i, which is one of the first two, is read from where args[i]
// points to: what an earlier frame wrote there.
type frame struct {
	fn     uintptr
	args   [16]uintptr
	floats [2]float64
	ret    uint64 // what it returned
	load   uint64
}

const (
	maxFrames = 64
	maxWords  = 1 << 12
)

// Thread calls torch from one thread of the system, to which its goroutine is locked: torch keeps modes, errors and pools of threads
// for each of them. A Thread is used by that goroutine alone. A method that fails returns an error with the words of torch.
type Thread struct {
	lib    *Library
	batch  batch
	entry  [1]uintptr // the address of batch
	n      int        // frames
	frames [maxFrames]frame
	used   int // words
	words  [maxWords]uint64
	large  [][]uint64     // words that did not fit
	failed error          // what the calls that are being collected cannot be made for
	held   unsafe.Pointer // memory of the host that was named last: this puts it on the heap

	cell  uintptr   // that C code writes to
	cells []uintptr // memory for optional arguments that nobody uses
	op    *Operator // that is being called
	args  []slot
	stack *[maxArguments]uint64
}

// Thread makes a Thread of the calling goroutine, which must be locked to its thread of the system and stay so.
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

// flush makes the calls that were collected. After a failure the rest of them is forgotten.
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

// call makes one call at once, of a function whose arguments are integers, and returns what it returned. It may be used while calls
// are collected.
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

// take returns n words, not cleared, that C code may read and write until reset.
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

// ints returns integers as C code reads them.
func (t *Thread) ints(v []int) uintptr {
	w := t.take(max(len(v), 1))
	for i, x := range v {
		w[i] = uint64(x)
	}
	return uintptr(unsafe.Pointer(&w[0]))
}

// addressOf returns the address of p, which must be on the heap, like everything within a Thread, because goroutines' stacks
// move.
func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
