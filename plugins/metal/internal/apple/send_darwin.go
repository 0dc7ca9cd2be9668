package apple

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// id is an object, 0 for nil.
type id = uintptr

// runtimeOf sends messages.
type runtimeOf struct {
	send      uintptr // objc_msgSend
	push      func() uintptr
	pop       func(uintptr)
	devices   func() id
	double    func(receiver id, selector uintptr) float64
	product   func(receiver id, selector, device, left, right, rows, columns, interior uintptr, alpha, beta float64) id
	supports  func(device id) bool // nil where the system has no Metal Performance Shaders
	selectors [messageCount]uintptr
}

// objective loads the frameworks once, and returns the functions that send messages.
var objective = sync.OnceValues(func() (r *runtimeOf, err error) {
	libraries := map[string]uintptr{}
	for _, path := range []string{objcLibrary, foundationLibrary, metalLibrary} {
		if libraries[path], err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL); err != nil {
			return nil, err
		}
	}
	// If Metal Performance Shaders are missing, burn's own kernels compute products.
	shaders, missing := purego.Dlopen(shadersLibrary, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if missing == nil {
		libraries[shadersLibrary] = shaders
	}
	addresses := map[string]uintptr{}
	for _, f := range functions {
		if f.library == shadersLibrary && missing != nil {
			continue
		}
		if addresses[f.name], err = purego.Dlsym(libraries[f.library], f.name); err != nil {
			return nil, err
		}
	}
	r = &runtimeOf{send: addresses["objc_msgSend"]}
	purego.RegisterFunc(&r.push, addresses["objc_autoreleasePoolPush"])
	purego.RegisterFunc(&r.pop, addresses["objc_autoreleasePoolPop"])
	purego.RegisterFunc(&r.devices, addresses["MTLCopyAllDevices"])
	purego.RegisterFunc(&r.double, r.send)
	purego.RegisterFunc(&r.product, r.send)
	if missing == nil {
		purego.RegisterFunc(&r.supports, addresses["MPSSupportsMTLDevice"])
	}
	for i, m := range messages {
		r.selectors[i] = uintptr(objc.RegisterName(m.selector))
	}
	return r, nil
})

// class returns a class of the runtime, 0 if the system has no class of that name.
func class(name string) id { return id(objc.GetClass(name)) }

// Conversions of arguments, named after the types in the table of messages.
func object(x id) uintptr        { return x }
func unsigned(n uint64) uintptr  { return uintptr(n) }
func enumeration(n int) uintptr  { return uintptr(n) }
func selector(s uintptr) uintptr { return s }
func address(p unsafe.Pointer) uintptr {
	if never { // so that the compiler places the memory of p on the heap, where it does not move
		escaped = p
	}
	return uintptr(p)
}
func double(f float64) float64     { return f }
func size(s *[3]uint64) *[3]uint64 { return s }
func boolean(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}

var (
	never   bool
	escaped unsafe.Pointer
)

// message sends a message whose arguments are integers and pointers. The caller keeps the memory alive that they point to.
func (r *runtimeOf) message(m int, receiver id, args ...uintptr) uintptr {
	var list [8]uintptr
	list[0], list[1] = receiver, r.selectors[m]
	n := copy(list[2:], args)
	result, _, _ := purego.SyscallN(r.send, list[:2+n]...)
	return result
}

// messageSizes sends a message whose two arguments are structs of 24 bytes. The System V ABI of amd64 passes them on the stack, after the
// arguments in registers; the ABI of arm64 passes their addresses.
func (r *runtimeOf) messageSizes(m int, receiver id, a, b *[3]uint64) {
	if runtime.GOARCH == "amd64" {
		purego.SyscallN(r.send, receiver, r.selectors[m], 0, 0, 0, 0, uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(b[0]), uintptr(b[1]), uintptr(b[2]))
		return
	}
	purego.SyscallN(r.send, receiver, r.selectors[m], uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// messageDouble sends a message without arguments whose result is a double.
func (r *runtimeOf) messageDouble(m int, receiver id) float64 {
	return r.double(receiver, r.selectors[m])
}

// messageProduct sends the message that creates a product: its last arguments are doubles, which are passed in registers of their own.
func (r *runtimeOf) messageProduct(m int, receiver id, device, left, right, rows, columns, interior uintptr, alpha, beta float64) id {
	return r.product(receiver, r.selectors[m], device, left, right, rows, columns, interior, alpha, beta)
}

// truth returns the BOOL of a result, which occupies only the lowest byte.
func truth(result uintptr) bool { return result&0xff != 0 }

// pooled runs f with an autorelease pool, which holds the objects that the system returns without ownership.
func (r *runtimeOf) pooled(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := r.push()
	defer r.pop(p)
	f()
}
