package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// checkWork proves all launches of w.
func checkWork(t testing.TB, target template.Target, w ir.Work, slots [][]byte) {
	t.Helper()
	var bytes []int64
	for _, s := range slots {
		bytes = append(bytes, int64(len(s)))
	}
	bytes = append(bytes, w.Temps...)
	limits := ir.Limits{Threads: target.Threads, Shared: target.Shared, Subgroup: target.Subgroup, Grid: target.Grid, Buffers: 32, Bytes: 1 << 40,
		Wide: target.Wide, Types: target.Types, Math: target.Math, Atomics: target.Atomics}
	for _, l := range w.Launches {
		require.NoError(t, ir.Check(l, bytes, limits), "grid %v args %v buffers %v\n%v", l.Grid, l.Args, bytes, l.Kernel)
	}
}
