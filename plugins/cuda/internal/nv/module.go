package nv

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// FuncAttribute is a property of a function, by the driver's number.
type FuncAttribute = streams.FuncAttribute

// The attributes of functions that the plugin reads or sets.
const (
	FuncMaxThreads       FuncAttribute = 0
	FuncStaticShared     FuncAttribute = 1
	FuncConst            FuncAttribute = 2
	FuncLocal            FuncAttribute = 3 // bytes per thread: spills and arrays
	FuncRegisters        FuncAttribute = 4
	FuncMaxDynamicShared               = streams.FuncMaxDynamicShared // settable
	FuncCarveout         FuncAttribute = 9                            // settable, percent of the cache that is shared memory
	FuncNonPortable      FuncAttribute = 14
)

// Numbers of options of the driver's own compiler and linker.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// LoadModule loads a cubin, or PTX text, which the driver compiles. An error contains the compiler's log.
func (d *Driver) LoadModule(image []byte) (Module, error) {
	if len(image) == 0 {
		return 0, fmt.Errorf("%s: %s: no image", driverName, d.c.moduleLoadDataEx.Name)
	}
	if image[0] != 0x7f { // text: the driver reads up to a zero byte
		image = append(image[:len(image):len(image)], 0)
	}
	var m Module
	log := make([]byte, 8192)
	options := []uint32{jitErrorLog, jitErrorLogSize}
	values := &struct {
		log  *byte
		size uintptr
	}{&log[0], uintptr(len(log) - 1)}
	err := d.check(&d.c.moduleLoadDataEx, d.c.moduleLoadDataEx.Call(uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(values))))
	if err != nil {
		if said := strings.TrimSpace(vendor.UpToZero(log)); said != "" {
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}
	return m, err
}

// UnloadModule unloads a module. Its functions become invalid.
func (d *Driver) UnloadModule(m Module) error {
	return d.check(&d.c.moduleUnload, d.c.moduleUnload.Call(uintptr(m)))
}

// Function returns the kernel with the given name in a module.
func (d *Driver) Function(m Module, name string) (Function, error) {
	var f Function
	err := d.check(&d.c.moduleFunction, d.c.moduleFunction.Call(uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(vendor.CString(name)))))
	if err != nil {
		err = fmt.Errorf("%w: %s", err, name)
	}
	return f, err
}

// Global returns the address and the size in bytes of a variable of a module.
func (d *Driver) Global(m Module, name string) (Ptr, uint64, error) {
	var p Ptr
	var n uint64
	err := d.check(&d.c.moduleGlobal, d.c.moduleGlobal.Call(uintptr(unsafe.Pointer(&p)), uintptr(unsafe.Pointer(&n)), uintptr(m), uintptr(unsafe.Pointer(vendor.CString(name)))))
	return p, n, err
}

// FuncAttribute reads a property of a function.
func (d *Driver) FuncAttribute(f Function, a FuncAttribute) (int, error) {
	var n int32
	err := d.check(&d.c.funcGetAttr, d.c.funcGetAttr.Call(uintptr(unsafe.Pointer(&n)), uintptr(a), uintptr(f)))
	return int(n), err
}

// SetFuncAttribute sets a property of a function, such as FuncMaxDynamicShared for more than 48 KiB of shared memory.
func (d *Driver) SetFuncAttribute(f Function, a FuncAttribute, n int) error {
	return d.check(&d.c.funcSetAttr, d.c.funcSetAttr.Call(uintptr(f), uintptr(a), uintptr(n)))
}

// Occupancy returns the number of blocks, of the given threads and bytes of dynamic shared memory, that run on a multiprocessor at once.
func (d *Driver) Occupancy(f Function, threads, dynamicShared int) (int, error) {
	var n int32
	err := d.check(&d.c.occupancy, d.c.occupancy.Call(uintptr(unsafe.Pointer(&n)), uintptr(f), uintptr(threads), uintptr(dynamicShared)))
	return int(n), err
}
