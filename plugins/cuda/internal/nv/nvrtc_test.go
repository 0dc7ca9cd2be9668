package nv

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNVRTC needs no device. BURN_NVRTC names the folder with libnvrtc.so.13 or .12, for example of the package nvidia-cuda-nvrtc from PyPI.
func TestNVRTC(t *testing.T) {
	l := installed(t, "BURN_NVRTC")
	require.NotNil(t, l.NVRTC, "%s", l.Report)
	n := l.NVRTC
	archs, err := n.Architectures()
	require.NoError(t, err)
	require.True(t, slices.Contains(archs, 90), "%v", archs)
	const source = `
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] += a * x[i];
}`
	cubin, log, err := n.Compile("saxpy.cu", source, "sm_90a", "--std=c++17", "-lineinfo")
	require.NoError(t, err)
	require.Empty(t, log)
	require.True(t, bytes.HasPrefix(cubin, []byte("\x7fELF")))
	const machineCUDA = 190
	require.Equal(t, uint16(machineCUDA), binary.LittleEndian.Uint16(cubin[18:]))
	require.True(t, bytes.Contains(cubin, []byte("\x00.text.saxpy\x00")))

	ptx, _, err := n.Compile("saxpy.cu", source, "compute_80")
	require.NoError(t, err)
	require.Contains(t, string(ptx), ".target sm_80")
	require.NotContains(t, string(ptx), "\x00")

	_, _, err = n.Compile("wrong.cu", "extern \"C\" __global__ void f() { undeclared(); }", "sm_90")
	var c *CompileError
	require.ErrorAs(t, err, &c)
	require.Equal(t, "wrong.cu", c.Name)
	require.Contains(t, err.Error(), `identifier "undeclared" is undefined`)
	_, _, err = n.Compile("f.cu", source, "sm_90", "--no-such-option")
	require.ErrorContains(t, err, "no-such-option")
	_, log, err = n.Compile("warn.cu", "extern \"C\" __global__ void f() { int unused = 1; }", "sm_90")
	require.NoError(t, err)
	require.Contains(t, log, "never referenced")
}
