package native

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// cStructs lists structs of Go with the structs of C that have the same layout, and the names of their C fields in order, without padding.
var cStructs = []struct {
	value  any
	names  []string // of C structs with this layout
	fields string
}{
	{view{}, []string{"WGPUStringView"}, "data length"},
	{chained{}, []string{"WGPUChainedStruct"}, "next sType"},
	{callbackInfo{}, []string{"WGPURequestDeviceCallbackInfo", "WGPUDeviceLostCallbackInfo", "WGPUBufferMapCallbackInfo", "WGPUQueueWorkDoneCallbackInfo"},
		"nextInChain mode callback userdata1 userdata2"},
	{errorCallbackInfo{}, []string{"WGPUUncapturedErrorCallbackInfo"}, "nextInChain callback userdata1 userdata2"},
	{enumerateOptions{}, []string{"WGPUInstanceEnumerateAdapterOptions"}, "nextInChain backends"},
	{adapterInfo{}, []string{"WGPUAdapterInfo"},
		"nextInChain vendor architecture device description backendType adapterType vendorID deviceID subgroupMinSize subgroupMaxSize"},
	{limits{}, []string{"WGPULimits"}, ""},
	{queueDescriptor{}, []string{"WGPUQueueDescriptor"}, "nextInChain label"},
	{deviceDescriptor{}, []string{"WGPUDeviceDescriptor"},
		"nextInChain label requiredFeatureCount requiredFeatures requiredLimits defaultQueue deviceLostCallbackInfo uncapturedErrorCallbackInfo"},
	{bufferDescriptor{}, []string{"WGPUBufferDescriptor"}, "nextInChain label usage size mappedAtCreation"},
	{labelled{}, []string{"WGPUShaderModuleDescriptor", "WGPUCommandEncoderDescriptor", "WGPUCommandBufferDescriptor"}, "nextInChain label"},
	{shaderWGSL{}, []string{"WGPUShaderSourceWGSL"}, "chain code"},
	{computeState{}, []string{"WGPUComputeState"}, "nextInChain module entryPoint constantCount constants"},
	{computePipelineDescriptor{}, []string{"WGPUComputePipelineDescriptor"}, "nextInChain label layout compute"},
	{layoutEntry{}, []string{"WGPUBindGroupLayoutEntry"}, "nextInChain binding visibility bindingArraySize buffer sampler texture storageTexture"},
	{bufferLayout{}, []string{"WGPUBufferBindingLayout"}, "nextInChain type hasDynamicOffset minBindingSize"},
	{samplerLayout{}, []string{"WGPUSamplerBindingLayout"}, "nextInChain type"},
	{textureLayout{}, []string{"WGPUTextureBindingLayout"}, "nextInChain sampleType viewDimension multisampled"},
	{textureLayout{}, []string{"WGPUStorageTextureBindingLayout"}, "nextInChain access format viewDimension"},
	{layoutDescriptor{}, []string{"WGPUBindGroupLayoutDescriptor"}, "nextInChain label entryCount entries"},
	{pipelineLayoutDescriptor{}, []string{"WGPUPipelineLayoutDescriptor"}, "nextInChain label bindGroupLayoutCount bindGroupLayouts immediateSize"},
	{groupDescriptor{}, []string{"WGPUBindGroupDescriptor"}, "nextInChain label layout entryCount entries"},
	{groupEntry{}, []string{"WGPUBindGroupEntry"}, "nextInChain binding buffer offset size sampler textureView"},
}

