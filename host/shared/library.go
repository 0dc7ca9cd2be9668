package shared

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/goburn/burn/core"
)

// entry is the symbol that a shared object exports.
const entry = "burn_backend_main"

// library is a loaded shared object. It stays loaded until the process ends: threads of the object may still be ending when its
// backend is closed.
type library struct {
	path string
	api  cAPI
}

var libraries = struct {
	sync.Mutex
	loaded map[string]*library
}{loaded: map[string]*library{}}

// open loads the object at path, once.
func open(path string) (*library, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	libraries.Lock()
	defer libraries.Unlock()
	if l := libraries.loaded[path]; l != nil {
		return l, nil
	}
	handle, err := dlopen(path)
	if err != nil {
		return nil, fmt.Errorf("shared: load %s: %w: %w", path, core.ErrNotFound, err)
	}
	main, err := dlsym(handle, entry)
	if err != nil || main == 0 {
		return nil, fmt.Errorf("shared: load %s: %w: it exports no %s, so it is no burn backend", path, core.ErrProtocol, entry)
	}
	l := &library{path: path}
	if l.api, err = table(main); err != nil {
		return nil, fmt.Errorf("shared: load %s: %w", path, err)
	}
	libraries.loaded[path] = l
	return l, nil
}

// table returns the functions of a library. If the library supports only an older version, table queries that version, so that the error
// can name it.
func table(main uintptr) (cAPI, error) {
	for version := uintptr(abiVersion); version > 0; version-- {
		address := invoke(main, version)
		if address == 0 {
			continue
		}
		api := load[cAPI](address)
		if api.abi != abiVersion {
			return api, mismatch(api.abi)
		}
		return api, api.check()
	}
	return cAPI{}, fmt.Errorf("%w: it speaks no version of the C ABI up to %d, that of this program: update burn, or get a build of the backend for version %d",
		core.ErrProtocol, abiVersion, abiVersion)
}

func mismatch(version uint32) error {
	remedy := "rebuild the backend with sdk/c of this burn, or install a newer release of it"
	if version > abiVersion {
		remedy = "update burn, or install an older release of the backend"
	}
	return fmt.Errorf("%w: it speaks version %d of the C ABI, this program version %d: %s", core.ErrProtocol, version, abiVersion, remedy)
}

// check returns an error if functions are missing in the table.
func (a *cAPI) check() error {
	if required := unsafe.Offsetof(a.supports); a.size < uint32(required) {
		return fmt.Errorf("%w: the table of functions has %d bytes, want %d or more", core.ErrProtocol, a.size, required)
	}
	for _, f := range []struct {
		name    string
		address uintptr
	}{{"open", a.open}, {"close", a.close}, {"info", a.info}, {"open_device", a.openDevice}, {"close_device", a.closeDevice},
		{"capabilities", a.capabilities}, {"upload", a.upload}, {"download", a.download}, {"release", a.release},
		{"open_queue", a.openQueue}, {"close_queue", a.closeQueue}, {"execute", a.execute}} {
		if f.address == 0 {
			return fmt.Errorf("%w: function %s is missing", core.ErrProtocol, f.name)
		}
	}
	for _, group := range [][]uintptr{{a.define, a.run, a.undefine}, {a.record, a.await, a.wait, a.enqueue, a.fetch}} {
		for _, f := range group {
			if (f == 0) != (group[0] == 0) {
				return fmt.Errorf("%w: a group of functions that belong together is there in part", core.ErrProtocol)
			}
		}
	}
	return nil
}

// caller calls functions of a library. It is not safe for concurrent use.
type caller struct {
	packer
	err  *cError
	args []uintptr
}

var callers = sync.Pool{New: func() any { return newCaller() }}

func newCaller() *caller {
	c := new(caller)
	c.err = place(&c.words, cError{head: headOf[cError]()}) // in memory that does not move
	return c
}

// borrow takes a caller from the pool for the calls of one function, and release returns it.
func borrow() *caller { return callers.Get().(*caller) }

func (c *caller) release() {
	c.reset()
	callers.Put(c)
}

// call calls a function whose last parameter is an error, and returns that error.
func (c *caller) call(f uintptr, args ...uintptr) error {
	c.err.code, c.err.node, c.err.text[0] = 0, 0, 0
	c.args = append(append(c.args[:0], args...), addressOf(c.err))
	r := invoke(f, c.args...)
	runtime.KeepAlive(c)
	return c.err.failure(int32(r))
}

// get is like call, for a function that returns an object through the parameter before the error.
func (c *caller) get(what string, f uintptr, args ...uintptr) (uintptr, error) {
	out := place[uintptr](&c.arena, 0)
	if err := c.call(f, append(args, addressOf(out))...); err != nil {
		return 0, err
	}
	if *out == 0 {
		return 0, fmt.Errorf("the library gave no %s: %w", what, core.ErrProtocol)
	}
	return *out, nil
}

// tell calls a function that reports no error, and returns its result.
func tell(f uintptr, args ...uintptr) uintptr {
	return invoke(f, args...)
}
