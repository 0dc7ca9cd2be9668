package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// device is an opened adapter and its queue.
type device struct {
	*API
	h, queue handle
	layouts  map[[2]int]layout // by number of storage buffers and size of the uniform
	making   sync.RWMutex      // read lock while pipelines are created; write lock to create layouts, or one pipeline alone
	reported atomic.Int64      // number of errors that the library has reported
	infos    [2]*callbackInfo  // callbacks that the library may call until the device is closed

	alive sync.RWMutex // read lock while the library polls; write lock to close. It guards gone
	gone  bool

	mu     sync.Mutex // guards the fields below
	faults []error    // errors since the last check
	lost   error
	closed bool
}

type layout struct{ group, pipeline handle }

// Open implements webgpu.Adapter.
func (x *adapter) Open(context.Context) (webgpu.Device, error) {
	d := &device{API: x.api, layouts: map[[2]int]layout{}}
	c := cFunctions()
	lost := expect(c.lost, func(_ uint32, _ handle, message string) { d.lose(message) })
	lost.mode = allowSpontaneous
	fault := expect(c.fault, func(kind uint32, _ handle, message string) { d.fault(kind, message) })
	l := x.limits
	o := &deviceDescriptor{requiredLimits: unsafe.Pointer(&l), lost: lost,
		uncaptured: errorCallbackInfo{callback: fault.callback, user1: fault.user1}}
	if n := len(x.features); n > 0 {
		o.requiredFeatureCount, o.requiredFeatures = uintptr(n), unsafe.Pointer(&x.features[0])
	}
	var status uint32
	var message string
	request := expect(c.device, func(s uint32, h handle, m string) { status, d.h, message = s, h, m })
	request.mode = allowSpontaneous // the library calls the callback at once
	d.AdapterRequestDevice.callWith(&request, x.h, uintptr(unsafe.Pointer(o)))
	if status != statusSuccess || d.h == 0 {
		forget(&lost)
		forget(&fault)
		forget(&request)
		return nil, fmt.Errorf("%w: %s: %s", core.ErrNotFound, x.facts.Name, oneLine(message))
	}
	d.queue = d.DeviceGetQueue.call(d.h)
	d.infos = [2]*callbackInfo{&lost, &fault}
	return d, nil
}

func (d *device) lose(message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil && !d.closed {
		d.lost = fmt.Errorf("%w: the device is lost: %s", core.ErrBackendLost, oneLine(message))
	}
}

// Kinds of errors that the library reports.
const (
	kindValidation  = 2
	kindOutOfMemory = 3
)

func (d *device) fault(kind uint32, message string) {
	err := fmt.Errorf("%w: %s", core.ErrKernel, oneLine(message))
	if kind == kindOutOfMemory {
		err = fmt.Errorf("%w: %s", core.ErrOutOfMemory, oneLine(message))
	}
	d.reported.Add(1)
	d.mu.Lock()
	d.faults = append(d.faults, err)
	d.mu.Unlock()
}

// check returns the errors since the last check, or the loss of the device. The library reports the errors of a call before the call
// returns.
func (d *device) check(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := errors.Join(d.faults...)
	d.faults = nil
	if d.lost != nil {
		err = d.lost
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Lost implements webgpu.Device.
func (d *device) Lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// Poll implements webgpu.Device.
func (d *device) Poll() {
	d.alive.RLock()
	defer d.alive.RUnlock()
	if !d.gone {
		d.DevicePoll.quick(d.h, 0, 0, 0, 0, 0)
	}
}

// Close implements webgpu.Device.
func (d *device) Close() {
	d.alive.Lock()
	defer d.alive.Unlock()
	d.gone = true
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for _, l := range d.layouts {
		d.PipelineLayoutRelease.call(l.pipeline)
		d.BindGroupLayoutRelease.call(l.group)
	}
	d.QueueRelease.call(d.queue)
	d.DeviceDestroy.call(d.h)
	d.DeviceRelease.call(d.h)
	for _, i := range d.infos {
		forget(i)
	}
}

// buffer implements webgpu.Buffer.
type buffer struct {
	d     *device
	h     handle
	bytes int64
}

var usages = map[webgpu.Usage]uint64{
	webgpu.Storage:  usageStorage | usageCopySrc | usageCopyDst,
	webgpu.Uniform:  usageUniform | usageCopySrc | usageCopyDst,
	webgpu.Readback: usageMapRead | usageCopyDst,
}

// NewBuffer implements webgpu.Device.
func (d *device) NewBuffer(bytes int64, u webgpu.Usage) (webgpu.Buffer, error) {
	o := &bufferDescriptor{usage: usages[u], size: uint64(bytes)}
	h := d.DeviceCreateBuffer.call(d.h, uintptr(unsafe.Pointer(o)))
	if err := d.check(fmt.Sprintf("buffer of %d bytes", bytes)); err != nil {
		if h != 0 {
			d.BufferRelease.call(h)
		}
		return nil, err
	}
	if h == 0 {
		return nil, fmt.Errorf("buffer of %d bytes: %w", bytes, core.ErrOutOfMemory)
	}
	return &buffer{d, h, bytes}, nil
}

// Read implements webgpu.Buffer.
func (b *buffer) Read(dst []byte, offset int64) error {
	p := b.d.BufferGetConstMappedRange.quick(b.h, 0, uintptr(b.bytes), 0, 0, 0)
	if p == 0 {
		return fmt.Errorf("a buffer that is not mapped: %w", core.ErrKernel)
	}
	copy(dst, unsafe.Slice((*byte)(pointerAt(p)), b.bytes)[offset:])
	b.d.BufferUnmap.quick(b.h, 0, 0, 0, 0, 0)
	return nil
}

// Destroy implements webgpu.Buffer.
func (b *buffer) Destroy() {
	b.d.BufferDestroy.call(b.h)
	b.d.BufferRelease.call(b.h)
}

// Write implements webgpu.Device.
func (d *device) Write(to webgpu.Buffer, offset int64, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	d.QueueWriteBuffer.quick(d.queue, to.(*buffer).h, uintptr(offset), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), 0)
	return d.check("write")
}

// Map implements webgpu.Device.
func (d *device) Map(b webgpu.Buffer, done func(error)) error {
	x := b.(*buffer)
	info := expect(cFunctions().done, called("map", done))
	d.BufferMapAsync.callWith(&info, x.h, mapModeRead, 0, uintptr(x.bytes))
	return d.check("map")
}

// called returns a callback that calls done.
func called(what string, done func(error)) func(uint32, handle, string) {
	return func(status uint32, _ handle, message string) {
		if status != statusSuccess {
			done(fmt.Errorf("%s: %w: %s", what, core.ErrBackendLost, oneLine(message)))
			return
		}
		done(nil)
	}
}

// oneLine returns a message of the library in one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
