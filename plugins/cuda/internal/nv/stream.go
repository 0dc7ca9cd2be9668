package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// StreamPriorities returns the priorities that streams of the current context may have: a smaller number is served first.
func (d *Driver) StreamPriorities() (least, greatest int, err error) {
	var n [2]int32
	err = d.check(&d.c.ctxPriorityRange, d.c.ctxPriorityRange.Call(uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&n[1]))))
	return int(n[0]), int(n[1]), err
}

// NewStream creates a stream of the current context that does not wait for the default stream.
func (d *Driver) NewStream(priority int) (Stream, error) {
	const nonBlocking = 1
	var s Stream
	err := d.check(&d.c.streamCreate, d.c.streamCreate.Call(uintptr(unsafe.Pointer(&s)), nonBlocking, uintptr(priority)))
	return s, err
}

// DestroyStream releases a stream. Work that is queued still runs.
func (d *Driver) DestroyStream(s Stream) error {
	return d.check(&d.c.streamDestroy, d.c.streamDestroy.Call(uintptr(s)))
}

// SynchronizeStream waits until the work of a stream is done.
func (d *Driver) SynchronizeStream(s Stream) error {
	return d.check(&d.c.streamSync, d.c.streamSync.Call(uintptr(s)))
}

// StreamDone reports whether the work of a stream is done.
func (d *Driver) StreamDone(s Stream) (bool, error) {
	code := d.c.streamQuery.Quick(uintptr(s), 0, 0, 0)
	if code == codeNotReady {
		return false, nil
	}
	return code == 0, d.check(&d.c.streamQuery, code)
}

// NewEvent creates an event. An event without timing costs less; waits spin if blocking is false.
func (d *Driver) NewEvent(timing, blocking bool) (Event, error) {
	var flags uintptr
	if blocking {
		flags |= 1
	}
	if !timing {
		flags |= 2
	}
	var e Event
	err := d.check(&d.c.eventCreate, d.c.eventCreate.Call(uintptr(unsafe.Pointer(&e)), flags))
	return e, err
}

// DestroyEvent releases an event, recorded or not.
func (d *Driver) DestroyEvent(e Event) error {
	return d.check(&d.c.eventDestroy, d.c.eventDestroy.Call(uintptr(e)))
}

// Record records an event: the event happens when the stream has done all its present work.
func (d *Driver) Record(e Event, s Stream) error {
	return d.check(&d.c.eventRecord, d.c.eventRecord.Quick(uintptr(e), uintptr(s), 0, 0))
}

// EventDone reports whether a recorded event has happened. An event that was never recorded counts as happened.
func (d *Driver) EventDone(e Event) (bool, error) {
	code := d.c.eventQuery.Quick(uintptr(e), 0, 0, 0)
	if code == codeNotReady {
		return false, nil
	}
	return code == 0, d.check(&d.c.eventQuery, code)
}

// SynchronizeEvent waits until an event has happened. The calling thread is blocked meanwhile.
func (d *Driver) SynchronizeEvent(e Event) error {
	return d.check(&d.c.eventSync, d.c.eventSync.Call(uintptr(e)))
}

// Elapsed returns the time between two events with timing that have happened, in milliseconds.
func (d *Driver) Elapsed(start, end Event) (float32, error) {
	var ms float32
	err := d.check(&d.c.eventElapsed, d.c.eventElapsed.Call(uintptr(unsafe.Pointer(&ms)), uintptr(start), uintptr(end)))
	return ms, err
}

// WaitEvent makes work that is put on a stream from now on wait for an event. The host does not wait.
func (d *Driver) WaitEvent(s Stream, e Event) error {
	return d.check(&d.c.streamWaitEvent, d.c.streamWaitEvent.Quick(uintptr(s), uintptr(e), 0, 0))
}

// WriteValue lets a stream write a 32-bit word in order with its other work, to device memory or to mapped host memory, which the host can
// poll without a call.
func (d *Driver) WriteValue(s Stream, at Ptr, value uint32) error {
	if !d.c.streamWriteValue.There() {
		return vendor.Missing(driverName, d.c.streamWriteValue.Name)
	}
	return d.check(&d.c.streamWriteValue, d.c.streamWriteValue.Quick(uintptr(s), uintptr(at), uintptr(value), 0))
}

// LaunchHostFunc lets a stream call a C function of one pointer in order with its other work. fn is not Go code: the driver calls it from
// its own thread, which must not call CUDA. Completion is better found by EventDone or WriteValue.
func (d *Driver) LaunchHostFunc(s Stream, fn, data uintptr) error {
	if !d.c.launchHostFunc.There() {
		return vendor.Missing(driverName, d.c.launchHostFunc.Name)
	}
	return d.check(&d.c.launchHostFunc, d.c.launchHostFunc.Call(uintptr(s), fn, data))
}
