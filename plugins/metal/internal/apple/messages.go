package apple

import "strings"

// message is an Objective-C message as Apple's headers declare it.
type message struct {
	on       string // class or protocol
	selector string
	takes    string // types of the arguments, with semicolons between them
	gives    string // type of the result
	header   string // header that declares the message, as in Metal/MTLDevice.h; objc/ is the runtime of Objective-C
	since    string // version of macOS, if it is later than the version that the plugin requires
}

// The messages that the package sends, as indices of messages.
const (
	allocInit = iota
	retain
	release
	respondsToSelector
	stringWithUTF8
	utf8
	arrayCount
	arrayObject
	errorCode
	errorText
	processInfo
	systemVersion
	deviceName
	deviceMemory
	deviceLargest
	deviceShared
	deviceUnified
	deviceRemovable
	deviceFamily
	deviceAllocated
	newBuffer
	newLibrary
	newPipeline
	newQueue
	newEvent
	fastMath
	mathMode
	newFunction
	pipelineThreads
	pipelineWidth
	commandBuffer
	computeEncoder
	encodeWait
	encodeSignal
	commit
	status
	commandError
	gpuEnd
	setPipeline
	setBuffer
	setBytes
	dispatch
	endEncoding
	bufferContents
	eventValue
	eventWait
	alloc
	initProduct
	encodeProduct
	matrixDescriptor
	initMatrix
	messageCount
)

// messages describes every message that the package sends.
var messages = [messageCount]message{
	allocInit:          {"NSObject", "new", "", "instancetype", "objc/NSObject.h", ""},
	retain:             {"NSObject", "retain", "", "instancetype", "objc/NSObject.h", ""},
	release:            {"NSObject", "release", "", "void", "objc/NSObject.h", ""},
	respondsToSelector: {"NSObject", "respondsToSelector:", "SEL", "BOOL", "objc/NSObject.h", ""},
	stringWithUTF8:     {"NSString", "stringWithUTF8String:", "const char *", "instancetype", "Foundation/NSString.h", ""},
	utf8:               {"NSString", "UTF8String", "", "const char *", "Foundation/NSString.h", ""},
	arrayCount:         {"NSArray", "count", "", "NSUInteger", "Foundation/NSArray.h", ""},
	arrayObject:        {"NSArray", "objectAtIndex:", "NSUInteger", "id", "Foundation/NSArray.h", ""},
	errorCode:          {"NSError", "code", "", "NSInteger", "Foundation/NSError.h", ""},
	errorText:          {"NSError", "localizedDescription", "", "NSString *", "Foundation/NSError.h", ""},
	processInfo:        {"NSProcessInfo", "processInfo", "", "NSProcessInfo *", "Foundation/NSProcessInfo.h", ""},
	systemVersion:      {"NSProcessInfo", "operatingSystemVersionString", "", "NSString *", "Foundation/NSProcessInfo.h", ""},
	deviceName:         {"MTLDevice", "name", "", "NSString *", "Metal/MTLDevice.h", ""},
	deviceMemory:       {"MTLDevice", "recommendedMaxWorkingSetSize", "", "uint64_t", "Metal/MTLDevice.h", ""},
	deviceLargest:      {"MTLDevice", "maxBufferLength", "", "NSUInteger", "Metal/MTLDevice.h", ""},
	deviceShared:       {"MTLDevice", "maxThreadgroupMemoryLength", "", "NSUInteger", "Metal/MTLDevice.h", ""},
	deviceUnified:      {"MTLDevice", "hasUnifiedMemory", "", "BOOL", "Metal/MTLDevice.h", ""},
	deviceRemovable:    {"MTLDevice", "isRemovable", "", "BOOL", "Metal/MTLDevice.h", ""},
	deviceFamily:       {"MTLDevice", "supportsFamily:", "MTLGPUFamily", "BOOL", "Metal/MTLDevice.h", ""},
	deviceAllocated:    {"MTLDevice", "currentAllocatedSize", "", "NSUInteger", "Metal/MTLDevice.h", ""},
	newBuffer:          {"MTLDevice", "newBufferWithLength:options:", "NSUInteger; MTLResourceOptions", "id<MTLBuffer>", "Metal/MTLDevice.h", ""},
	newLibrary:         {"MTLDevice", "newLibraryWithSource:options:error:", "NSString *; MTLCompileOptions *; NSError **", "id<MTLLibrary>", "Metal/MTLDevice.h", ""},
	newPipeline: {"MTLDevice", "newComputePipelineStateWithFunction:error:", "id<MTLFunction>; NSError **", "id<MTLComputePipelineState>",
		"Metal/MTLDevice.h", ""},
	newQueue:        {"MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", "NSUInteger", "id<MTLCommandQueue>", "Metal/MTLDevice.h", ""},
	newEvent:        {"MTLDevice", "newSharedEvent", "", "id<MTLSharedEvent>", "Metal/MTLDevice.h", ""},
	fastMath:        {"MTLCompileOptions", "setFastMathEnabled:", "BOOL", "void", "Metal/MTLLibrary.h", ""},
	mathMode:        {"MTLCompileOptions", "setMathMode:", "MTLMathMode", "void", "Metal/MTLLibrary.h", "15.0"},
	newFunction:     {"MTLLibrary", "newFunctionWithName:", "NSString *", "id<MTLFunction>", "Metal/MTLLibrary.h", ""},
	pipelineThreads: {"MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", "", "NSUInteger", "Metal/MTLComputePipeline.h", ""},
	pipelineWidth:   {"MTLComputePipelineState", "threadExecutionWidth", "", "NSUInteger", "Metal/MTLComputePipeline.h", ""},
	commandBuffer:   {"MTLCommandQueue", "commandBuffer", "", "id<MTLCommandBuffer>", "Metal/MTLCommandQueue.h", ""},
	computeEncoder:  {"MTLCommandBuffer", "computeCommandEncoder", "", "id<MTLComputeCommandEncoder>", "Metal/MTLCommandBuffer.h", ""},
	encodeWait:      {"MTLCommandBuffer", "encodeWaitForEvent:value:", "id<MTLEvent>; uint64_t", "void", "Metal/MTLCommandBuffer.h", ""},
	encodeSignal:    {"MTLCommandBuffer", "encodeSignalEvent:value:", "id<MTLEvent>; uint64_t", "void", "Metal/MTLCommandBuffer.h", ""},
	commit:          {"MTLCommandBuffer", "commit", "", "void", "Metal/MTLCommandBuffer.h", ""},
	status:          {"MTLCommandBuffer", "status", "", "MTLCommandBufferStatus", "Metal/MTLCommandBuffer.h", ""},
	commandError:    {"MTLCommandBuffer", "error", "", "NSError *", "Metal/MTLCommandBuffer.h", ""},
	gpuEnd:          {"MTLCommandBuffer", "GPUEndTime", "", "CFTimeInterval", "Metal/MTLCommandBuffer.h", ""},
	setPipeline:     {"MTLComputeCommandEncoder", "setComputePipelineState:", "id<MTLComputePipelineState>", "void", "Metal/MTLComputeCommandEncoder.h", ""},
	setBuffer: {"MTLComputeCommandEncoder", "setBuffer:offset:atIndex:", "id<MTLBuffer>; NSUInteger; NSUInteger", "void",
		"Metal/MTLComputeCommandEncoder.h", ""},
	setBytes: {"MTLComputeCommandEncoder", "setBytes:length:atIndex:", "const void *; NSUInteger; NSUInteger", "void",
		"Metal/MTLComputeCommandEncoder.h", ""},
	dispatch: {"MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", "MTLSize; MTLSize", "void",
		"Metal/MTLComputeCommandEncoder.h", ""},
	endEncoding:    {"MTLCommandEncoder", "endEncoding", "", "void", "Metal/MTLCommandEncoder.h", ""},
	bufferContents: {"MTLBuffer", "contents", "", "void *", "Metal/MTLBuffer.h", ""},
	eventValue:     {"MTLSharedEvent", "signaledValue", "", "uint64_t", "Metal/MTLEvent.h", ""},
	eventWait:      {"MTLSharedEvent", "waitUntilSignaledValue:timeoutMS:", "uint64_t; uint64_t", "BOOL", "Metal/MTLEvent.h", "12.0"},
	alloc:          {"NSObject", "alloc", "", "instancetype", "objc/NSObject.h", ""},
	initProduct: {"MPSMatrixMultiplication", "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",
		"id<MTLDevice>; BOOL; BOOL; NSUInteger; NSUInteger; NSUInteger; double; double", "instancetype", "MPSMatrix/MPSMatrixMultiplication.h", ""},
	encodeProduct: {"MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", "id<MTLCommandBuffer>; MPSMatrix *; MPSMatrix *; MPSMatrix *",
		"void", "MPSMatrix/MPSMatrixMultiplication.h", ""},
	matrixDescriptor: {"MPSMatrixDescriptor", "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:",
		"NSUInteger; NSUInteger; NSUInteger; NSUInteger; NSUInteger; MPSDataType", "instancetype", "MPSCore/MPSMatrix.h", ""},
	initMatrix: {"MPSMatrix", "initWithBuffer:offset:descriptor:", "id<MTLBuffer>; NSUInteger; MPSMatrixDescriptor *", "instancetype", "MPSCore/MPSMatrix.h", ""},
}

