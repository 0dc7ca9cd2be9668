//go:build cu && cgo

package cuda

/*
#cgo LDFLAGS: -lcuda
extern const int burn_cu_count;
extern const char *const burn_cu_names[];
extern void *burn_cu_table[];
*/
import "C"

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

const callsBy = "gorgonia.org/cu"

// gorgonia calls the functions that gorgonia.org/cu has through that module.
type gorgonia struct {
	*nv.Driver
}

var table sync.Mutex // guards the table of the stub, internal/custub

// newCalls lets the functions that gorgonia.org/cu was linked with jump into the library of a working driver. Functions that the library
// does not export keep failing.
func newCalls(d *nv.Driver) (calls, error) {
	table.Lock()
	defer table.Unlock()
	n := int(C.burn_cu_count)
	names := unsafe.Slice((**C.char)(unsafe.Pointer(&C.burn_cu_names)), n)
	to := unsafe.Slice((*uintptr)(unsafe.Pointer(&C.burn_cu_table)), n)
	for i, name := range names {
		if at := d.Symbol(C.GoString(name)); at != 0 {
			to[i] = at
		}
	}
	return &gorgonia{d}, nil
}

// failed returns the error of package nv for an error of gorgonia.org/cu, which is a code of an unexported integer type.
func (g *gorgonia) failed(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return g.Failure(call, int(v.Int()))
	}
	return err
}

// Handles of gorgonia.org/cu are structures of one pointer, which belongs to the driver.
func cuContext(c nv.Context) cu.CUContext  { return *(*cu.CUContext)(unsafe.Pointer(&c)) }
func cuModule(m nv.Module) cu.Module       { return *(*cu.Module)(unsafe.Pointer(&m)) }
func cuFunction(f nv.Function) cu.Function { return *(*cu.Function)(unsafe.Pointer(&f)) }
func cuStream(s nv.Stream) cu.Stream       { return *(*cu.Stream)(unsafe.Pointer(&s)) }
func cuEvent(e nv.Event) cu.Event          { return *(*cu.Event)(unsafe.Pointer(&e)) }

// handle returns the driver's handle that a handle of gorgonia.org/cu contains.
func handle[T cu.CUContext | cu.Module | cu.Function | cu.Stream | cu.Event](h T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&h))
}

func (g *gorgonia) Device(ordinal int) (nv.Device, error) {
	d, err := cu.GetDevice(ordinal)
	return nv.Device(d), g.failed("cuDeviceGet", err)
}

func (g *gorgonia) Name(dev nv.Device) (string, error) {
	name, err := cu.Device(dev).Name()
	return name, g.failed("cuDeviceGetName", err)
}

func (g *gorgonia) TotalMemory(dev nv.Device) (uint64, error) {
	n, err := cu.Device(dev).TotalMem()
	return uint64(n), g.failed("cuDeviceTotalMem_v2", err)
}

func (g *gorgonia) Attribute(dev nv.Device, a nv.Attribute) (int, error) {
	n, err := cu.Device(dev).Attribute(cu.DeviceAttribute(a))
	return n, g.failed("cuDeviceGetAttribute", err)
}

func (g *gorgonia) RetainPrimary(dev nv.Device) (nv.Context, error) {
	c, err := cu.Device(dev).RetainPrimaryCtx()
	return nv.Context(handle(c)), g.failed("cuDevicePrimaryCtxRetain", err)
}

func (g *gorgonia) SetCurrent(ctx nv.Context) error {
	return g.failed("cuCtxSetCurrent", cu.SetCurrentContext(cuContext(ctx)))
}

// LoadModule loads text through nv, which returns the log of the driver's compiler.
func (g *gorgonia) LoadModule(image []byte) (nv.Module, error) {
	if len(image) == 0 || image[0] != 0x7f {
		return g.Driver.LoadModule(image)
	}
	m, err := cu.LoadData(string(image))
	return nv.Module(handle(m)), g.failed("cuModuleLoadData", err)
}

func (g *gorgonia) UnloadModule(m nv.Module) error {
	return g.failed("cuModuleUnload", cuModule(m).Unload())
}

func (g *gorgonia) Function(m nv.Module, name string) (nv.Function, error) {
	f, err := cuModule(m).Function(name)
	return nv.Function(handle(f)), g.failed("cuModuleGetFunction", err)
}

