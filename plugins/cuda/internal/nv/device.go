package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Attribute is a property of a device, by the driver's number.
type Attribute int32

// The attributes that the plugin reads.
const (
	MaxThreadsPerBlock     Attribute = 1
	MaxGridX               Attribute = 5
	MaxGridY               Attribute = 6
	MaxGridZ               Attribute = 7
	MaxSharedPerBlock      Attribute = 8
	WarpSize               Attribute = 10
	MaxRegistersPerBlock   Attribute = 12
	ClockRate              Attribute = 13 // kHz
	Multiprocessors        Attribute = 16
	Integrated             Attribute = 18
	ConcurrentKernels      Attribute = 31
	ECCEnabled             Attribute = 32
	PCIBus                 Attribute = 33
	PCIDevice              Attribute = 34
	MemoryClockRate        Attribute = 36 // kHz
	MemoryBusWidth         Attribute = 37 // bits
	L2CacheSize            Attribute = 38
	MaxThreadsPerSM        Attribute = 39
	AsyncEngines           Attribute = 40
	PCIDomain              Attribute = 50
	ComputeMajor           Attribute = 75
	ComputeMinor           Attribute = 76
	MaxSharedPerSM         Attribute = 81
	MaxRegistersPerSM      Attribute = 82
	CooperativeLaunch      Attribute = 95
	MaxSharedPerBlockOptin Attribute = 97
	HostRegisterSupported  Attribute = 99
	MaxBlocksPerSM         Attribute = 106
	ReservedSharedPerBlock Attribute = 111
	MemoryPoolsSupported   Attribute = 115
	ClusterLaunch          Attribute = 120
)

// Device returns the device of an ordinal below Devices.
func (d *Driver) Device(ordinal int) (Device, error) {
	var dev Device
	err := d.check(&d.c.deviceGet, d.c.deviceGet.Call(uintptr(unsafe.Pointer(&dev)), uintptr(ordinal)))
	return dev, err
}

// Name returns the name of a device, as in "NVIDIA H200".
func (d *Driver) Name(dev Device) (string, error) {
	b := make([]byte, 256)
	if err := d.check(&d.c.deviceName, d.c.deviceName.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)-1), uintptr(dev))); err != nil {
		return "", err
	}
	return vendor.UpToZero(b), nil
}

// UUID identifies a device, also when it has another ordinal in another process.
func (d *Driver) UUID(dev Device) ([16]byte, error) {
	var id [16]byte
	err := d.check(&d.c.deviceUUID, d.c.deviceUUID.Call(uintptr(unsafe.Pointer(&id)), uintptr(dev)))
	return id, err
}

// TotalMemory returns the size of a device's memory in bytes.
func (d *Driver) TotalMemory(dev Device) (uint64, error) {
	var n uint64
	err := d.check(&d.c.deviceTotalMem, d.c.deviceTotalMem.Call(uintptr(unsafe.Pointer(&n)), uintptr(dev)))
	return n, err
}

// Attribute reads a property of a device.
func (d *Driver) Attribute(dev Device, a Attribute) (int, error) {
	var n int32
	err := d.check(&d.c.deviceAttr, d.c.deviceAttr.Call(uintptr(unsafe.Pointer(&n)), uintptr(a), uintptr(dev)))
	return int(n), err
}

// CanAccessPeer reports whether kernels on one device may read memory of another.
func (d *Driver) CanAccessPeer(dev, peer Device) (bool, error) {
	var n int32
	err := d.check(&d.c.canAccessPeer, d.c.canAccessPeer.Call(uintptr(unsafe.Pointer(&n)), uintptr(dev), uintptr(peer)))
	return n != 0, err
}
