package amd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// HIP is the runtime. It implements streams.Calls; its methods may be called from several goroutines.
type HIP struct {
	Version int // 50221153 is 5.2.21153
	Devices int // number of devices that this process sees
	c       procs
	images  sync.Map // image of each loaded module
}

var _ streams.Calls = (*HIP)(nil)

type procs struct {
	runtimeVersion vendor.Proc `c:"hipRuntimeGetVersion"`
	init           vendor.Proc `c:"hipInit"`
	errorName      vendor.Proc `c:"hipGetErrorName"`
	errorString    vendor.Proc `c:"hipGetErrorString"`
	deviceCount    vendor.Proc `c:"hipGetDeviceCount"`
	deviceGet      vendor.Proc `c:"hipDeviceGet"`
	deviceName     vendor.Proc `c:"hipDeviceGetName"`
	totalMem       vendor.Proc `c:"hipDeviceTotalMem"`
	attribute      vendor.Proc `c:"hipDeviceGetAttribute"`
	properties     vendor.Proc `c:"hipGetDevicePropertiesR0600|hipGetDeviceProperties"`
	setDevice      vendor.Proc `c:"hipSetDevice"`

	moduleLoad     vendor.Proc `c:"hipModuleLoadData"`
	moduleUnload   vendor.Proc `c:"hipModuleUnload"`
	moduleFunction vendor.Proc `c:"hipModuleGetFunction"`
	launch         vendor.Proc `c:"hipModuleLaunchKernel"`

	streamCreate  vendor.Proc `c:"hipStreamCreateWithPriority"`
	streamDestroy vendor.Proc `c:"hipStreamDestroy"`
	streamWait    vendor.Proc `c:"hipStreamWaitEvent"`
	streamBegin   vendor.Proc `c:"hipStreamBeginCapture"`
	streamEnd     vendor.Proc `c:"hipStreamEndCapture"`
	eventCreate   vendor.Proc `c:"hipEventCreateWithFlags"`
	eventDestroy  vendor.Proc `c:"hipEventDestroy"`
	eventRecord   vendor.Proc `c:"hipEventRecord"`
	eventQuery    vendor.Proc `c:"hipEventQuery"`
	eventSync     vendor.Proc `c:"hipEventSynchronize"`
	eventElapsed  vendor.Proc `c:"hipEventElapsedTime"`

	memInfo   vendor.Proc `c:"hipMemGetInfo"`
	malloc    vendor.Proc `c:"hipMalloc"`
	free      vendor.Proc `c:"hipFree"`
	hostAlloc vendor.Proc `c:"hipHostMalloc"`
	hostFree  vendor.Proc `c:"hipHostFree"`
	copyHtoD  vendor.Proc `c:"hipMemcpyHtoDAsync"`
	copyDtoH  vendor.Proc `c:"hipMemcpyDtoHAsync"`
	copyDtoD  vendor.Proc `c:"hipMemcpyDtoDAsync"`
	set8      vendor.Proc `c:"hipMemsetD8Async"`
	set16     vendor.Proc `c:"hipMemsetD16Async"`
	set32     vendor.Proc `c:"hipMemsetD32Async"`

	graphCreate  vendor.Proc `c:"hipGraphCreate"`
	graphDestroy vendor.Proc `c:"hipGraphDestroy"`
	addKernel    vendor.Proc `c:"hipGraphAddKernelNode"`
	addCopy      vendor.Proc `c:"hipGraphAddMemcpyNode1D"`
	addSet       vendor.Proc `c:"hipGraphAddMemsetNode"`
	addChild     vendor.Proc `c:"hipGraphAddChildGraphNode"`
	instantiate  vendor.Proc `c:"hipGraphInstantiateWithFlags"`
	execDestroy  vendor.Proc `c:"hipGraphExecDestroy"`
	setKernel    vendor.Proc `c:"hipGraphExecKernelNodeSetParams"`
	setCopy      vendor.Proc `c:"hipGraphExecMemcpyNodeSetParams1D"`
	setSet       vendor.Proc `c:"hipGraphExecMemsetNodeSetParams"`
	setChild     vendor.Proc `c:"hipGraphExecChildGraphNodeSetParams"`
	graphLaunch  vendor.Proc `c:"hipGraphLaunch"`
}

const (
	hipName      = "HIP runtime"
	codeNotReady = 600
)

