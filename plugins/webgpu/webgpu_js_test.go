package webgpu

import (
	"errors"
	"os"
	"strconv"
	"syscall/js"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// open opens the device of a test, and skips the test without WebGPU, as in Node.js.
func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open(t.Context(), Name)
	if errors.Is(err, core.ErrNotFound) {
		t.Skip("no WebGPU around this program: `make web` runs this test in Chromium: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// TestSameTensorTwice checks kernels whose bindings overlap: one tensor read twice, and two views of a tensor.
func TestSameTensorTwice(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		what string
		y    *tensor.Tensor
		want []float32
	}{
		{"product with itself", x.Mul(x), []float32{1, 4, 9, 16, 25, 36}},
		{"product with its transpose", x.MatMul(x.Transpose(0, 1)), []float32{14, 32, 32, 77}},
		{"sum of halves", x.Slice(0, 0, 1, 1).Add(x.Slice(0, 1, 2, 1)), []float32{5, 7, 9}},
	} {
		got, err := tensor.Data[float32](t.Context(), c.y)
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, got, c.what)
	}
}

// TestChain runs a thousand launches, each on the result of the previous one.
func TestChain(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{0, 0.5, -1}, 3)
	for range 1000 {
		x = x.AddScalar(1)
	}
	got, err := tensor.Data[float32](t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, []float32{1000, 1000.5, 999}, got)
}

// A layout that the browser reports as invalid is created anew for the next pipeline, and one that it accepts is created once.
func TestInvalidLayout(t *testing.T) {
	v := js.Global().Call("eval", `({
		queue: {}, lost: new Promise(() => {}), groups: 0, invalid: false, destroy() {}, pushErrorScope() {},
		async popErrorScope() { return this.invalid ? new (class GPUValidationError { message = "too many bindings" }) : null },
		createBindGroupLayout() { return {number: ++this.groups} }, createPipelineLayout(x) { return x },
		createShaderModule() { return {getCompilationInfo: async () => ({messages: []})} }, async createComputePipelineAsync(x) { return x },
	})`)
	d := newDevice(v)
	defer d.Close()
	v.Set("invalid", true)
	_, err := d.NewPipeline("", "main", 2, 16)
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "too many bindings")
	v.Set("invalid", false)
	for range 2 {
		p, err := d.NewPipeline("", "main", 2, 16)
		require.NoError(t, err)
		require.Equal(t, 2, p.(*pipeline).layout.Get("number").Int())
	}
	require.Equal(t, 2, v.Get("groups").Int())
}

func TestOptions(t *testing.T) {
	for _, o := range []map[string]string{{"plain": "perhaps"}, {"memory_limit": "much"}, {"x": ""}} {
		_, err := New(core.Config{Options: o})
		require.ErrorIs(t, err, core.ErrAttr)
	}
}

// TestConformance compares claims with the reference backend: a case of each op on the required types, or every nth of all cases where
// BURN_WEBGPU_SAMPLE says n.
func TestConformance(t *testing.T) {
	open(t)
	o := conformance.Options{Profile: conformance.Core, Run: `^[a-z0-9_]+/(f32|i32|i64|u8|bool)/[^/]+/plain$`, Sample: 10000, Shrink: -1}
	if n, err := strconv.Atoi(os.Getenv("BURN_WEBGPU_SAMPLE")); err == nil {
		o = conformance.Options{Sample: n}
	}
	conformance.Run(t, func() (core.Backend, error) { return New(core.Config{}) }, o)
}
