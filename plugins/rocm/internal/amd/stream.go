package amd

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// LoadModule implements streams.Calls. HIP may read the image for as long as the module is loaded.
func (h *HIP) LoadModule(image []byte) (streams.Module, error) {
	if len(image) == 0 {
		return 0, fmt.Errorf("%s: %s: no image", hipName, h.c.moduleLoad.Name)
	}
	var m streams.Module
	err := h.check(&h.c.moduleLoad, h.c.moduleLoad.Call(uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0]))))
	if err == nil {
		h.images.Store(m, image)
	}
	return m, err
}

// UnloadModule implements streams.Calls.
func (h *HIP) UnloadModule(m streams.Module) error {
	err := h.check(&h.c.moduleUnload, h.c.moduleUnload.Call(uintptr(m)))
	h.images.Delete(m)
	return err
}

// Function implements streams.Calls.
func (h *HIP) Function(m streams.Module, name string) (streams.Function, error) {
	var f streams.Function
	err := h.check(&h.c.moduleFunction, h.c.moduleFunction.Call(uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(vendor.CString(name)))))
	if err != nil {
		err = fmt.Errorf("%w: %s", err, name)
	}
	return f, err
}

// SetFuncAttribute implements streams.Calls. Launches may use all the shared memory without it.
func (h *HIP) SetFuncAttribute(streams.Function, streams.FuncAttribute, int) error { return nil }

// Launch implements streams.Calls.
func (h *HIP) Launch(s streams.Stream, f streams.Function, grid, block streams.Dim, shared uint32, a *streams.Args) error {
	return h.check(&h.c.launch, h.c.launch.Quick11(uintptr(f), uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shared), uintptr(s), uintptr(a.Table()), 0))
}

// NewStream implements streams.Calls.
func (h *HIP) NewStream(priority int) (streams.Stream, error) {
	const nonBlocking = 1
	var s streams.Stream
	err := h.check(&h.c.streamCreate, h.c.streamCreate.Call(uintptr(unsafe.Pointer(&s)), nonBlocking, uintptr(priority)))
	return s, err
}

// DestroyStream implements streams.Calls.
func (h *HIP) DestroyStream(s streams.Stream) error {
	return h.check(&h.c.streamDestroy, h.c.streamDestroy.Call(uintptr(s)))
}

// WaitEvent implements streams.Calls.
func (h *HIP) WaitEvent(s streams.Stream, e streams.Event) error {
	return h.check(&h.c.streamWait, h.c.streamWait.Quick(uintptr(s), uintptr(e), 0, 0))
}

// NewEvent implements streams.Calls.
func (h *HIP) NewEvent(timing, blocking bool) (streams.Event, error) {
	var flags uintptr
	if blocking {
		flags |= 1
	}
	if !timing {
		flags |= 2
	}
	var e streams.Event
	err := h.check(&h.c.eventCreate, h.c.eventCreate.Call(uintptr(unsafe.Pointer(&e)), flags))
	return e, err
}

// DestroyEvent implements streams.Calls.
func (h *HIP) DestroyEvent(e streams.Event) error {
	return h.check(&h.c.eventDestroy, h.c.eventDestroy.Call(uintptr(e)))
}

// Record implements streams.Calls.
func (h *HIP) Record(e streams.Event, s streams.Stream) error {
	return h.check(&h.c.eventRecord, h.c.eventRecord.Quick(uintptr(e), uintptr(s), 0, 0))
}

// EventDone implements streams.Calls.
func (h *HIP) EventDone(e streams.Event) (bool, error) {
	code := h.c.eventQuery.Quick(uintptr(e), 0, 0, 0)
	if code == codeNotReady {
		return false, nil
	}
	return code == 0, h.check(&h.c.eventQuery, code)
}

// SynchronizeEvent implements streams.Calls.
func (h *HIP) SynchronizeEvent(e streams.Event) error {
	return h.check(&h.c.eventSync, h.c.eventSync.Quick(uintptr(e), 0, 0, 0))
}

// Elapsed implements streams.Calls.
func (h *HIP) Elapsed(start, end streams.Event) (float32, error) {
	var ms float32
	err := h.check(&h.c.eventElapsed, h.c.eventElapsed.Call(uintptr(unsafe.Pointer(&ms)), uintptr(start), uintptr(end)))
	return ms, err
}
