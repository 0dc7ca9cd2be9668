package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// TestWords compares the samples, rewritten for memory of words and printed in WGSL, with testdata. Samples that cannot be rewritten use
// f64, atomics of 64 bits, or matrices and copies of other hardware.
func TestWords(t *testing.T) {
	target := template.Target{Words: true, Wide: 16, Align: 256}
	refused := map[string]bool{}
	for _, s := range samples() {
		l, err := narrow.Launch(target, ir.Launch{Kernel: s.kernel, Grid: [3]int{1, 1, 1}, Args: make([]ir.Arg, len(s.kernel.Params))})
		if err != nil {
			require.ErrorIs(t, err, core.ErrUnsupported, s.name)
			refused[s.name] = true
			continue
		}
		if l.Kernel.SharedBytes() > WGSL.Static || ofWords(s.kernel) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, p := range l.Kernel.Params {
				require.False(t, p.IsBuffer() && p.Type.Size() != 4, "%s", p.Name)
			}
			for _, d := range l.Kernel.Types[1:] {
				require.LessOrEqual(t, d.Size(), 4, "%v", d)
			}
			text, err := WGSL.Print([]*ir.Kernel{l.Kernel})
			require.NoError(t, err)
			file := filepath.Join("testdata", "wgsl", "words_"+s.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text)
		})
	}
	for _, name := range []string{"async", "atomics_16", "atomics_64", "batched", "casts_64", "constants_64", "fragments_bf16", "fragments_f16", "functions_f64",
		"quarter_fragments_bf16", "quarter_fragments_f16", "square_fragments_bf16", "square_fragments_f16", "subgroups_64", "vectors_64"} {
		require.True(t, refused[name], name)
		delete(refused, name)
	}
	require.Empty(t, refused)
}

// ofWords reports whether all values and buffers of a kernel are of 32 bits, or bool.
func ofWords(k *ir.Kernel) bool {
	for _, p := range k.Params {
		if p.Type.Size() != 4 {
			return false
		}
	}
	for _, d := range k.Types[1:] {
		if d.Size() > 4 {
			return false
		}
	}
	return true
}

// TestWGSLKeepsNaN checks that a selection of the lesser or greater operand of a comparison is printed with a test for NaN, so that drivers cannot
// replace it by a minimum or maximum, and that other selections are printed as they are.
func TestWGSLKeepsNaN(t *testing.T) {
	b := ir.New("chosen", 64)
	x, out := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
	i, zero := b.Thread(), b.Float(dtype.F32, 0)
	v := b.Load(x, i)
	relu := b.Select(b.Lt(v, zero), zero, v)                           // NaN if v is NaN
	least := b.Select(b.Unary(ir.Not, b.Le(v, relu)), relu, v)         // NaN if v or relu is NaN
	other := b.Select(b.Lt(least, zero), b.Float(dtype.F32, 2), least) // neither minimum nor maximum
	b.Store(out, i, other)
	text, err := WGSL.Print([]*ir.Kernel{b.Kernel()})
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(text, "is_nan_f32(v"), text)
}