// arguments returns the types of the arguments.
func (m message) arguments() []string {
	if m.takes == "" {
		return nil
	}
	return strings.Split(m.takes, "; ")
}

// declaration returns the message as Objective-C declares it, without the names of arguments.
func (m message) declaration() string {
	sign := "-"
	switch m.selector {
	case "new", "alloc", "stringWithUTF8String:", "processInfo", "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:":
		sign = "+"
	}
	text := sign + " (" + m.gives + ")"
	args := m.arguments()
	if len(args) == 0 {
		return text + m.selector
	}
	for i, part := range strings.SplitAfter(strings.TrimSuffix(m.selector, ":"), ":") {
		if i > 0 {
			text += " "
		}
		text += strings.TrimSuffix(part, ":") + ":(" + args[i] + ")"
	}
	return text
}

// functions lists the C functions that the package calls, each with its library.
var functions = [...]struct{ name, declaration, header, library string }{
	{"MTLCopyAllDevices", "NSArray<id<MTLDevice>> *MTLCopyAllDevices(void)", "Metal/MTLDevice.h", metalLibrary},
	{"MPSSupportsMTLDevice", "BOOL MPSSupportsMTLDevice(id<MTLDevice>)", "MPSCore/MPSCoreTypes.h", shadersLibrary},
	{"objc_msgSend", "void objc_msgSend(void)", "objc/message.h", objcLibrary},
	{"objc_autoreleasePoolPush", "void *objc_autoreleasePoolPush(void)", "objc-internal.h; clang's document of automatic reference counting", objcLibrary},
	{"objc_autoreleasePoolPop", "void objc_autoreleasePoolPop(void *)", "objc-internal.h; clang's document of automatic reference counting", objcLibrary},
}

const (
	metalLibrary      = "/System/Library/Frameworks/Metal.framework/Metal"
	foundationLibrary = "/System/Library/Frameworks/Foundation.framework/Foundation"
	shadersLibrary    = "/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders"
	objcLibrary       = "/usr/lib/libobjc.A.dylib"
)
