package dialect

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/ir"
)

var update = flag.Bool("update", false, "write the golden files")

var all = []struct {
	dialect *Dialect
	folder  string
}{
	{CUDA, "cuda"}, {HIP, "hip"}, {Metal, "metal"}, {WGSL, "wgsl"},
}

// TestGolden compares every text with testdata, so that a review shows each change.
func TestGolden(t *testing.T) {
	for _, d := range all {
		for _, s := range samples() {
			t.Run(d.folder+"/"+s.name, func(t *testing.T) {
				text, err := d.dialect.Print([]*ir.Kernel{s.kernel})
				if slices.Contains(strings.Fields(s.lacking), d.dialect.Name) {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				file := filepath.Join("testdata", d.folder, s.name+".txt")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
					require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), text)
			})
		}
	}
}

// TestSamplesHaveEveryOperation checks that the samples, and so the golden files, contain every operation.
func TestSamplesHaveEveryOperation(t *testing.T) {
	seen := map[ir.Op]bool{}
	var walk func(list []ir.Inst)
	walk = func(list []ir.Inst) {
		for _, in := range list {
			seen[in.Op] = true
			walk(in.Head)
			walk(in.Body)
			walk(in.Else)
		}
	}
	for _, s := range samples() {
		walk(s.kernel.Body)
	}
	for _, r := range [][2]ir.Op{
		{ir.Const, ir.Blocks}, {ir.Add, ir.Bitcast}, {ir.Exp, ir.Atan2}, {ir.Load, ir.AsyncWait}, {ir.Barrier, ir.PopCount},
		{ir.For, ir.While}, {ir.FragFill, ir.FragPack},
	} {
		for o := r[0]; o <= r[1]; o++ {
			require.True(t, seen[o], "operation %v is in no sample", o)
		}
	}
}
