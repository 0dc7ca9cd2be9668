package nv

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Driver is the CUDA driver. Its methods may be called from several goroutines; the package comment explains what is bound to threads.
type Driver struct {
	Version int // the CUDA version that the driver supports: 13000 is 13.0
	Devices int // number of devices that this process sees
	c       driverProcs
	handle  uintptr
}

// driverProcs are the functions of libcuda. Versioned names belong to functions whose parameter structures this package lays out: libcuda
// keeps these versions in later major versions.
type driverProcs struct {
	init           proc `c:"cuInit"`
	driverVersion  proc `c:"cuDriverGetVersion"`
	errorName      proc `c:"cuGetErrorName"`
	errorString    proc `c:"cuGetErrorString"`
	deviceCount    proc `c:"cuDeviceGetCount"`
	deviceGet      proc `c:"cuDeviceGet"`
	deviceName     proc `c:"cuDeviceGetName"`
	deviceTotalMem proc `c:"cuDeviceTotalMem_v2"`
	deviceAttr     proc `c:"cuDeviceGetAttribute"`
	deviceUUID     proc `c:"cuDeviceGetUuid_v2|cuDeviceGetUuid"`

	primaryRetain    proc `c:"cuDevicePrimaryCtxRetain"`
	primaryRelease   proc `c:"cuDevicePrimaryCtxRelease_v2|cuDevicePrimaryCtxRelease"`
	ctxSetCurrent    proc `c:"cuCtxSetCurrent"`
	ctxGetCurrent    proc `c:"cuCtxGetCurrent"`
	ctxSynchronize   proc `c:"cuCtxSynchronize"`
	ctxGetLimit      proc `c:"cuCtxGetLimit"`
	ctxSetLimit      proc `c:"cuCtxSetLimit"`
	ctxPriorityRange proc `c:"cuCtxGetStreamPriorityRange"`

	moduleLoadDataEx proc `c:"cuModuleLoadDataEx"`
	moduleUnload     proc `c:"cuModuleUnload"`
	moduleFunction   proc `c:"cuModuleGetFunction"`
	moduleGlobal     proc `c:"cuModuleGetGlobal_v2"`
	funcSetAttr      proc `c:"cuFuncSetAttribute"`
	funcGetAttr      proc `c:"cuFuncGetAttribute"`
	occupancy        proc `c:"cuOccupancyMaxActiveBlocksPerMultiprocessor"`
	launch           proc `c:"cuLaunchKernel"`
	launchEx         proc `c:"cuLaunchKernelEx?"`
	launchHostFunc   proc `c:"cuLaunchHostFunc?"`

	streamCreate      proc `c:"cuStreamCreateWithPriority"`
	streamDestroy     proc `c:"cuStreamDestroy_v2"`
	streamSync        proc `c:"cuStreamSynchronize"`
	streamQuery       proc `c:"cuStreamQuery"`
	streamWaitEvent   proc `c:"cuStreamWaitEvent"`
	streamWriteValue  proc `c:"cuStreamWriteValue32_v2?"`
	eventCreate       proc `c:"cuEventCreate"`
	eventDestroy      proc `c:"cuEventDestroy_v2"`
	eventRecord       proc `c:"cuEventRecord"`
	eventQuery        proc `c:"cuEventQuery"`
	eventSync         proc `c:"cuEventSynchronize"`
	eventElapsed      proc `c:"cuEventElapsedTime_v2|cuEventElapsedTime"`
	streamBegin       proc `c:"cuStreamBeginCapture_v2"`
	streamEnd         proc `c:"cuStreamEndCapture"`
	streamIsCapturing proc `c:"cuStreamIsCapturing"`

	memInfo           proc `c:"cuMemGetInfo_v2"`
	memAlloc          proc `c:"cuMemAlloc_v2"`
	memFree           proc `c:"cuMemFree_v2"`
	memAllocAsync     proc `c:"cuMemAllocFromPoolAsync?"`
	memFreeAsync      proc `c:"cuMemFreeAsync?"`
	poolDefault       proc `c:"cuDeviceGetDefaultMemPool?"`
	poolCreate        proc `c:"cuMemPoolCreate?"`
	poolDestroy       proc `c:"cuMemPoolDestroy?"`
	poolSet           proc `c:"cuMemPoolSetAttribute?"`
	poolGet           proc `c:"cuMemPoolGetAttribute?"`
	poolTrim          proc `c:"cuMemPoolTrimTo?"`
	poolAccess        proc `c:"cuMemPoolSetAccess?"`
	hostAlloc         proc `c:"cuMemHostAlloc"`
	hostFree          proc `c:"cuMemFreeHost"`
	hostRegister      proc `c:"cuMemHostRegister_v2"`
	hostUnregister    proc `c:"cuMemHostUnregister"`
	hostDevicePointer proc `c:"cuMemHostGetDevicePointer_v2"`
	pointerAttr       proc `c:"cuPointerGetAttribute"`
	pointerAttrs      proc `c:"cuPointerGetAttributes"`

	copyHtoD proc `c:"cuMemcpyHtoDAsync_v2"`
	copyDtoH proc `c:"cuMemcpyDtoHAsync_v2"`
	copyDtoD proc `c:"cuMemcpyDtoDAsync_v2"`
	copyPeer proc `c:"cuMemcpyPeerAsync"`
	set8     proc `c:"cuMemsetD8Async"`
	set16    proc `c:"cuMemsetD16Async"`
	set32    proc `c:"cuMemsetD32Async"`

	canAccessPeer proc `c:"cuDeviceCanAccessPeer"`
	enablePeer    proc `c:"cuCtxEnablePeerAccess"`
	disablePeer   proc `c:"cuCtxDisablePeerAccess"`

	graphCreate       proc `c:"cuGraphCreate"`
	graphDestroy      proc `c:"cuGraphDestroy"`
	graphAddKernel    proc `c:"cuGraphAddKernelNode_v2"`
	graphAddMemcpy    proc `c:"cuGraphAddMemcpyNode"`
	graphAddMemset    proc `c:"cuGraphAddMemsetNode"`
	graphAddChild     proc `c:"cuGraphAddChildGraphNode"`
	graphAddEmpty     proc `c:"cuGraphAddEmptyNode"`
	graphNodes        proc `c:"cuGraphGetNodes"`
	graphNodeType     proc `c:"cuGraphNodeGetType"`
	graphInstantiate  proc `c:"cuGraphInstantiateWithFlags"`
	execDestroy       proc `c:"cuGraphExecDestroy"`
	execKernelParams  proc `c:"cuGraphExecKernelNodeSetParams_v2"`
	execMemcpyParams  proc `c:"cuGraphExecMemcpyNodeSetParams"`
	execMemsetParams  proc `c:"cuGraphExecMemsetNodeSetParams"`
	execChildParams   proc `c:"cuGraphExecChildGraphNodeSetParams"`
	graphUpload       proc `c:"cuGraphUpload"`
	graphLaunch       proc `c:"cuGraphLaunch"`
	graphKernelGet    proc `c:"cuGraphKernelNodeGetParams_v2"`
	graphMemTrim      proc `c:"cuDeviceGraphMemTrim?"`
	profilerStart     proc `c:"cuProfilerStart?"`
	profilerStop      proc `c:"cuProfilerStop?"`
	threadCaptureMode proc `c:"cuThreadExchangeStreamCaptureMode"`
}

