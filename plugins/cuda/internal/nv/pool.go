package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// PoolAttribute is a property of a memory pool, by the driver's number.
type PoolAttribute int32

// Properties of pools, in bytes.
const (
	PoolThreshold    PoolAttribute = 4 // bytes that the pool keeps at a synchronisation; settable
	PoolReserved     PoolAttribute = 5 // bytes that the pool has reserved from the device
	PoolReservedHigh PoolAttribute = 6 // greatest value of PoolReserved; settable to 0
	PoolUsed         PoolAttribute = 7 // bytes of allocations
	PoolUsedHigh     PoolAttribute = 8 // greatest value of PoolUsed; settable to 0
)

// poolProps is CUmemPoolProps.
type poolProps struct {
	allocType, handleTypes   uint32
	locationType, locationID int32
	win32SecurityAttributes  uintptr
	maxSize                  uint64
	usage                    uint16
	reserved                 [54]byte
}

// locationDevice is CU_MEM_LOCATION_TYPE_DEVICE.
const locationDevice = 1

// DefaultPool returns the default pool of a device.
func (d *Driver) DefaultPool(dev Device) (MemPool, error) {
	if !d.c.poolDefault.There() {
		return 0, vendor.Missing(driverName, d.c.poolDefault.Name)
	}
	var p MemPool
	err := d.check(&d.c.poolDefault, d.c.poolDefault.Call(uintptr(unsafe.Pointer(&p)), uintptr(dev)))
	return p, err
}

// NewPool creates a pool of a device's memory. A limit of 0 means no limit.
func (d *Driver) NewPool(dev Device, limit uint64) (MemPool, error) {
	if !d.c.poolCreate.There() {
		return 0, vendor.Missing(driverName, d.c.poolCreate.Name)
	}
	props := &poolProps{allocType: 1, locationType: locationDevice, locationID: int32(dev), maxSize: limit}
	var p MemPool
	err := d.check(&d.c.poolCreate, d.c.poolCreate.Call(uintptr(unsafe.Pointer(&p)), uintptr(unsafe.Pointer(props))))
	return p, err
}

// DestroyPool releases a pool when its last allocation is freed.
func (d *Driver) DestroyPool(p MemPool) error {
	return d.check(&d.c.poolDestroy, d.c.poolDestroy.Call(uintptr(p)))
}

// SetPool sets a property of a pool.
func (d *Driver) SetPool(p MemPool, a PoolAttribute, n uint64) error {
	return d.check(&d.c.poolSet, d.c.poolSet.Call(uintptr(p), uintptr(a), uintptr(unsafe.Pointer(&n))))
}

// Pool reads a property of a pool.
func (d *Driver) Pool(p MemPool, a PoolAttribute) (uint64, error) {
	var n uint64
	err := d.check(&d.c.poolGet, d.c.poolGet.Call(uintptr(p), uintptr(a), uintptr(unsafe.Pointer(&n))))
	return n, err
}

// TrimPool releases memory that is not in use to the device, down to keep bytes.
func (d *Driver) TrimPool(p MemPool, keep uint64) error {
	return d.check(&d.c.poolTrim, d.c.poolTrim.Call(uintptr(p), uintptr(keep)))
}

// SharePool grants or revokes another device's access to the memory of a pool, for reads and writes.
func (d *Driver) SharePool(p MemPool, peer Device, access bool) error {
	type desc struct {
		locationType, locationID int32
		flags                    uint32
	}
	m := &desc{locationType: locationDevice, locationID: int32(peer)}
	if access {
		m.flags = 3 // read and write
	}
	return d.check(&d.c.poolAccess, d.c.poolAccess.Call(uintptr(p), uintptr(unsafe.Pointer(m)), 1))
}