// openHIP initialises the runtime. If the initialisation fails or there is no device, it returns the runtime together with the error, so
// that the version is known.
func openHIP(handle uintptr) (*HIP, error) {
	h := &HIP{}
	if err := vendor.Bind(handle, &h.c); err != nil {
		return nil, err
	}
	var n int32
	if err := h.check(&h.c.runtimeVersion, h.c.runtimeVersion.Call(uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	h.Version = int(n)
	if major, minor := h.Version/10000000, h.Version/100000%100; major < 5 || major == 5 && minor < 2 || major > 7 {
		return nil, fmt.Errorf("it is HIP %s, want 5.2 to 7", hipVersion(h.Version))
	}
	err := h.check(&h.c.init, h.c.init.Call(0))
	if err == nil {
		err = h.check(&h.c.deviceCount, h.c.deviceCount.Call(uintptr(unsafe.Pointer(&n))))
	}
	if h.Devices = int(n); err == nil && n == 0 {
		err = fmt.Errorf("%s: %w: it reports 0 devices", hipName, vendor.ErrNoDevice)
	} else if errors.Is(err, vendor.ErrNoDevice) {
		err = fmt.Errorf("%w that it may use: %w", vendor.ErrNoDevice, err)
	}
	return h, err
}

// check returns the error of a call that returned code.
func (h *HIP) check(p *vendor.Proc, code int32) error {
	if code == 0 {
		return nil
	}
	return &vendor.Error{Library: hipName, Call: p.Name, Code: int(code), Kind: kind(int(code)),
		Name: vendor.Text(h.c.errorName.Word(uintptr(code))), Text: vendor.Text(h.c.errorString.Word(uintptr(code)))}
}

// kind returns the kind of failure that a code of the runtime means.
func kind(code int) error {
	switch code {
	case 2:
		return vendor.ErrOutOfMemory
	case 35, 100, 101: // insufficient driver, none, invalid ordinal
		return vendor.ErrNoDevice
	case 801:
		return vendor.ErrUnsupported
	case 4, 53, 214, 700, 702, 709, 710, 719, 999, 1052, 1053:
		// deinitialised, an earlier launch, ECC, illegal address, timeout, context destroyed, assert, launch failure, unknown, HSA runtime
		return vendor.ErrFault
	}
	return nil
}

// Attribute is a property of a device, by HIP's number, which is the same in HIP 5.2 to 6.2.
type Attribute int32

// The attributes that the plugin reads.
const (
	MaxGridX           Attribute = 29
	MaxGridY           Attribute = 30
	MaxGridZ           Attribute = 31
	MaxThreadsPerBlock Attribute = 56
	MaxThreadsPerUnit  Attribute = 57
	Units              Attribute = 63
	MaxSharedPerBlock  Attribute = 74
	WarpSize           Attribute = 87
)

// Attribute reads a property of a device.
func (h *HIP) Attribute(dev streams.Device, a Attribute) (int, error) {
	var n int32
	err := h.check(&h.c.attribute, h.c.attribute.Call(uintptr(unsafe.Pointer(&n)), uintptr(a), uintptr(dev)))
	return int(n), err
}

// propertyBytes is larger than the structure of properties in any version.
const propertyBytes = 16 << 10

// Architecture returns the name of a device's architecture with its features, as compilers accept it: gfx90a:sramecc+:xnack-. The structure
// of properties differs between versions; the architecture is the only string behind the 256 bytes of the name that begins with gfx.
func (h *HIP) Architecture(dev streams.Device) (string, error) {
	b := make([]byte, propertyBytes)
	if err := h.check(&h.c.properties, h.c.properties.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(dev))); err != nil {
		return "", err
	}
	at := bytes.Index(b[256:], []byte("\x00gfx"))
	if at < 0 {
		return "", fmt.Errorf("%s: %s: %w: the device has no architecture that is called gfx", hipName, h.c.properties.Name, vendor.ErrUnsupported)
	}
	return strings.TrimSpace(vendor.UpToZero(b[256+at+1:])), nil
}

// Device implements streams.Calls.
func (h *HIP) Device(ordinal int) (streams.Device, error) {
	var dev streams.Device
	err := h.check(&h.c.deviceGet, h.c.deviceGet.Call(uintptr(unsafe.Pointer(&dev)), uintptr(ordinal)))
	return dev, err
}

// Name implements streams.Calls.
func (h *HIP) Name(dev streams.Device) (string, error) {
	b := make([]byte, 256)
	err := h.check(&h.c.deviceName, h.c.deviceName.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)-1), uintptr(dev)))
	return vendor.UpToZero(b), err
}

// TotalMemory implements streams.Calls.
func (h *HIP) TotalMemory(dev streams.Device) (uint64, error) {
	var n uint64
	err := h.check(&h.c.totalMem, h.c.totalMem.Call(uintptr(unsafe.Pointer(&n)), uintptr(dev)))
	return n, err
}

// RetainPrimary implements streams.Calls. There is nothing to retain: HIP creates the context of a device when it is first used.
func (h *HIP) RetainPrimary(dev streams.Device) (streams.Context, error) {
	return streams.Context(dev + 1), nil
}

// SetCurrent implements streams.Calls.
func (h *HIP) SetCurrent(ctx streams.Context) error {
	return h.check(&h.c.setDevice, h.c.setDevice.Quick(uintptr(ctx-1), 0, 0, 0))
}
