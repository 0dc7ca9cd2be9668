package cuda

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// maxParams is the size in bytes of the parameters that kernels may have on all devices with any driver.
const maxParams = 4 << 10

// facts are the properties of a device that kernels depend on.
type facts struct {
	capability    int // compute capability: 90 is 9.0
	units         int // multiprocessors
	warp, threads int
	resident      int // greatest number of resident threads of a multiprocessor
	shared        int // largest shared memory of a block, in bytes
	grid          [3]int
}

func readFacts(cuda calls, dev nv.Device) (facts, error) {
	var f facts
	var major, minor int
	for _, x := range []struct {
		to *int
		nv.Attribute
	}{
		{&major, nv.ComputeMajor}, {&minor, nv.ComputeMinor}, {&f.units, nv.Multiprocessors}, {&f.warp, nv.WarpSize}, {&f.threads, nv.MaxThreadsPerBlock},
		{&f.resident, nv.MaxThreadsPerSM}, {&f.shared, nv.MaxSharedPerBlockOptin}, {&f.grid[0], nv.MaxGridX}, {&f.grid[1], nv.MaxGridY}, {&f.grid[2], nv.MaxGridZ},
	} {
		n, err := cuda.Attribute(dev, x.Attribute)
		if err != nil {
			return f, err
		}
		*x.to = n
	}
	f.capability = 10*major + minor
	return f, nil
}

// target returns the target that templates build for.
func (f *facts) target() template.Target {
	words := dtype.SetOf(dtype.I32, dtype.U32, dtype.I64, dtype.U64, dtype.F32, dtype.F64)
	t := template.Target{Subgroup: f.warp, Threads: f.threads, Shared: f.shared, Units: f.units, Blocks: max(f.resident/256, 1), Grid: f.grid, Wide: 16, Params: maxParams,
		Types: dtype.Any, Math: words | dtype.SetOf(dtype.Bool), Atomics: words}
	if f.capability >= 80 {
		t.MMA = []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16}, {M: 16, N: 8, K: 16, Type: dtype.BF16}}
		t.Async = true
	}
	return t
}

// architecture returns the architecture option for NVRTC: machine code if NVRTC knows the device. Otherwise it is the newest intermediate
// code that NVRTC knows and the device accepts; the driver compiles this code.
func architecture(capability int, known []int) (string, error) {
	if slices.Contains(known, capability) {
		if capability == 90 {
			return "sm_90a", nil
		}
		return fmt.Sprintf("sm_%d", capability), nil
	}
	best := 0
	for _, k := range known {
		if k < capability {
			best = max(best, k)
		}
	}
	if best == 0 {
		return "", fmt.Errorf("this NVRTC does not compile for compute capability %d.%d: %w", capability/10, capability%10, nv.ErrUnsupported)
	}
	return fmt.Sprintf("compute_%d", best), nil
}
