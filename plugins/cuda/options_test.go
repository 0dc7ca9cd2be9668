package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/emulated"
)

func TestOptions(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/caches")
	o, err := options(core.Config{})
	require.NoError(t, err)
	require.Equal(t, "/caches/burn/kernels/cuda", o.Cache)
	require.False(t, o.TF32 || o.Plain || o.NoCache)
	o, err = options(core.Config{Options: map[string]string{"memory_limit": "3g", "tf32": "true", "plain": "1", "cache": "off"}})
	require.NoError(t, err)
	require.Equal(t, int64(3<<30), o.MemoryLimit)
	require.True(t, o.TF32 && o.Plain && o.NoCache)
	t.Setenv("BURN_CUDA_PLAIN", "1")
	o, err = options(core.Config{Options: map[string]string{"cache": "/kernels"}})
	require.NoError(t, err)
	require.True(t, o.Plain)
	require.Equal(t, "/kernels", o.Cache)
	for name, text := range map[string]string{"memory_limit": "-1", "tf32": "maybe", "plain": "", "cache": "here", "other": "1"} {
		_, err := New(core.Config{Options: map[string]string{name: text}})
		require.ErrorIs(t, err, core.ErrAttr, name)
		require.ErrorContains(t, err, name)
	}
}

// TestNoDriver checks that, without a driver, the error says which library is missing and how to get it.
func TestNoDriver(t *testing.T) {
	_, err := newDriver(nv.Open(nv.Search{Only: t.TempDir()}), "")
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorContains(t, err, "no libcuda.so.1")
	require.ErrorContains(t, err, "to get it: NVIDIA's driver")
}

// TestTarget checks that an H200 has the types and instructions of the target "cuda", with which templates are tested without a device.
func TestTarget(t *testing.T) {
	got, want := h200.target(), emulated.Targets()["cuda"]
	require.Equal(t, 132, got.Units)
	require.Equal(t, 8, got.Blocks)
	want.Units, want.Shared = got.Units, got.Shared
	require.Equal(t, want, got)
	old := h200
	old.capability = 75
	require.Empty(t, old.target().MMA)
	require.False(t, old.target().Async)
}

func TestArchitecture(t *testing.T) {
	known := []int{75, 80, 86, 87, 89, 90, 100, 120}
	for capability, want := range map[int]string{80: "sm_80", 90: "sm_90a", 100: "sm_100", 103: "compute_100", 121: "compute_120", 88: "compute_87"} {
		got, err := architecture(capability, known)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := architecture(70, known)
	require.ErrorContains(t, err, "7.0")
}
