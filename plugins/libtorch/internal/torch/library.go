package torch

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// procs contains the addresses of C functions; the address of a missing function is 0. The tag c is the name of the function; a trailing
// "?" marks functions that are optional.
type procs struct {
	Version            uintptr `c:"aoti_torch_abi_version"`
	GradModeSetEnabled uintptr `c:"aoti_torch_grad_mode_set_enabled"`
	Delete             uintptr `c:"aoti_torch_delete_tensor_object"`
	NewHandle          uintptr `c:"aoti_torch_new_tensor_handle"`
	DataPtr            uintptr `c:"aoti_torch_get_data_ptr"`
	Strides            uintptr `c:"aoti_torch_get_strides"`
	Sizes              uintptr `c:"aoti_torch_get_sizes"`
	Dim                uintptr `c:"aoti_torch_get_dim"`
	DType              uintptr `c:"aoti_torch_get_dtype"`
	Empty              uintptr `c:"aoti_torch_empty_strided"`
	View               uintptr `c:"aoti_torch__reinterpret_tensor"`
	Blob               uintptr `c:"aoti_torch_create_tensor_from_blob"`
	Copy               uintptr `c:"aoti_torch_copy_"`
	CallDispatcher     uintptr `c:"torch_call_dispatcher?"`      // since torch 2.10
	CallDispatcherOld  uintptr `c:"aoti_torch_call_dispatcher?"` // accepts neither lists nor strings
	NewList            uintptr `c:"torch_new_list_reserve_size?"`
	PushBack           uintptr `c:"torch_list_push_back?"`
	DeleteList         uintptr `c:"torch_delete_list?"`
	GetItem            uintptr `c:"torch_list_get_item?"`
	NewString          uintptr `c:"torch_new_string_handle?"`
	DeleteString       uintptr `c:"torch_delete_string?"`
	NewValue           uintptr `c:"torch_new_stable_ivalue?"` // since torch 2.13
	What               uintptr `c:"torch_exception_get_what_without_backtrace?"`
	BlobDeleter        uintptr `c:"torch_from_blob?"` // since torch 2.11
	Threads            uintptr `c:"torch_get_num_threads?"`
}

// Library is the installation of torch that this process has loaded. It stays loaded until the process ends. The zero Library has no
// functions.
type Library struct {
	Folder  string // folder of torch's libraries
	Version string // such as "2.15.0", as the ABI returns it
	Shim    string // path of the shim that provides the ABI; "" if torch has the ABI
	Hidden  []string
	procs   procs
	handles []uintptr

	mu    sync.Mutex // guards found
	found map[string]uintptr

	errors capture
}

// Options control how torch is loaded.
type Options struct {
	Threads int      // number of threads that torch computes with; 0: torch's default
	Hide    []string // names of functions that are treated as missing
	CPU     bool     // load only the library for the cpu
	TF32    bool     // NVIDIA's libraries may round f32 factors to 10 bits of mantissa
}

// libraries lists torch's libraries, one for each kind of device; the first is required.
var libraries = []string{"libtorch_cpu.so", "libtorch_cuda.so", "libtorch_hip.so", "libtorch_xpu.so"}

// Load loads the libraries of a folder, and if they lack the ABI, the shim. Errors of Load wrap ErrMissing. Load must be called only once
// in a process, because the libraries read the number of threads only once.
func Load(folder string, o Options) (*Library, error) {
	l := &Library{Folder: folder, Hidden: o.Hide, found: map[string]uintptr{}}
	setEnvironment(o)
	keepMemory()
	for i, name := range libraries {
		if i > 0 && (o.CPU || !isFile(filepath.Join(folder, name))) {
			continue
		}
		h, err := dlopen(fileOf(folder, name))
		if err != nil && i == 0 {
			return nil, fmt.Errorf("%w: %v", ErrMissing, err)
		}
		if err == nil {
			l.handles = append(l.handles, h)
		}
	}
	lacks := l.resolve()
	if shim := Shim(folder); lacks != "" && shim != "" {
		h, err := dlopen(shim)
		if err != nil {
			return nil, fmt.Errorf("%w: the shim for torch: %w; remove it and run %s", ErrMissing, err, Remedy)
		}
		l.handles, l.Shim = slices.Insert(l.handles, 0, h), shim
		clear(l.found)
		lacks = l.resolve()
	}
	if lacks != "" {
		return nil, fmt.Errorf("%w: %s does not export %s: torch 2.9 or later is needed, or for an older one a shim: run %s, with a C++ compiler "+
			"and torch's headers installed", ErrMissing, cpuLibrary(folder), lacks, Remedy)
	}
	packed, _, _ := purego.SyscallN(l.procs.Version)
	l.Version = fmt.Sprintf("%d.%d.%d", byte(packed>>56), byte(packed>>48), byte(packed>>40))
	if l.procs.What == 0 {
		l.errors.start()
	}
	return l, nil
}