// cConstants maps constants of C to the numbers that this package uses for them.
var cConstants = map[string]uint64{
	"WGPUSType_ShaderSourceWGSL": shaderSourceWGSL, "WGPUCallbackMode_AllowProcessEvents": allowProcessEvents, "WGPUCallbackMode_AllowSpontaneous": allowSpontaneous,
	"WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12": primaryBackends,
	"WGPUBufferUsage_MapRead": usageMapRead, "WGPUBufferUsage_CopySrc": usageCopySrc, "WGPUBufferUsage_CopyDst": usageCopyDst,
	"WGPUBufferUsage_Uniform": usageUniform, "WGPUBufferUsage_Storage": usageStorage, "WGPUMapMode_Read": mapModeRead,
	"WGPUBufferBindingType_Uniform": bindingUniform, "WGPUBufferBindingType_Storage": bindingStorage, "WGPUShaderStage_Compute": stageCompute,
	"WGPUFeatureName_Subgroups": featureSubgroups, "WGPUNativeFeature_Subgroup": featureNativeSubgroup, "WGPUNativeFeature_SubgroupBarrier": featureSubgroupBarrier,
	"WGPUErrorType_Validation": kindValidation, "WGPUErrorType_OutOfMemory": kindOutOfMemory, "WGPUAdapterType_DiscreteGPU": adapterDiscrete, "WGPUAdapterType_CPU": adapterCPU,
	"WGPUStatus_Success": statusSuccess, "WGPURequestDeviceStatus_Success": statusSuccess, "WGPUMapAsyncStatus_Success": statusSuccess, "WGPUQueueWorkDoneStatus_Success": statusSuccess,
}

// TestStructs compares sizes, offsets and numbers with those of the library's own headers, which are in the wheel beside it. It needs a C
// compiler.
func TestStructs(t *testing.T) {
	headers := filepath.Dir(os.Getenv("BURN_WGPU_LIBRARY"))
	if h := os.Getenv("BURN_WGPU_HEADERS"); h != "" {
		headers = h
	}
	if _, err := os.Stat(filepath.Join(headers, "webgpu.h")); headers == "." || err != nil {
		t.Skip("needs the headers of wgpu-native: set BURN_WGPU_HEADERS to their folder, as make wgpu does")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc: install it to compare with the headers")
	}
	var program, want strings.Builder
	program.WriteString("#include <stdio.h>\n#include <stddef.h>\n#include \"wgpu.h\"\nint main(void) {\n")
	for _, s := range cStructs {
		v := reflect.TypeOf(s.value)
		fields := strings.Fields(s.fields)
		var offsets []uintptr
		var goNames []string
		for i := range v.NumField() {
			if f := v.Field(i); f.Name != "_" {
				offsets, goNames = append(offsets, f.Offset), append(goNames, f.Name)
			}
		}
		if s.fields == "" { // those of Go have the names of C
			fields = goNames
			fields[0] = "nextInChain"
		}
		require.Len(t, fields, len(offsets), "fields of %v", v)
		for _, name := range s.names {
			fmt.Fprintf(&program, "printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name)
			fmt.Fprintf(&want, "%s %d\n", name, v.Size())
			for i, f := range fields {
				fmt.Fprintf(&program, "printf(\"%s.%s %%zu\\n\", offsetof(%s, %s));\n", name, f, name, f)
				fmt.Fprintf(&want, "%s.%s %d\n", name, f, offsets[i])
			}
		}
	}
	for name, n := range cConstants {
		fmt.Fprintf(&program, "printf(\"%s %%llu\\n\", (unsigned long long)(%s));\n", name, name)
		fmt.Fprintf(&want, "%s %d\n", name, n)
	}
	program.WriteString("return 0; }\n")
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	flat := flattened(t, headers, dir)
	out, err := exec.Command(cc, "-I", flat, "-o", exe, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got, err := exec.Command(exe).Output()
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(want.String()), string(bytes.TrimSpace(got)))
	require.Equal(t, uintptr(8), unsafe.Sizeof(handle(0)))
}

// flattened returns a folder with the headers side by side, as wgpu.h includes webgpu.h from one of several places.
func flattened(t *testing.T, from, to string) string {
	for _, name := range []string{"webgpu.h", "wgpu.h"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		b = bytes.ReplaceAll(b, []byte("#include \"webgpu-headers/webgpu.h\""), []byte("#include \"webgpu.h\""))
		require.NoError(t, os.WriteFile(filepath.Join(to, name), b, 0o600))
	}
	return to
}