// Launch uses Function.Launch: Ctx.LaunchKernel passes each launch to another thread, which takes ten times as long.
func (g *gorgonia) Launch(s nv.Stream, f nv.Function, grid, block nv.Dim, shared uint32, a *nv.Args) error {
	words, ok := a.Words()
	if !ok { // Function.Launch copies 8 bytes of each argument
		return g.Driver.Launch(s, f, grid, block, shared, a)
	}
	return g.failed("cuLaunchKernel", cuFunction(f).Launch(int(grid.X), int(grid.Y), int(grid.Z), int(block.X), int(block.Y), int(block.Z), int(shared), cuStream(s), words))
}

func (g *gorgonia) MemoryInfo() (free, total uint64, err error) {
	f, t, err := cu.MemInfo()
	return uint64(f), uint64(t), g.failed("cuMemGetInfo_v2", err)
}

func (g *gorgonia) Alloc(bytes uint64) (nv.Ptr, error) {
	p, err := cu.MemAlloc(int64(bytes))
	return nv.Ptr(p), g.failed("cuMemAlloc_v2", err)
}

func (g *gorgonia) Free(p nv.Ptr) error { return g.failed("cuMemFree_v2", cu.MemFree(cu.DevicePtr(p))) }

func (g *gorgonia) CopyToDevice(dst nv.Ptr, src unsafe.Pointer, bytes uint64, s nv.Stream) error {
	return g.failed("cuMemcpyHtoDAsync_v2", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, int64(bytes), cuStream(s)))
}

func (g *gorgonia) CopyToHost(dst unsafe.Pointer, src nv.Ptr, bytes uint64, s nv.Stream) error {
	return g.failed("cuMemcpyDtoHAsync_v2", cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), int64(bytes), cuStream(s)))
}

func (g *gorgonia) Copy(dst, src nv.Ptr, bytes uint64, s nv.Stream) error {
	return g.failed("cuMemcpyDtoDAsync_v2", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(bytes), cuStream(s)))
}

func (g *gorgonia) Set8(dst nv.Ptr, value uint8, n uint64, s nv.Stream) error {
	return g.failed("cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(dst), value, int64(n), cuStream(s)))
}

func (g *gorgonia) Set16(dst nv.Ptr, value uint16, n uint64, s nv.Stream) error {
	return g.failed("cuMemsetD16Async", cu.MemsetD16Async(cu.DevicePtr(dst), value, int64(n), cuStream(s)))
}

func (g *gorgonia) Set32(dst nv.Ptr, value uint32, n uint64, s nv.Stream) error {
	return g.failed("cuMemsetD32Async", cu.MemsetD32Async(cu.DevicePtr(dst), uint(value), int64(n), cuStream(s)))
}

func (g *gorgonia) NewStream(priority int) (nv.Stream, error) {
	s, err := cu.MakeStreamWithPriority(priority, cu.NonBlocking)
	return nv.Stream(handle(s)), g.failed("cuStreamCreateWithPriority", err)
}

func (g *gorgonia) DestroyStream(s nv.Stream) error {
	x := cuStream(s)
	return g.failed("cuStreamDestroy_v2", x.Destroy())
}

func (g *gorgonia) WaitEvent(s nv.Stream, e nv.Event) error {
	return g.failed("cuStreamWaitEvent", cuStream(s).Wait(cuEvent(e), 0))
}

func (g *gorgonia) NewEvent(timing, blocking bool) (nv.Event, error) {
	flags := cu.DefaultEvent
	if blocking {
		flags |= cu.BlockingSyncEvent
	}
	if !timing {
		flags |= cu.DisableTiming
	}
	e, err := cu.MakeEvent(flags)
	return nv.Event(handle(e)), g.failed("cuEventCreate", err)
}

func (g *gorgonia) DestroyEvent(e nv.Event) error {
	x := cuEvent(e)
	return g.failed("cuEventDestroy_v2", cu.DestroyEvent(&x))
}

func (g *gorgonia) Record(e nv.Event, s nv.Stream) error {
	return g.failed("cuEventRecord", cuEvent(e).Record(cuStream(s)))
}

func (g *gorgonia) EventDone(e nv.Event) (bool, error) {
	err := cuEvent(e).Query()
	if errors.Is(err, cu.NotReady) {
		return false, nil
	}
	return err == nil, g.failed("cuEventQuery", err)
}

func (g *gorgonia) SynchronizeEvent(e nv.Event) error {
	return g.failed("cuEventSynchronize", cuEvent(e).Synchronize())
}

func (g *gorgonia) Elapsed(start, end nv.Event) (float32, error) {
	ms, err := cuEvent(start).Elapsed(cuEvent(end))
	return float32(ms), g.failed("cuEventElapsedTime", err)
}
