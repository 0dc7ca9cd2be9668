package shared

import (
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/goburn/burn/core"
)

// entry is the symbol that a shared object exports.
const entry = "burn_backend_main"

// library is a loaded shared object. It stays loaded until the process ends: threads of the object may still be on their
// way out when its backend is closed.
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
	address, _, _ := purego.SyscallN(main, abiVersion)
	if address == 0 {
		return nil, fmt.Errorf("shared: load %s: %w: it does not go with version %d of the C ABI", path, core.ErrProtocol, abiVersion)
	}
	l := &library{path: path, api: load[cAPI](address)}
	if err := l.api.check(); err != nil {
		return nil, fmt.Errorf("shared: load %s: %w", path, err)
	}
	libraries.loaded[path] = l
	return l, nil
}

func (a *cAPI) check() error {
	if a.abi == 0 || a.size < uint32(unsafe.Sizeof(*a)) {
		return fmt.Errorf("%w: table of functions has version %d and %d bytes, want version %d and %d or more",
			core.ErrProtocol, a.abi, a.size, abiVersion, unsafe.Sizeof(*a))
	}
	for _, f := range []struct {
		name    string
		address uintptr
	}{{"open", a.open}, {"close", a.close}, {"info", a.info}, {"capabilities", a.capabilities}, {"open_stream", a.openStream},
		{"submit", a.submit}, {"free_tensors", a.freeTensors}, {"write", a.write}, {"read", a.read}, {"sync", a.sync},
		{"close_stream", a.closeStream}} {
		if f.address == 0 {
			return fmt.Errorf("%w: function %s is missing", core.ErrProtocol, f.name)
		}
	}
	return nil
}

// call calls a function whose last parameter is an error, and gives that error.
func call(ops []string, f uintptr, args ...uintptr) error {
	var a arena // the error must lie where it does not move
	e := (*cError)(a.bytes(int(unsafe.Sizeof(cError{}))))
	e.head = headOf[cError]()
	r, _, _ := purego.SyscallN(f, append(args, uintptr(unsafe.Pointer(e)))...)
	return e.failure(int32(r), ops)
}
