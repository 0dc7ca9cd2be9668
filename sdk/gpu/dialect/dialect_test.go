package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// TestSymbols checks that kernels of one text have different symbols, also if their names are equal.
func TestSymbols(t *testing.T) {
	k := control()
	text, err := CUDA.Print([]*ir.Kernel{k, k})
	require.NoError(t, err)
	require.Contains(t, text, " k0_control(")
	require.Contains(t, text, " k1_control(")
	require.Equal(t, "k2_a_b_c_", Symbol(2, ir.New("a b-c!", 1).Kernel()))
}

// TestErrors checks that the error for a kernel that a language cannot express names the kernel and the reason.
func TestErrors(t *testing.T) {
	double := ir.New("double", 64)
	double.Buffer("x", dtype.F64, ir.Read)
	many := ir.New("many", 512)
	large := ir.New("large", 64)
	large.Shared("s", dtype.F32, 10000)
	_, err := WGSL.Print([]*ir.Kernel{double.Kernel(), control(), many.Kernel(), large.Kernel()})
	require.EqualError(t, err, "WGSL: kernel double: the language has no f64\n"+
		"WGSL: kernel many: blocks of 512 threads, the language allows 256\n"+
		"WGSL: kernel large: 40000 bytes of shared memory, with a word for each element; the language allows 16384")
	_, err = Metal.Print([]*ir.Kernel{large.Kernel()})
	require.EqualError(t, err, "MSL: kernel large: 40000 bytes of shared memory, the language allows 32768")
}

// TestDynamic checks the shared memory that a launch must request because a text may not declare so much.
func TestDynamic(t *testing.T) {
	require.Zero(t, CUDA.Dynamic(reduction()))
	require.Equal(t, 64<<10+144, CUDA.Dynamic(largeShared()))
}
