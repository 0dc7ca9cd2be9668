package wgpu

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/wgpu/internal/native"
	"github.com/goburn/burn/sdk/gpu"
)

var quiet = core.Config{Options: map[string]string{"cache": "off"}}

// open returns the backend, and skips the test where there is no library or no adapter, unless BURN_WGPU_REQUIRED says that there is.
func open(t *testing.T) core.Backend {
	t.Helper()
	b, err := New(quiet)
	if err != nil && os.Getenv("BURN_WGPU_REQUIRED") == "" {
		t.Skipf("needs wgpu-native and an adapter, run make wgpu: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// stream returns a stream of the last device: the processor, where there is such a driver.
func stream(t *testing.T) (core.Device, core.Stream) {
	t.Helper()
	b := open(t)
	ctx := context.Background()
	dev, err := b.Open(ctx, len(b.Info().Devices)-1)
	require.NoError(t, err)
	s, err := dev.OpenStream(ctx)
	require.NoError(t, err)
	return dev, s
}

// TestConformance runs a sample of the suite: every BURN_WGPU_SAMPLE-th case of the profiles in BURN_WGPU_PROFILES whose name matches
// BURN_WGPU_RUN.
func TestConformance(t *testing.T) {
	open(t)
	o := conformance.Options{Sample: 500, Run: os.Getenv("BURN_WGPU_RUN")}
	if n, err := strconv.Atoi(os.Getenv("BURN_WGPU_SAMPLE")); err == nil {
		o.Sample = n
	}
	profiles := strings.Fields(os.Getenv("BURN_WGPU_PROFILES"))
	if len(profiles) == 0 {
		profiles = []string{string(conformance.Core)}
	}
	for _, p := range profiles {
		t.Run(p, func(t *testing.T) {
			o := o
			o.Profile = conformance.Profile(p)
			conformance.Run(t, func() (core.Backend, error) { return New(quiet) }, o)
		})
	}
}

// TestChain submits 1,000 steps of two nodes. Each step reads the results of the previous step, and frees its operands for later results.
func TestChain(t *testing.T) {
	dev, s := stream(t)
	ctx := context.Background()
	const n, links = 5000, 1000
	value := make([]int32, n)
	step := make([]int32, n)
	for i := range value {
		value[i], step[i] = int32(i), int32(3*i+1)
	}
	id := func() op.TensorID { return dev.NewIDs(1) }
	desc := func(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.I32, Shape: []int{n}} }
	x, y := id(), id()
	require.NoError(t, s.Write(ctx, desc(x), dtype.Bytes(value)))
	require.NoError(t, s.Write(ctx, desc(y), dtype.Bytes(step)))
	for range links {
		sum, next := id(), id()
		nodes := []op.Node{
			{Op: op.Add, Version: 1, Inputs: []op.TensorID{x, y}, Outputs: []op.Desc{desc(sum)}},
			{Op: op.Xor, Version: 1, Inputs: []op.TensorID{sum, x}, Outputs: []op.Desc{desc(next)}},
		}
		require.NoError(t, s.Submit(nodes, []op.TensorID{x, y}))
		x, y = sum, next
		for i := range value {
			value[i], step[i] = value[i]+step[i], (value[i]+step[i])^value[i]
		}
	}
	got := make([]int32, n)
	require.NoError(t, core.Read(ctx, s, x, dtype.Bytes(got)))
	require.Equal(t, value, got)
	require.NoError(t, core.Read(ctx, s, y, dtype.Bytes(got)))
	require.Equal(t, step, got)
}

// TestNumbers checks that special numbers pass through copies and arithmetic as IEEE 754 defines, with any bits for NaN. On a device whose
// capabilities say that it flushes them, subnormal numbers may be zeros.
func TestNumbers(t *testing.T) {
	dev, s := stream(t)
	ctx := context.Background()
	inf, nan, tiny := float32(math.Inf(1)), float32(math.NaN()), math.Float32frombits(1)
	small := math.Float32frombits(0x00400000) // subnormal
	negative := float32(math.Copysign(0, -1))
	all := []float32{0, negative, 1, -1, inf, -inf, nan, tiny, -tiny, small, math.MaxFloat32, -math.MaxFloat32, math.Float32frombits(0x00800000)}
	var a, b []float32
	for _, x := range all {
		for _, y := range all {
			a, b = append(a, x), append(b, y)
		}
	}
	n := len(a)
	desc := func(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.F32, Shape: []int{n}} }
	ids := dev.NewIDs(2)
	require.NoError(t, s.Write(ctx, desc(ids), dtype.Bytes(a)))
	require.NoError(t, s.Write(ctx, desc(ids+1), dtype.Bytes(b)))
	for _, c := range []struct {
		code op.Code
		two  bool
		want func(x, y float32) float32
	}{
		{op.Add, true, func(x, y float32) float32 { return x + y }},
		{op.Sub, true, func(x, y float32) float32 { return x - y }},
		{op.Mul, true, func(x, y float32) float32 { return x * y }},
		{op.Div, true, func(x, y float32) float32 { return x / y }},
		{op.Max, true, func(x, y float32) float32 { return max(x, y) }},
		{op.Min, true, func(x, y float32) float32 { return min(x, y) }},
		{op.Neg, false, func(x, _ float32) float32 { return -x }},
		{op.Abs, false, func(x, _ float32) float32 { return float32(math.Abs(float64(x))) }},
		{op.Copy, false, func(x, _ float32) float32 { return x }},
		{op.Sqrt, false, func(x, _ float32) float32 { return float32(math.Sqrt(float64(x))) }},
	} {
		in := []op.TensorID{ids, ids + 1}
		if !c.two {
			in = in[:1]
		}
		out := dev.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{{Op: c.code, Version: op.Lookup(c.code).Version, Inputs: in, Outputs: []op.Desc{desc(out)}}}, nil))
		got := make([]float32, n)
		require.NoError(t, core.Read(ctx, s, out, dtype.Bytes(got)), "%v", c.code)
		for i := range got {
			want := c.want(a[i], b[i])
			if want != want && got[i] != got[i] {
				continue
			}
			flushed := zeroed(c.want(zeroed(a[i]), zeroed(b[i])))
			if dev.Capabilities().Flushes.Has(dtype.F32) && (got[i] == flushed || got[i] == zeroed(want) || flushed != flushed && got[i] != got[i]) {
				continue
			}
			require.Equal(t, math.Float32bits(want), math.Float32bits(got[i]), "%v of %v and %v: got %v, want %v", c.code, a[i], b[i], got[i], want)
		}
	}
}