// resolve looks up the functions of procs, and returns the names of required functions that are missing, separated by commas: at most three
// names, or two names and the number of all other missing functions.
func (l *Library) resolve() string {
	v := reflect.ValueOf(&l.procs).Elem()
	var lacks []string
	for i := range v.NumField() {
		name, optional := strings.CutSuffix(v.Type().Field(i).Tag.Get("c"), "?")
		p := l.Symbol(name)
		if p == 0 && !optional {
			lacks = append(lacks, name)
		}
		v.Field(i).SetUint(uint64(p))
	}
	if l.procs.CallDispatcher == 0 && l.procs.CallDispatcherOld == 0 {
		lacks = append(lacks, "torch_call_dispatcher")
	}
	if n := len(lacks); n > 3 {
		lacks = append(lacks[:2], fmt.Sprintf("%d others", n-2))
	}
	return strings.Join(lacks, ", ")
}

// Symbol returns the address of an exported function, 0 if it is missing or hidden.
func (l *Library) Symbol(name string) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.found[name]; ok {
		return p
	}
	var p uintptr
	if !slices.Contains(l.Hidden, name) {
		for _, h := range l.handles {
			if p = dlsym(h, name); p != 0 {
				break
			}
		}
	}
	if l.found == nil {
		l.found = map[string]uintptr{}
	}
	l.found[name] = p
	return p
}

// Lists reports whether operators can be called with lists and strings.
func (l *Library) Lists() bool { return l.procs.CallDispatcher != 0 && l.procs.NewList != 0 }

// Words reports whether the ABI returns torch's error messages. If not, messages are read from standard error.
func (l *Library) Words() bool { return l.procs.What != 0 }

// Adopts reports whether torch calls a function when it no longer uses memory that the caller owns.
func (l *Library) Adopts() bool { return l.procs.BlobDeleter != 0 }

// Computes returns the number of threads that torch computes with, or 0 if it is unknown.
func (l *Library) Computes() int {
	if l.procs.Threads == 0 {
		return 0
	}
	n := new(uint32)
	if r, _, _ := purego.SyscallN(l.procs.Threads, uintptr(unsafe.Pointer(n))); int32(r) != 0 {
		return 0
	}
	return int(*n)
}

// Devices returns the number of devices of a kind. It is 0 for all kinds except CPU and CUDA, which includes AMD GPUs.
func (l *Library) Devices(kind int32) int {
	switch kind {
	case CPU:
		return 1
	case CUDA:
		for _, name := range []string{"cudaGetDeviceCount", "hipGetDeviceCount"} {
			if p := l.Symbol(name); p != 0 {
				n := new(int32)
				if r, _, _ := purego.SyscallN(p, uintptr(unsafe.Pointer(n))); int32(r) == 0 {
					return int(*n)
				}
			}
		}
	}
	return 0
}

// DeviceMemory returns the size of a device's memory in bytes, or 0 if it is unknown.
func (l *Library) DeviceMemory(d Device) int64 {
	set, get := l.Symbol("cudaSetDevice"), l.Symbol("cudaMemGetInfo")
	if d.Kind != CUDA || set == 0 || get == 0 {
		return 0
	}
	m := new([2]uint64)
	if r, _, _ := purego.SyscallN(set, uintptr(d.Index)); int32(r) != 0 {
		return 0
	}
	if r, _, _ := purego.SyscallN(get, uintptr(unsafe.Pointer(&m[0])), uintptr(unsafe.Pointer(&m[1]))); int32(r) != 0 {
		return 0
	}
	return int64(m[1])
}

// setEnvironment sets environment variables for the libraries: the number of threads, and unless o allows TF32, full f32 precision. By
// default torch lets cuDNN use TF32, and the C ABI has no function to change this. The libraries read C's environment, which is separate
// from Go's.
func setEnvironment(o Options) {
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return
	}
	set := func(name, value string) {
		purego.SyscallN(setenv, uintptr(unsafe.Pointer(cString(name))), uintptr(unsafe.Pointer(cString(value))), 1)
	}
	if o.Threads > 0 {
		set("OMP_NUM_THREADS", strconv.Itoa(o.Threads))
		set("MKL_NUM_THREADS", strconv.Itoa(o.Threads))
	}
	if !o.TF32 {
		set("NVIDIA_TF32_OVERRIDE", "0")
	}
}

func dlopen(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
}

func dlsym(handle uintptr, name string) uintptr {
	address, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return address
}

// cString returns a copy of s that ends with a zero byte.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
