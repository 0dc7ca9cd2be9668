package dialect

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// onProcessor compiles text in Metal's language with a C++ compiler and the stand-in for Metal's library in testdata.
func onProcessor(t *testing.T, name, text string) string {
	t.Helper()
	cxx, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("no C++ compiler")
	}
	include, err := filepath.Abs(filepath.Join("testdata", "include"))
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, name+".cc")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	program := filepath.Join(dir, name)
	args := []string{"-std=c++17", "-O1", "-ffp-contract=off", "-Wno-attributes", "-I", include, file, "-o", program}
	if !strings.Contains(text, "int main") {
		args = append(args, "-fsyntax-only")
	}
	log, err := exec.Command(cxx, args...).CombinedOutput()
	require.NoError(t, err, string(log))
	return program
}

// The texts in Metal's language are C++ but for Metal's library: names, types and brackets are right.
func TestMetalIsCPlusPlus(t *testing.T) {
	kernels := largest(t, true)
	for _, s := range samples() {
		if !slices.Contains(strings.Fields(s.lacking), Metal.Name) {
			kernels = append(kernels, s.kernel)
		}
	}
	text, err := Metal.Print(kernels)
	require.NoError(t, err)
	onProcessor(t, "kernels", text)
}

// The portable functions of numbers keep to the errors that they state, in units in the last place.
func TestPortableFunctions(t *testing.T) {
	for _, f := range []struct {
		name  string
		want  func(float64) float64
		units float64
	}{{"erf_f32", math.Erf, 2}, {"expm1_f32", math.Expm1, 3}, {"log1p_f32", math.Log1p, 3}, {"erfc_f32", math.Erfc, 12}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := *Metal
			text := d.header + d.prelude(f.name) + fmt.Sprintf(`
#include <cstdio>
int main() {
	for (u64 b = 0; b < 0x100000000ul; b += 4099) {
		const u32 r[2] = {u32(b), as_type<u32>(%s(as_type<f32>(u32(b))))};
		fwrite(r, 4, 2, stdout);
	}
}
`, f.name)
			out, err := exec.Command(onProcessor(t, "table", text)).Output()
			require.NoError(t, err)
			words := dtype.Slice[uint32](out)
			require.Greater(t, len(words), 1<<20)
			worst := 0.0
			for i := 0; i < len(words); i += 2 {
				x, got := math.Float32frombits(words[i]), float64(math.Float32frombits(words[i+1]))
				want := f.want(float64(x))
				if math.IsNaN(want) || math.IsInf(want, 0) || math.Abs(want) > math.MaxFloat32 {
					require.True(t, math.IsNaN(want) == math.IsNaN(got) && (math.IsNaN(got) || got == math.Copysign(math.Inf(1), want) || math.Abs(want) > math.MaxFloat32), "%v: %v, want %v", x, got, want)
					continue
				}
				_, e := math.Frexp(want)
				if d := math.Abs(got-want) / math.Ldexp(1, max(e-24, -149)); d > worst {
					worst = d
					require.LessOrEqual(t, d, f.units, "%v: %v, want %v", x, got, want)
				}
			}
			t.Logf("%.2f units", worst)
		})
	}
}
