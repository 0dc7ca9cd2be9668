package backends_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
)

// covered matches the cases that the C backend must pass: those of its primitives, without conv and window_reduce, and of some composites,
// which are decomposed. acos is covered only in f32, because in f64 the reference is less exact near 1 than the C library.
const covered = "^(full|iota|random_bits|reshape|permute|expand|slice|pad|flip|concat|gather|scatter|cast|copy|neg|abs|exp|log|log1p|expm1|" +
	"sqrt|sin|cos|tan|asin|atan|sinh|cosh|tanh|erf|floor|ceil|round|not|is_nan|add|sub|mul|div|rem|pow|max|min|atan2|equal|less|" +
	"and|or|xor|shl|shr|where|sum|prod|reduce_max|reduce_min|argmax|argmin|cumsum|cumprod|cummax|cummin|sort|matmul|stream|softmax|gelu|" +
	"layer_norm|topk|claims/(info|document|no-device))/|^acos/f32/"

func TestC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	buildC(t, "cabi", dir)
	t.Run("devices", func(t *testing.T) { devicesOfC(t, dir) })
	inHost := inChild(t, "shared:cabi", covered, dir)
	t.Logf("shared:cabi: %d cases pass", passed(t, inHost))
	require.Greater(t, passed(t, inHost), 2500/sampled())

	// In a separate process, the same object passes equally many cases.
	r, err := check("process:cabi", covered, carrier(t, dir))
	require.NoError(t, err)
	require.Empty(t, failures(r))
	require.Equal(t, passed(t, inHost), r.Passed)
}

func devicesOfC(t *testing.T, dir string) {
	for _, s := range host.Devices(context.Background(), carrier(t, dir)) {
		if s.Name == "cabi" {
			require.Equal(t, host.Ready, s.State, "%+v", s.Failure)
			require.Equal(t, host.Shared, s.Transport)
			require.Equal(t, []host.Device{{DeviceInfo: core.DeviceInfo{Name: "host memory", Kind: "cpu", Detail: "kernels in C"}}}, s.Devices)
			return
		}
	}
	t.Fatal("cabi is not listed")
}
