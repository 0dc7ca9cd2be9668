package amd

import (
	"runtime"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// RTC is hiprtc, which compiles HIP C++ at run time and needs no device. It may end the process, so it is called only in children, by one
// goroutine at a time.
type RTC struct {
	Major, Minor int
	c            rtcProcs
}

type rtcProcs struct {
	errorString vendor.Proc `c:"hiprtcGetErrorString"`
	version     vendor.Proc `c:"hiprtcVersion"`
	create      vendor.Proc `c:"hiprtcCreateProgram"`
	destroy     vendor.Proc `c:"hiprtcDestroyProgram"`
	compile     vendor.Proc `c:"hiprtcCompileProgram"`
	logSize     vendor.Proc `c:"hiprtcGetProgramLogSize"`
	log         vendor.Proc `c:"hiprtcGetProgramLog"`
	codeSize    vendor.Proc `c:"hiprtcGetCodeSize"`
	code        vendor.Proc `c:"hiprtcGetCode"`
}

const rtcName = "hiprtc"

func openRTC(handle uintptr) (*RTC, error) {
	c := &RTC{}
	if err := vendor.Bind(handle, &c.c); err != nil {
		return nil, err
	}
	var v [2]int32
	if err := c.check(&c.c.version, c.c.version.Call(uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))); err != nil {
		return nil, err
	}
	c.Major, c.Minor = int(v[0]), int(v[1])
	return c, nil
}

func (c *RTC) check(p *vendor.Proc, code int32) error {
	if code == 0 {
		return nil
	}
	e := &vendor.Error{Library: rtcName, Call: p.Name, Code: int(code), Name: vendor.Text(c.c.errorString.Word(uintptr(code)))}
	if code == 1 {
		e.Kind = vendor.ErrOutOfMemory
	}
	return e
}

// Compile compiles a text with options of hiprtc. The log holds the compiler's messages.
func (c *RTC) Compile(name, source string, options ...string) (code []byte, log string, err error) {
	var program uintptr
	if err := c.check(&c.c.create, c.c.create.Call(uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(vendor.CString(source))),
		uintptr(unsafe.Pointer(vendor.CString(name))), 0, 0, 0)); err != nil {
		return nil, "", err
	}
	defer func() {
		p := &program
		c.c.destroy.Call(uintptr(unsafe.Pointer(p)))
	}()
	all := make([]*byte, 0, len(options)+1)
	for _, o := range options {
		all = append(all, vendor.CString(o))
	}
	all = append(all, nil)
	status := c.c.compile.Call(program, uintptr(len(options)), uintptr(unsafe.Pointer(&all[0])))
	runtime.KeepAlive(all)
	if said, err := c.read(&c.c.logSize, &c.c.log, program); err == nil {
		log = vendor.UpToZero(said)
	}
	if err := c.check(&c.c.compile, status); err != nil {
		return nil, log, err
	}
	code, err = c.read(&c.c.codeSize, &c.c.code, program)
	return code, log, err
}

// read fetches a text or an image of a program through a pair of functions: one for the size, one for the bytes.
func (c *RTC) read(size, get *vendor.Proc, program uintptr) ([]byte, error) {
	var bytes uint64
	if err := c.check(size, size.Call(program, uintptr(unsafe.Pointer(&bytes)))); err != nil || bytes == 0 {
		return nil, err
	}
	b := make([]byte, bytes)
	err := c.check(get, get.Call(program, uintptr(unsafe.Pointer(&b[0]))))
	return b, err
}