const driverName = "CUDA driver"

// openDriver initialises the driver. If the driver can be loaded but not initialised, or has no device, it returns a driver whose Version
// is set, and an error.
func openDriver(handle uintptr) (*Driver, error) {
	d := &Driver{handle: handle}
	if err := vendor.Bind(handle, &d.c); err != nil {
		return nil, err
	}
	var n int32
	if err := d.check(&d.c.driverVersion, d.c.driverVersion.Call(uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	d.Version = int(n)
	if err := d.check(&d.c.init, d.c.init.Call(0)); err != nil {
		return d, err
	}
	if err := d.check(&d.c.deviceCount, d.c.deviceCount.Call(uintptr(unsafe.Pointer(&n)))); err != nil {
		return d, err
	}
	if d.Devices = int(n); n == 0 {
		return d, fmt.Errorf("%s: %w: it reports 0 devices", driverName, ErrNoDevice)
	}
	return d, nil
}

// Codes of the driver that this package handles.
const (
	codeOutOfMemory        = 2
	codeNotReady           = 600
	codePeerAlreadyEnabled = 704
)

// Symbol returns the address of a C function of the driver, or 0, for programs that call it without this package.
func (d *Driver) Symbol(name string) uintptr { return vendor.Symbol(d.handle, name) }

// check returns the error of a call that returned code.
func (d *Driver) check(p *proc, code int32) error {
	if code == 0 {
		return nil
	}
	return d.Failure(p.Name, int(code))
}

// Failure returns the error of a call that returned a code other than 0, made through this package or without it.
func (d *Driver) Failure(call string, code int) error {
	e := &Error{Library: driverName, Call: call, Code: code, Kind: driverKind(code)}
	var s uintptr
	if d.c.errorName.Call(uintptr(code), uintptr(unsafe.Pointer(&s))) == 0 {
		e.Name = vendor.Text(s)
	}
	if d.c.errorString.Call(uintptr(code), uintptr(unsafe.Pointer(&s))) == 0 {
		e.Text = vendor.Text(s)
	}
	return e
}

// driverKind returns the kind of failure for a code of the driver, or nil for other failures.
func driverKind(code int) error {
	switch code {
	case codeOutOfMemory:
		return ErrOutOfMemory
	case 34, 46, 100, 101, 803, 804: // stub library, unavailable, none, invalid ordinal, mismatch with the kernel module
		return ErrNoDevice
	case 801:
		return ErrUnsupported
	case 4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911, 999:
		// deinitialised, ECC, NVLink, contained, illegal address, timeout, context destroyed, assert, hardware stack, illegal
		// instruction, misaligned address, address space, program counter, launch failure, tensor memory, external device, unknown
		return ErrFault
	}
	return nil
}
