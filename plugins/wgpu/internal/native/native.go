// Package native implements WebGPU with wgpu-native, a C library that is loaded when a process needs it: the calls of package webgpu
// through purego, without cgo. It belongs to the plugin wgpu. It computes nothing and does not repeat the checks of its callers.
//
// It calls version 29 of the library, whose structs are laid out in structs.go; other versions are refused.
package native

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// Version is the version of the library whose structs are laid out here.
const Version = 29

// API is the loaded library. It stays loaded until the process ends.
type API struct {
	procs
	Path     string
	version  string
	instance handle
	adapters func() ([]webgpu.Adapter, error)
}

var _ webgpu.API = (*API)(nil)

// Open loads the first library of paths that can be loaded. The error wraps core.ErrNotFound and says which files were tried and what to
// install.
func Open(paths []string) (*API, error) {
	var errs []error
	for _, path := range paths {
		a, err := load(path)
		if err == nil {
			return a, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return nil, fmt.Errorf("%w: wgpu-native %d: %w; %s", core.ErrNotFound, Version, errors.Join(errs...), installLibrary)
}

const installLibrary = "to get it: `make plugins-wgpu` puts it beside the plugin, or set BURN_WGPU_LIBRARY to the file"

const installDriver = "what has to be installed: a driver with Vulkan and its loader (Debian: libvulkan1, libxext6, and mesa-vulkan-drivers or NVIDIA's driver), " +
	"on Windows one with Direct3D 12 or Vulkan"

func load(path string) (*API, error) {
	library, err := dlopen(path)
	if err != nil {
		return nil, err
	}
	a := &API{Path: path}
	if err := bind(library, &a.procs); err != nil {
		return nil, err
	}
	v := uint32(a.GetVersion.call())
	a.version = fmt.Sprintf("wgpu-native %d.%d.%d.%d", v>>24, v>>16&0xff, v>>8&0xff, v&0xff)
	if v>>24 != Version {
		return nil, fmt.Errorf("it is %s, want version %d", a.version, Version)
	}
	if a.instance = a.CreateInstance.call(0); a.instance == 0 {
		return nil, errors.New("wgpuCreateInstance returned null")
	}
	a.adapters = sync.OnceValues(a.enumerate)
	return a, nil
}

// Adapters implements webgpu.API.
func (a *API) Adapters(context.Context) ([]webgpu.Adapter, error) { return a.adapters() }

func (a *API) enumerate() ([]webgpu.Adapter, error) {
	o := &enumerateOptions{backends: primaryBackends}
	n := a.InstanceEnumerateAdapters.call(a.instance, uintptr(unsafe.Pointer(o)), 0)
	if n == 0 {
		return nil, fmt.Errorf("%w: %s finds no adapter; %s", core.ErrNotFound, a.version, installDriver)
	}
	hs := make([]handle, n)
	n = min(n, a.InstanceEnumerateAdapters.call(a.instance, uintptr(unsafe.Pointer(o)), uintptr(unsafe.Pointer(&hs[0]))))
	var all []webgpu.Adapter
	for _, h := range hs[:n] {
		x := &adapter{api: a, h: h}
		if err := x.describe(); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// adapter is hardware, or software that replaces it.
type adapter struct {
	api      *API
	h        handle
	limits   limits // as the library reports them
	features []uint32
	facts    webgpu.Facts
}

var backends = map[uint32]string{4: "Direct3D 12", 5: "Metal", 6: "Vulkan", 7: "OpenGL", 8: "OpenGL ES"}

const (
	adapterDiscrete = 1
	adapterCPU      = 3
	backendVulkan   = 6
	statusSuccess   = 1
)

func (x *adapter) describe() error {
	a, i := x.api, new(adapterInfo) // the strings of adapterInfo are never freed, because they are few and describe is called once
	if s := a.AdapterGetInfo.call(x.h, uintptr(unsafe.Pointer(i))); uint32(s) != statusSuccess {
		return fmt.Errorf("%w: an adapter without description", core.ErrKernel)
	}
	l := new(limits)
	if s := a.AdapterGetLimits.call(x.h, uintptr(unsafe.Pointer(l))); uint32(s) != statusSuccess {
		return fmt.Errorf("%w: an adapter without limits", core.ErrKernel)
	}
	l.next = nil
	x.limits = *l
	x.facts = webgpu.Facts{
		Name: i.device.text(), Driver: i.description.text(), Backend: backends[i.backendType], Version: a.version,
		Software: i.adapterType == adapterCPU, Discrete: i.adapterType == adapterDiscrete, Alias: true, Together: true,
		Components: i.backendType == backendVulkan, // the library accesses only the component
		Limits: webgpu.Limits{
			BufferSize: clamp(l.maxBufferSize), StorageBinding: clamp(l.maxStorageBufferBindingSize), UniformBinding: clamp(l.maxUniformBufferBindingSize),
			StorageAlignment: int64(l.minStorageBufferOffsetAlignment), UniformAlignment: int64(l.minUniformBufferOffsetAlignment),
			StorageBuffers: int(l.maxStorageBuffersPerShaderStage), WorkgroupStorage: int(l.maxComputeWorkgroupStorageSize),
			WorkgroupThreads:  int(min(l.maxComputeInvocationsPerWorkgroup, l.maxComputeWorkgroupSizeX)),
			WorkgroupsPerAxis: int(l.maxComputeWorkgroupsPerDimension), BindingsPerGroup: int(l.maxBindingsPerBindGroup),
			UniformBuffers: int(l.maxUniformBuffersPerShaderStage), DynamicUniformBufs: int(l.maxDynamicUniformBuffersPerPipelineLayout),
		},
	}
	for _, f := range []uint32{featureSubgroups, featureNativeSubgroup, featureSubgroupBarrier} {
		if uint32(a.AdapterHasFeature.call(x.h, uintptr(f))) != 0 {
			x.features = append(x.features, f)
			if f != featureSubgroupBarrier {
				x.facts.Subgroups = [2]int{int(i.subgroupMinSize), int(i.subgroupMaxSize)}
			}
		}
	}
	return nil
}

func clamp(n uint64) int64 { return int64(min(n, 1<<62)) }

// Facts implements webgpu.Adapter.
func (x *adapter) Facts() webgpu.Facts { return x.facts }
