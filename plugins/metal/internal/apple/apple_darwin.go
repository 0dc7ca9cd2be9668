package apple

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

type api struct{}

// Devices implements calls.API.
func (api) Devices() ([]calls.Device, error) {
	r, err := objective()
	if err != nil {
		return nil, fmt.Errorf("Metal cannot be loaded, which macOS 12 and later have: %w: %w", core.ErrNotFound, err)
	}
	var all []calls.Device
	r.pooled(func() {
		list := r.devices()
		if list == 0 {
			return
		}
		system := r.text(r.message(systemVersion, r.message(processInfo, class("NSProcessInfo"))))
		for i := range r.message(arrayCount, list) {
			d := &device{r: r, self: r.message(retain, r.message(arrayObject, list, unsigned(uint64(i))))}
			d.facts = d.describe("macOS " + system)
			all = append(all, d)
		}
		r.message(release, list)
	})
	if all == nil {
		return nil, fmt.Errorf("Metal has no device: it needs a Mac with a GPU, and in a virtual machine one that is passed through: %w", core.ErrNotFound)
	}
	return all, nil
}

// text returns an NSString as a Go string.
func (r *runtimeOf) text(s id) string {
	if s == 0 {
		return ""
	}
	start := pointer(r.message(utf8, s))
	n := 0
	for start != nil && *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return strings.Clone(unsafe.String((*byte)(start), n))
}

// string returns s as an NSString, which is valid until the autorelease pool is released.
func (r *runtimeOf) string(s string) id {
	b := append([]byte(s), 0)
	x := r.message(stringWithUTF8, class("NSString"), address(unsafe.Pointer(&b[0])))
	runtime.KeepAlive(b)
	return x
}

// pointer returns an address of memory that the system allocated as a pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// device implements calls.Device.
type device struct {
	r     *runtimeOf
	self  id
	facts calls.Facts
}

// describe reads the facts of the device. The caller must have an autorelease pool.
func (d *device) describe(system string) calls.Facts {
	r := d.r
	f := calls.Facts{Name: r.text(r.message(deviceName, d.self)), System: system, Memory: int64(r.message(deviceMemory, d.self)), Largest: int64(r.message(deviceLargest, d.self)),
		Shared: int(r.message(deviceShared, d.self)), Unified: truth(r.message(deviceUnified, d.self)), External: truth(r.message(deviceRemovable, d.self))}
	for _, x := range families {
		if truth(r.message(deviceFamily, d.self, enumeration(x.number))) {
			f.Families = append(f.Families, x.name)
		}
	}
	f.Families = newest(f.Families)
	return f
}

func (d *device) Facts() calls.Facts { return d.facts }
func (d *device) Allocated() int64   { return int64(d.r.message(deviceAllocated, d.self)) }
func (d *device) Release()           { d.r.message(release, d.self) }

// owned is an object that its holder releases.
type owned struct {
	r    *runtimeOf
	self id
}

func (o owned) Release() { o.r.message(release, o.self) }

type buffer struct {
	owned
	bytes int64
}

func (d *device) NewBuffer(bytes int64) (calls.Buffer, error) {
	b := d.r.message(newBuffer, d.self, unsigned(uint64(bytes)), enumeration(storageShared))
	if b == 0 {
		return nil, fmt.Errorf("%d bytes: %w", bytes, core.ErrOutOfMemory)
	}
	return &buffer{owned{d.r, b}, bytes}, nil
}

func (b *buffer) Contents() []byte {
	return unsafe.Slice((*byte)(pointer(b.r.message(bufferContents, b.self))), b.bytes)
}

type library struct {
	owned
	device id
}

func (d *device) NewLibrary(text string) (l calls.Library, err error) {
	r := d.r
	r.pooled(func() {
		options, failure := r.message(allocInit, class("MTLCompileOptions")), new(id)
		r.message(fastMath, options, boolean(false))
		if truth(r.message(respondsToSelector, options, selector(r.selectors[mathMode]))) {
			r.message(mathMode, options, enumeration(mathModeSafe))
		}
		x := r.message(newLibrary, d.self, object(r.string(text)), object(options), address(unsafe.Pointer(failure)))
		r.message(release, options)
		if x == 0 {
			err = fmt.Errorf("%w: %s", core.ErrKernel, r.reason(*failure))
			return
		}
		l = &library{owned{r, x}, d.self} // an error together with a library contains only warnings
	})
	return l, err
}

// reason returns the text of an error.
func (r *runtimeOf) reason(failure id) string {
	if failure == 0 {
		return "Metal does not say why"
	}
	return r.text(r.message(errorText, failure))
}

type pipeline struct{ owned }

func (l *library) Pipeline(kernel string) (p calls.Pipeline, err error) {
	r := l.r
	r.pooled(func() {
		f, failure := r.message(newFunction, l.self, object(r.string(kernel))), new(id)
		if f == 0 {
			err = fmt.Errorf("the library has no kernel %s: %w", kernel, core.ErrKernel)
			return
		}
		x := r.message(newPipeline, l.device, object(f), address(unsafe.Pointer(failure)))
		r.message(release, f)
		if x == 0 {
			err = fmt.Errorf("%w: %s", core.ErrKernel, r.reason(*failure))
			return
		}
		p = &pipeline{owned{r, x}}
	})
	return p, err
}

func (p *pipeline) Threads() int { return int(p.r.message(pipelineThreads, p.self)) }
func (p *pipeline) Width() int   { return int(p.r.message(pipelineWidth, p.self)) }
