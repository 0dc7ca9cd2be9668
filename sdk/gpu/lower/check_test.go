package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// limits returns the limits of kernels for a target.
func limits(t template.Target) ir.Limits {
	return ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Buffers: maxInputs + maxOutputs + 1, Bytes: 1 << 40,
		Wide: t.Wide, Types: t.Types, Math: t.Math, Atomics: t.Atomics}
}

// checkWork requires that ir.Check accepts all launches of w on slots of these sizes.
func checkWork(t testing.TB, target template.Target, w ir.Work, slots [][]byte) {
	t.Helper()
	var bytes []int64
	for _, s := range slots {
		bytes = append(bytes, int64(len(s)))
	}
	for _, l := range w.Launches {
		require.NoError(t, ir.Check(l, append(bytes, w.Temps...), limits(target)), "grid %v args %v buffers %v\n%v", l.Grid, l.Args, bytes, l.Kernel)
	}
}