// TestNaNStays checks that ops keep NaN. A driver's compiler may replace a maximum by a comparison and a selection, which would lose NaN.
func TestNaNStays(t *testing.T) {
	dev, s := stream(t)
	ctx := context.Background()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	in := []float32{nan, -inf, -2, -1, 0, 0.5, 1, 7, inf, nan}
	desc := func(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.F32, Shape: []int{len(in)}} }
	x := dev.NewIDs(1)
	require.NoError(t, s.Write(ctx, desc(x), dtype.Bytes(in)))
	limited := func(lo, hi float32) []float32 {
		out := make([]float32, len(in))
		for i, v := range in {
			out[i] = min(max(v, lo), hi) // Go's min and max keep NaN
		}
		return out
	}
	for _, c := range []struct {
		code op.Code
		want []float32
	}{
		{op.Relu, limited(0, inf)},
		{op.Relu6, limited(0, 6)},
		{op.Sign, []float32{nan, -1, -1, -1, 0, 1, 1, 1, 1, nan}},
	} {
		out := dev.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{{Op: c.code, Version: op.Lookup(c.code).Version, Inputs: []op.TensorID{x}, Outputs: []op.Desc{desc(out)}}}, nil))
		got := make([]float32, len(in))
		require.NoError(t, core.Read(ctx, s, out, dtype.Bytes(got)), "%v", c.code)
		for i, want := range c.want {
			require.True(t, got[i] == want || want != want && got[i] != got[i], "%v of %v: got %v, want %v", c.code, in[i], got[i], want)
		}
	}
}

// zeroed returns x, or a zero of its sign if it is subnormal.
func zeroed(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// TestMissing checks that the error without a library says how to get it, and that another library is refused.
func TestMissing(t *testing.T) {
	_, err := native.Open(candidates(t.TempDir()+"/libwgpu_native.so", ""))
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorContains(t, err, "make plugins-wgpu")
	require.Equal(t, []string{filepath.Join("x", fileName(runtime.GOOS)), fileName(runtime.GOOS)}, candidates("", "", "x", "x"))
	require.Equal(t, []string{filepath.Join("y", fileName(runtime.GOOS)), filepath.Join("x", fileName(runtime.GOOS)), fileName(runtime.GOOS)}, candidates("", "y", "x"))
	require.Equal(t, "wgpu_native.dll", fileName("windows"))
	require.Equal(t, "libwgpu_native.dylib", fileName("darwin"))
	for _, libc := range []string{"libc.so.6"} {
		if _, err := native.Open([]string{libc}); !strings.Contains(err.Error(), "cannot open") && !strings.Contains(err.Error(), "image not found") {
			require.ErrorContains(t, err, "does not export wgpu")
		}
	}
}

func TestOptions(t *testing.T) {
	o, patience, err := gpu.ReadPatientOptions(Name, core.Config{Options: map[string]string{"memory_limit": "512M", "plain": "true", "patience": "30s", "cache": "off"}})
	require.NoError(t, err)
	require.EqualValues(t, 512<<20, o.MemoryLimit)
	require.True(t, o.Plain && o.NoCache)
	require.EqualValues(t, 30e9, patience)
	for name, text := range map[string]string{"memory_limit": "much", "plain": "perhaps", "patience": "-1s", "cache": "relative", "speed": "1"} {
		_, _, err := gpu.ReadPatientOptions(Name, core.Config{Options: map[string]string{name: text}})
		require.ErrorIs(t, err, core.ErrAttr, name)
	}
}
