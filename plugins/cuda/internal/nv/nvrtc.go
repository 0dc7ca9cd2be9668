package nv

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// NVRTC compiles CUDA C++ text at run time. It needs no device. Its methods may be called from several goroutines.
type NVRTC struct {
	Major, Minor int
	c            nvrtcProcs
}

type nvrtcProcs struct {
	errorString proc `c:"nvrtcGetErrorString"`
	version     proc `c:"nvrtcVersion"`
	archCount   proc `c:"nvrtcGetNumSupportedArchs"`
	archs       proc `c:"nvrtcGetSupportedArchs"`
	create      proc `c:"nvrtcCreateProgram"`
	destroy     proc `c:"nvrtcDestroyProgram"`
	compile     proc `c:"nvrtcCompileProgram"`
	logSize     proc `c:"nvrtcGetProgramLogSize"`
	log         proc `c:"nvrtcGetProgramLog"`
	cubinSize   proc `c:"nvrtcGetCUBINSize"`
	cubin       proc `c:"nvrtcGetCUBIN"`
	ptxSize     proc `c:"nvrtcGetPTXSize"`
	ptx         proc `c:"nvrtcGetPTX"`
}

const nvrtcName = "NVRTC"

func openNVRTC(handle uintptr, driver int) (*NVRTC, error) {
	n := &NVRTC{}
	if err := vendor.Bind(handle, &n.c); err != nil {
		return nil, err
	}
	var v [2]int32
	if err := n.check(&n.c.version, n.c.version.Call(uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))); err != nil {
		return nil, err
	}
	n.Major, n.Minor = int(v[0]), int(v[1])
	return n, tooNew(n.Major, driver)
}

func (n *NVRTC) check(p *proc, code int32) error {
	if code == 0 {
		return nil
	}
	e := &Error{Library: nvrtcName, Call: p.Name, Code: int(code), Name: vendor.Text(n.c.errorString.Word(uintptr(code)))}
	if code == 1 {
		e.Kind = ErrOutOfMemory
	}
	return e
}

// Architectures lists the compute capabilities that can be compiled for: 90 is 9.0.
func (n *NVRTC) Architectures() ([]int, error) {
	var count int32
	if err := n.check(&n.c.archCount, n.c.archCount.Call(uintptr(unsafe.Pointer(&count)))); err != nil {
		return nil, err
	}
	raw := make([]int32, max(count, 1))
	if err := n.check(&n.c.archs, n.c.archs.Call(uintptr(unsafe.Pointer(&raw[0])))); err != nil {
		return nil, err
	}
	archs := make([]int, count)
	for i := range archs {
		archs[i] = int(raw[i])
	}
	return archs, nil
}

// CompileError is the error for a program that does not compile.
type CompileError struct {
	Name string // name of the program
	Log  string // the compiler's messages
	Err  error
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("%s: compile %s: %v\n%s", nvrtcName, e.Name, e.Err, strings.TrimSpace(e.Log))
}

func (e *CompileError) Unwrap() error { return e.Err }

// Compile compiles a program to machine code for an architecture such as sm_90a, or to PTX text for an architecture such as compute_90. The
// program includes nothing from a toolkit, and its kernels are extern "C". Options are NVRTC's options except the architecture. The log
// contains warnings and errors.
func (n *NVRTC) Compile(name, source, architecture string, options ...string) (image []byte, log string, err error) {
	var program uintptr
	if err := n.check(&n.c.create, n.c.create.Call(uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(vendor.CString(source))),
		uintptr(unsafe.Pointer(vendor.CString(name))), 0, 0, 0)); err != nil {
		return nil, "", err
	}
	defer func() {
		p := &program
		n.c.destroy.Call(uintptr(unsafe.Pointer(p)))
	}()
	all := make([]*byte, 0, len(options)+1)
	all = append(all, vendor.CString("--gpu-architecture="+architecture))
	for _, o := range options {
		all = append(all, vendor.CString(o))
	}
	code := n.c.compile.Call(program, uintptr(len(all)), uintptr(unsafe.Pointer(&all[0])))
	runtime.KeepAlive(all)
	if said, err := n.read(&n.c.logSize, &n.c.log, program); err == nil {
		log = vendor.UpToZero(said)
	}
	if err := n.check(&n.c.compile, code); err != nil {
		return nil, log, &CompileError{Name: name, Log: log, Err: err}
	}
	if strings.HasPrefix(architecture, "sm_") {
		image, err = n.read(&n.c.cubinSize, &n.c.cubin, program)
	} else if image, err = n.read(&n.c.ptxSize, &n.c.ptx, program); err == nil {
		image = []byte(vendor.UpToZero(image))
	}
	return image, log, err
}

// read fetches a text or an image of a program through a pair of functions: one for the size, one for the bytes.
func (n *NVRTC) read(size, get *proc, program uintptr) ([]byte, error) {
	var bytes uint64
	if err := n.check(size, size.Call(program, uintptr(unsafe.Pointer(&bytes)))); err != nil || bytes == 0 {
		return nil, err
	}
	b := make([]byte, bytes)
	err := n.check(get, get.Call(program, uintptr(unsafe.Pointer(&b[0]))))
	return b, err
}
