package dialect

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
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

// TestMetalIsCPlusPlus checks that the texts in Metal's language compile as C++ with a substitute for Metal's library: names, types and
// brackets are right.
func TestMetalIsCPlusPlus(t *testing.T) {
	kernels := append(largest(t, true), withMatrices(t)...)
	for _, s := range samples() {
		if !slices.Contains(strings.Fields(s.lacking), Metal.Name) {
			kernels = append(kernels, s.kernel)
		}
	}
	text, err := Metal.Print(kernels)
	require.NoError(t, err)
	require.Contains(t, text, "frag_multiply(")
	onProcessor(t, "kernels", text)
}

// TestMetalMatrices checks that families of Apple's GPUs have simdgroup matrices from the seventh on, and that other names have none.
func TestMetalMatrices(t *testing.T) {
	for _, family := range []string{"Apple7", "Apple8", "Apple9", "Apple10"} {
		all := MetalMatrices(family)
		require.Len(t, all, 2, family)
		for _, m := range all {
			require.Equal(t, ir.Quarters, m.Order)
		}
	}
	for _, family := range []string{"Apple1", "Apple6", "Mac1", "Mac2", "Metal3", "Common3", "Apple", "Apple-7", "apple7", ""} {
		require.Empty(t, MetalMatrices(family), family)
	}
}

// TestPortableFunctions bounds the errors of the portable functions, in units in the last place.
func TestPortableFunctions(t *testing.T) {
	for _, f := range []struct {
		name  string
		want  func(float64) float64
		units float64
	}{{"erf_f32", math.Erf, 2}, {"expm1_f32", math.Expm1, 3}, {"log1p_f32", math.Log1p, 3}, {"erfc_f32", math.Erfc, 12}, {"exp_f32", math.Exp, 2},
		{"exp2_f32", math.Exp2, 2}, {"log_f32", math.Log, 2}, {"log2_f32", math.Log2, 3}, {"asin_f32", math.Asin, 3}, {"acos_f32", math.Acos, 3}, {"atan_f32", math.Atan, 3},
		{"sinh_f32", math.Sinh, 4}, {"cosh_f32", math.Cosh, 4}, {"tanh_f32", math.Tanh, 3}, {"sine_f32", math.Sin, 2}, {"cosine_f32", math.Cos, 3},
		{"tangent_f32", math.Tan, 4}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := *Metal
			var all []string
			for _, h := range portable {
				all = append(all, h.name)
			}
			d.helpers = append(slices.Clone(metalHelpers), metal(all...)...)
			// Functions of C with the same names compute in f64.
			text := d.header + regexp.MustCompile(`\b(abs|fma|floor|max|min|sqrt|sin|cos|tan)\(`).ReplaceAllString(d.prelude(f.name), "metal::$1(") + fmt.Sprintf(`
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

// TestCorrected checks that the correction makes quotients and roots with errors of up to two units exact, except one in 100,000.
func TestCorrected(t *testing.T) {
	for _, f := range []struct{ name, call, from, to, want string }{
		{"quotient_f32", "quotient_f32(1.2345678f, x)", "max(x / y", "max(off(x / y)", "1.2345678f / x"},
		{"root_f32", "root_f32(x)", "sqrt(x)", "off(__builtin_sqrtf(x))", "__builtin_sqrtf(x)"},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := *Metal
			d.helpers = append(slices.Clone(metalHelpers), metal("f32_bits", "over_f32", f.name)...)
			text := d.prelude(f.name)
			require.Contains(t, text, f.from)
			text = regexp.MustCompile(`\b(abs|fma|max)\(`).ReplaceAllString(strings.Replace(text, f.from, f.to, 1), "metal::$1(")
			text = d.header + `
static f32 off(f32 x) { const u32 b = as_type<u32>(x); return as_type<f32>(b % 3u == 0u ? b + 2u : b - b % 3u); }
` + text + fmt.Sprintf(`
#include <cstdio>
int main() {
	u64 wrong = 0, all = 0;
	for (u32 b = 0x20000000u; b < 0x5f000000u; b += 997u) {
		const f32 x = as_type<f32>(b);
		wrong += as_type<u32>(%s) != as_type<u32>(%s);
		all++;
	}
	printf("%%lu of %%lu", wrong, all);
}
`, f.call, f.want)
			out, err := exec.Command(onProcessor(t, "corrected", text)).Output()
			require.NoError(t, err)
			var wrong, all int
			_, err = fmt.Sscanf(string(out), "%d of %d", &wrong, &all)
			require.NoError(t, err)
			require.Greater(t, all, 1<<19)
			require.LessOrEqual(t, 100_000*wrong, all) // roots that are next to the middle of two numbers
		})
	}
}
