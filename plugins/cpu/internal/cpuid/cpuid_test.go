package cpuid

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRestrict(t *testing.T) {
	all := LevelAVX512 | F16C | AVX512VNNI | AVX512BF16
	cases := []struct {
		from    Features
		setting string
		want    Features
		level   string
	}{
		{all, "", all, "avx512"},
		{all, " AVX512 ", all, "avx512"},
		{all, "avx2", AVX2 | FMA | F16C, "avx2"},
		{all, "portable", 0, "portable"},
		{all, "avx512vl, avx512vnni", all &^ AVX512VL &^ AVX512VNNI, "avx2"},
		{all, "fma", all &^ FMA, "portable"},
		{AVX2 | FMA, "avx512", AVX2 | FMA, "avx2"}, // a setting adds no feature
		{NEON | NEONDot, "neon", NEON | NEONDot, "neon"},
		{NEON, "portable", 0, "portable"},
	}
	for _, c := range cases {
		got, err := Restrict(c.from, c.setting)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.setting)
		require.Equal(t, c.level, got.Level(), c.setting)
	}
	got, err := Restrict(all, "avx2,sse9")
	require.Equal(t, all, got)
	require.ErrorContains(t, err, `cpuid: BURN_CPU, got "sse9", want portable, avx2, avx512, neon or a list of`)
}

func TestString(t *testing.T) {
	require.Equal(t, "avx2 fma avx512bf16", (AVX512BF16 | FMA | AVX2).String())
	require.Equal(t, "", Features(0).String())
	require.Len(t, names, 12)
	require.Equal(t, NEONDot, named(names[len(names)-1]))
}

// TestEnvironment runs itself in a new process for each setting of BURN_CPU.
func TestEnvironment(t *testing.T) {
	if want := os.Getenv("CPUID_WANT"); want != "" {
		require.NoError(t, Err())
		require.Equal(t, want, Active().Level())
		return
	}
	for _, setting := range []string{"portable", "avx2"} {
		restricted, err := Restrict(Detected(), setting)
		require.NoError(t, err)
		again := exec.Command(os.Args[0], "-test.run=TestEnvironment")
		again.Env = append(os.Environ(), Env+"="+setting, "CPUID_WANT="+restricted.Level())
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}
