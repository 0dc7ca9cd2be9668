package webgpu

import (
	"context"
	"fmt"
	"strings"
	"syscall/js"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// browser implements webgpu.API.
type browser struct{}

// Adapters implements webgpu.API: a browser returns one adapter, which it considers the best.
func (browser) Adapters(context.Context) ([]webgpu.Adapter, error) {
	g := js.Global().Get("navigator").Get("gpu")
	if falsy(g) {
		return nil, fmt.Errorf("%w: this browser has no WebGPU, or the page was not loaded over https or from localhost", core.ErrNotFound)
	}
	a, err := await(g.Call("requestAdapter", map[string]any{"powerPreference": "high-performance"}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrNotFound, err)
	}
	if falsy(a) {
		return nil, fmt.Errorf("%w: the browser has no adapter: its settings may have switched the GPU off (chrome://gpu, about:support)", core.ErrNotFound)
	}
	return []webgpu.Adapter{&adapter{a, factsOf(a)}}, nil
}

// adapter implements webgpu.Adapter.
type adapter struct {
	v     js.Value
	facts webgpu.Facts
}

// Facts implements webgpu.Adapter.
func (a *adapter) Facts() webgpu.Facts { return a.facts }

// wanted names the limits that a device is opened with, each at the value of the adapter.
var wanted = []string{"maxBufferSize", "maxStorageBufferBindingSize", "maxUniformBufferBindingSize", "minStorageBufferOffsetAlignment",
	"minUniformBufferOffsetAlignment", "maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup",
	"maxComputeWorkgroupSizeX", "maxComputeWorkgroupsPerDimension", "maxBindingsPerBindGroup", "maxUniformBuffersPerShaderStage",
	"maxDynamicUniformBuffersPerPipelineLayout"}

func factsOf(a js.Value) webgpu.Facts {
	limits := a.Get("limits")
	limit := func(name string) int {
		if v := limits.Get(name); v.Type() == js.TypeNumber {
			return int(v.Float())
		}
		return 0
	}
	info := a.Get("info")
	text := func(name string) string {
		if v := info.Get(name); v.Type() == js.TypeString {
			return v.String()
		}
		return ""
	}
	// The largest binding is tried out when a device is opened: a page should not allocate a gigabyte for that.
	const maxBytes = 256 << 20
	f := webgpu.Facts{Name: text("description"), Backend: "browser", Version: version(js.Global().Get("navigator").Get("userAgent").String()),
		Software: info.Get("isFallbackAdapter").Truthy() || text("architecture") == "swiftshader",
		Limits: webgpu.Limits{
			BufferSize: int64(limit("maxBufferSize")), StorageBinding: min(int64(limit("maxStorageBufferBindingSize")), maxBytes),
			UniformBinding: int64(limit("maxUniformBufferBindingSize")), StorageAlignment: int64(limit("minStorageBufferOffsetAlignment")),
			UniformAlignment: int64(limit("minUniformBufferOffsetAlignment")), StorageBuffers: limit("maxStorageBuffersPerShaderStage"),
			WorkgroupStorage: limit("maxComputeWorkgroupStorageSize"),
			WorkgroupThreads: min(limit("maxComputeInvocationsPerWorkgroup"), limit("maxComputeWorkgroupSizeX")), WorkgroupsPerAxis: limit("maxComputeWorkgroupsPerDimension"),
			BindingsPerGroup: limit("maxBindingsPerBindGroup"), UniformBuffers: limit("maxUniformBuffersPerShaderStage"),
			DynamicUniformBufs: limit("maxDynamicUniformBuffersPerPipelineLayout"),
		}}
	if f.Name == "" {
		f.Name = strings.TrimSpace(text("vendor") + " " + text("architecture"))
	}
	if f.Name == "" {
		f.Name = "GPU"
	}
	if has(a, "subgroups") {
		if low, high := info.Get("subgroupMinSize"), info.Get("subgroupMaxSize"); low.Type() == js.TypeNumber && high.Type() == js.TypeNumber {
			f.Subgroups = [2]int{low.Int(), high.Int()}
		}
	}
	return f
}

// version returns the name and the version of the browser from a user agent string, which also names other browsers.
func version(agent string) string {
	for _, name := range []string{"Edg/", "Chrome/", "Firefox/", "Version/"} { // Safari says Version
		for _, word := range strings.Fields(agent) {
			if strings.HasSuffix(word[:strings.Index(word+"/", "/")]+"/", name) {
				return word
			}
		}
	}
	return agent
}

func has(a js.Value, feature string) bool { return a.Get("features").Call("has", feature).Bool() }

// Open implements webgpu.Adapter. A browser adapter can open only one device, so each call requests a new adapter. If the browser
// returns none, Open uses a.
func (a *adapter) Open(ctx context.Context) (webgpu.Device, error) {
	limits, features := map[string]any{}, []any{}
	for _, name := range wanted {
		if v := a.v.Get("limits").Get(name); v.Type() == js.TypeNumber {
			limits[name] = v
		}
	}
	if has(a.v, "subgroups") {
		features = append(features, "subgroups")
	}
	source := a.v
	if fresh, err := await(js.Global().Get("navigator").Get("gpu").Call("requestAdapter", map[string]any{"powerPreference": "high-performance"})); err == nil && !falsy(fresh) {
		source = fresh
	}
	v, err := await(source.Call("requestDevice", map[string]any{"requiredLimits": limits, "requiredFeatures": features}))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", core.ErrNotFound, a.facts.Name, err)
	}
	return newDevice(v), nil
}
