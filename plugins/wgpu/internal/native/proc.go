package native

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// proc is a C function.
type proc struct{ addr uintptr }

// lists holds argument lists: the list that the compiler allocates for a call would be garbage afterwards.
var lists = sync.Pool{New: func() any { return new([maxArgs]uintptr) }}

const maxArgs = 15

// call calls the function with at most 15 integers and pointers, and returns its result. A pointer argument is written as
// uintptr(unsafe.Pointer(x)) in the argument list, which keeps x alive and on the heap.
//
//go:uintptrescapes
func (p *proc) call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(p.addr, args...)
	return r
}

// quick is like call, for functions of at most 6 arguments. It does not allocate Go memory. Unused arguments are 0.
//
//go:uintptrescapes
func (p *proc) quick(a, b, c, d, e, f uintptr) uintptr {
	l := lists.Get().(*[maxArgs]uintptr)
	l[0], l[1], l[2], l[3], l[4], l[5] = a, b, c, d, e, f
	r, _, _ := purego.SyscallN(p.addr, l[:6]...)
	lists.Put(l)
	return r
}

// inMemory reports whether a struct of more than 16 bytes is passed to C functions on the stack, as the System V ABI of amd64 requires;
// elsewhere its address is passed.
var inMemory = runtime.GOARCH == "amd64" && runtime.GOOS != "windows"

// registers is the number of arguments that the System V ABI passes in registers.
const registers = 6

// callWith calls the function with a callback as the last argument, by value.
//
//go:uintptrescapes
func (p *proc) callWith(info *callbackInfo, args ...uintptr) uintptr {
	var l [maxArgs]uintptr
	n := copy(l[:], args)
	if !inMemory {
		l[n] = uintptr(unsafe.Pointer(info))
		n++
	} else {
		n = registers + copy(l[registers:], (*[5]uintptr)(unsafe.Pointer(info))[:])
	}
	r, _, _ := purego.SyscallN(p.addr, l[:n]...)
	runtime.KeepAlive(info)
	return r
}

// procs are the functions that the package calls.
type procs struct {
	CreateInstance            proc
	InstanceEnumerateAdapters proc
	AdapterGetInfo            proc
	AdapterGetLimits          proc
	AdapterHasFeature         proc
	AdapterRequestDevice      proc
	DeviceGetQueue            proc
	DeviceCreateBuffer        proc
	DeviceCreateShaderModule  proc
	// DeviceCreateShaderModuleTrusted omits checks that the text does not need.
	DeviceCreateShaderModuleTrusted      proc
	DeviceCreateBindGroupLayout          proc
	DeviceCreatePipelineLayout           proc
	DeviceCreateComputePipeline          proc
	DeviceCreateBindGroup                proc
	DeviceCreateCommandEncoder           proc
	DevicePoll                           proc
	DeviceDestroy                        proc
	DeviceRelease                        proc
	QueueRelease                         proc
	QueueWriteBuffer                     proc
	QueueSubmit                          proc
	QueueOnSubmittedWorkDone             proc
	BufferMapAsync                       proc
	BufferGetConstMappedRange            proc
	BufferUnmap                          proc
	BufferDestroy                        proc
	BufferRelease                        proc
	ShaderModuleRelease                  proc
	BindGroupLayoutRelease               proc
	PipelineLayoutRelease                proc
	ComputePipelineRelease               proc
	BindGroupRelease                     proc
	CommandEncoderBeginComputePass       proc
	CommandEncoderCopyBufferToBuffer     proc
	CommandEncoderFinish                 proc
	CommandEncoderRelease                proc
	CommandBufferRelease                 proc
	ComputePassEncoderSetPipeline        proc
	ComputePassEncoderSetBindGroup       proc
	ComputePassEncoderDispatchWorkgroups proc
	ComputePassEncoderEnd                proc
	ComputePassEncoderRelease            proc
	GetVersion                           proc
}

// bind fills procs from a loaded library.
func bind(library uintptr, p *procs) error {
	v := reflect.ValueOf(p).Elem()
	var lacks []string
	for i := range v.NumField() {
		name := "wgpu" + v.Type().Field(i).Name
		address := dlsym(library, name)
		if address == 0 {
			lacks = append(lacks, name)
		}
		v.Field(i).Addr().Interface().(*proc).addr = address
	}
	if lacks != nil {
		return fmt.Errorf("it does not export %s", strings.Join(lacks, ", "))
	}
	return nil
}

// pointerAt returns the pointer to memory that the library owns.
func pointerAt(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text returns a copy of a string of the library.
func (v view) text() string {
	switch {
	case v.data == nil:
		return ""
	case v.length == ^uintptr(0): // ends with a zero
		n := 0
		for n < 4096 && *(*byte)(unsafe.Add(v.data, n)) != 0 {
			n++
		}
		return string(unsafe.Slice((*byte)(v.data), n))
	}
	return string(unsafe.Slice((*byte)(v.data), v.length))
}
