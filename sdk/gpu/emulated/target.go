package emulated

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Targets returns, by name, properties like those of the hardware for which burn has plugins. The number of multiprocessors is low, so that
// kernels treat small tensors in tests like large tensors.
func Targets() map[string]template.Target {
	words := dtype.SetOf(dtype.I32, dtype.U32, dtype.F32)
	mma := []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16}, {M: 16, N: 8, K: 16, Type: dtype.BF16}}
	cuda := template.Target{Subgroup: 32, Threads: 1024, Shared: 99 << 10, Units: 4, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Params: 4096,
		Types: dtype.Any, Math: words | dtype.SetOf(dtype.F64, dtype.I64, dtype.U64, dtype.Bool), MMA: mma, Async: true,
		Atomics: words | dtype.SetOf(dtype.F64, dtype.I64, dtype.U64)}
	rocm := cuda
	rocm.Subgroup, rocm.Shared, rocm.Async = 64, 64<<10, false
	rocm.MMA = []ir.MMA{{M: 16, N: 16, K: 16, Type: dtype.F16, Order: ir.Runs}, {M: 16, N: 16, K: 16, Type: dtype.BF16, Order: ir.Runs}}
	metal := cuda
	metal.Shared, metal.Async, metal.Blocks, metal.Atomics, metal.Params = 32<<10, false, 4, words, 0
	metal.MMA = []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16, Order: ir.Quarters}, {M: 16, N: 8, K: 16, Type: dtype.BF16, Order: ir.Quarters}}
	metal.Types &^= dtype.SetOf(dtype.F64)
	metal.Math &^= dtype.SetOf(dtype.F64)
	web := metal
	web.Subgroup, web.Threads, web.Shared, web.Grid = 16, 256, 16<<10, [3]int{65535, 65535, 65535}
	web.Types, web.Math, web.Atomics = dtype.Any&^dtype.SetOf(dtype.F64, dtype.I64, dtype.U64), words|dtype.SetOf(dtype.Bool), words&^dtype.SetOf(dtype.F32)
	web.MMA = nil
	web.Words, web.Align, web.Buffers, web.Bytes, web.Apart = true, 256, 8, 128<<20, true
	return map[string]template.Target{"cuda": cuda, "rocm": rocm, "metal": metal, "webgpu": web}
}

// limits returns the limits of a target for kernels.
func limits(t template.Target, o *Options) ir.Limits {
	l := ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Wide: t.Wide, Types: t.Types, Math: t.Math,
		Atomics: t.Atomics, MMA: t.MMA, Bytes: o.Largest, Buffers: o.Buffers, Params: t.Params, Words: t.Words, Align: int64(t.Align)}
	if l.Buffers == 0 {
		l.Buffers = t.Buffers
	}
	return l
}
