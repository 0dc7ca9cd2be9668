package native

import "unsafe"

// The structs below are declared in webgpu.h and wgpu.h, version 29, as C lays them out on 64-bit platforms: structs_test.go compares sizes
// and offsets with the results of a C compiler. Handles are addresses that the library returned.

type handle = uintptr

type view struct {
	data   unsafe.Pointer
	length uintptr
}

// viewOf returns a view of a string, valid during a call.
func viewOf(s string) view { return view{unsafe.Pointer(unsafe.StringData(s)), uintptr(len(s))} }

type chained struct {
	next  unsafe.Pointer
	sType uint32
	_     uint32
}

const shaderSourceWGSL = 2

// callbackInfo is WGPURequestDeviceCallbackInfo and all other callback infos of that form.
type callbackInfo struct {
	next     unsafe.Pointer
	mode     uint32
	_        uint32
	callback uintptr
	user1    uintptr
	user2    uintptr
}

const (
	allowProcessEvents = 2
	allowSpontaneous   = 3
)

// errorCallbackInfo is WGPUUncapturedErrorCallbackInfo.
type errorCallbackInfo struct {
	next     unsafe.Pointer
	callback uintptr
	user1    uintptr
	user2    uintptr
}

type enumerateOptions struct {
	next     unsafe.Pointer
	backends uint64
}

// primaryBackends are Vulkan, Metal and Direct3D 12.
const primaryBackends = 1<<0 | 1<<2 | 1<<3

type adapterInfo struct {
	next                                      unsafe.Pointer
	vendor, architecture, device, description view
	backendType, adapterType                  uint32
	vendorID, deviceID                        uint32
	subgroupMinSize, subgroupMaxSize          uint32
}

type limits struct {
	next                                                                         unsafe.Pointer
	maxTextureDimension1D, maxTextureDimension2D, maxTextureDimension3D          uint32
	maxTextureArrayLayers, maxBindGroups, maxBindGroupsPlusVertexBuffers         uint32
	maxBindingsPerBindGroup                                                      uint32
	maxDynamicUniformBuffersPerPipelineLayout                                    uint32
	maxDynamicStorageBuffersPerPipelineLayout                                    uint32
	maxSampledTexturesPerShaderStage, maxSamplersPerShaderStage                  uint32
	maxStorageBuffersPerShaderStage, maxStorageTexturesPerShaderStage            uint32
	maxUniformBuffersPerShaderStage                                              uint32
	maxUniformBufferBindingSize, maxStorageBufferBindingSize                     uint64
	minUniformBufferOffsetAlignment, minStorageBufferOffsetAlignment             uint32
	maxVertexBuffers                                                             uint32
	maxBufferSize                                                                uint64
	maxVertexAttributes, maxVertexBufferArrayStride                              uint32
	maxInterStageShaderVariables, maxColorAttachments                            uint32
	maxColorAttachmentBytesPerSample                                             uint32
	maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup            uint32
	maxComputeWorkgroupSizeX, maxComputeWorkgroupSizeY, maxComputeWorkgroupSizeZ uint32
	maxComputeWorkgroupsPerDimension, maxImmediateSize                           uint32
}

type queueDescriptor struct {
	next  unsafe.Pointer
	label view
}

type deviceDescriptor struct {
	next                 unsafe.Pointer
	label                view
	requiredFeatureCount uintptr
	requiredFeatures     unsafe.Pointer
	requiredLimits       unsafe.Pointer
	defaultQueue         queueDescriptor
	lost                 callbackInfo
	uncaptured           errorCallbackInfo
}

type bufferDescriptor struct {
	next             unsafe.Pointer
	label            view
	usage            uint64
	size             uint64
	mappedAtCreation uint32
}

const (
	usageMapRead = 1 << 0
	usageCopySrc = 1 << 2
	usageCopyDst = 1 << 3
	usageUniform = 1 << 6
	usageStorage = 1 << 7
	mapModeRead  = 1
)

// labelled is WGPUShaderModuleDescriptor, WGPUCommandEncoderDescriptor and WGPUCommandBufferDescriptor.
type labelled struct {
	next  unsafe.Pointer
	label view
}

type shaderWGSL struct {
	chain chained
	code  view
}

type computeState struct {
	next          unsafe.Pointer
	module        handle
	entryPoint    view
	constantCount uintptr
	constants     unsafe.Pointer
}

type computePipelineDescriptor struct {
	next    unsafe.Pointer
	label   view
	layout  handle
	compute computeState
}

type layoutEntry struct {
	next             unsafe.Pointer
	binding          uint32
	_                uint32
	visibility       uint64
	bindingArraySize uint32
	_                uint32
	buffer           bufferLayout
	sampler          samplerLayout
	texture          textureLayout
	storageTexture   textureLayout
}

type bufferLayout struct {
	next             unsafe.Pointer
	kind             uint32
	hasDynamicOffset uint32
	minBindingSize   uint64
}

const (
	bindingUniform = 2
	bindingStorage = 3
	stageCompute   = 4
)

type samplerLayout struct {
	next unsafe.Pointer
	kind uint32
	_    uint32
}

// textureLayout is WGPUTextureBindingLayout and WGPUStorageTextureBindingLayout.
type textureLayout struct {
	next    unsafe.Pointer
	a, b, c uint32
	_       uint32
}

type layoutDescriptor struct {
	next       unsafe.Pointer
	label      view
	entryCount uintptr
	entries    unsafe.Pointer
}

type pipelineLayoutDescriptor struct {
	next                 unsafe.Pointer
	label                view
	bindGroupLayoutCount uintptr
	bindGroupLayouts     unsafe.Pointer
	immediateSize        uint32
	_                    uint32
}

type groupDescriptor struct {
	next       unsafe.Pointer
	label      view
	layout     handle
	entryCount uintptr
	entries    unsafe.Pointer
}

type groupEntry struct {
	next        unsafe.Pointer
	binding     uint32
	_           uint32
	buffer      handle
	offset      uint64
	size        uint64
	sampler     handle
	textureView handle
}

// Features that are requested if an adapter has them.
const (
	featureSubgroups       = 0x12
	featureNativeSubgroup  = 0x00030021
	featureSubgroupBarrier = 0x00030023
)
