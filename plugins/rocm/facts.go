package rocm

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

const (
	// maxParams is the greatest size of the parameters of a kernel, in bytes.
	maxParams = 4 << 10
	// maxThreads is the greatest number of threads of a grid along a dimension: HIP counts them with 32 bits.
	maxThreads = 1<<32 - 1
)

// facts are the properties of a device that kernels depend on.
type facts struct {
	architecture  string // with features, as in gfx90a:sramecc+:xnack-
	units         int    // compute units
	wave, threads int    // threads of a wave, and the most threads of a block
	resident      int    // the most threads that are resident on a compute unit
	shared        int    // largest shared memory of a block, in bytes
	grid          [3]int
}

func readFacts(h *amd.HIP, dev streams.Device) (f facts, err error) {
	if f.architecture, err = h.Architecture(dev); err != nil {
		return f, err
	}
	for _, x := range []struct {
		to *int
		amd.Attribute
	}{
		{&f.units, amd.Units}, {&f.wave, amd.WarpSize}, {&f.threads, amd.MaxThreadsPerBlock}, {&f.resident, amd.MaxThreadsPerUnit},
		{&f.shared, amd.MaxSharedPerBlock}, {&f.grid[0], amd.MaxGridX}, {&f.grid[1], amd.MaxGridY}, {&f.grid[2], amd.MaxGridZ},
	} {
		if *x.to, err = h.Attribute(dev, x.Attribute); err != nil {
			return f, err
		}
	}
	return f, nil
}

// usable returns an error if kernels do not support the device: burn's HIP C++ assumes waves of 64 threads on gfx9 and of 32 threads on
// all later architectures.
func (f *facts) usable() error {
	want := 32
	if strings.HasPrefix(f.architecture, "gfx9") {
		want = 64
	}
	switch {
	case strings.HasPrefix(f.architecture, "gfx6") || strings.HasPrefix(f.architecture, "gfx7") || strings.HasPrefix(f.architecture, "gfx8"):
		return fmt.Errorf("%s: %w: kernels are for gfx9 and later", f.architecture, vendor.ErrUnsupported)
	case f.wave != want:
		return fmt.Errorf("%s with waves of %d threads, want %d: %w", f.architecture, f.wave, want, vendor.ErrUnsupported)
	}
	return nil
}

// target returns the target that templates build for.
func (f *facts) target() template.Target {
	words := dtype.SetOf(dtype.I32, dtype.U32, dtype.I64, dtype.U64, dtype.F32, dtype.F64)
	t := template.Target{Subgroup: f.wave, Threads: min(f.threads, 1024), Shared: f.shared, Units: f.units, Blocks: max(f.resident/256, 1), Grid: f.grid, Wide: 16,
		Params: maxParams, Types: dtype.Any, Math: words | dtype.SetOf(dtype.Bool), Atomics: words,
		MMA: dialect.HIPMatrices(f.architecture)}
	for i := range t.Grid {
		t.Grid[i] = min(t.Grid[i], maxThreads/1024)
	}
	return t
}
