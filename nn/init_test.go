package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

func floats(t *testing.T, x tt) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](t.Context(), x)
	require.NoError(t, err)
	return v
}

// moments returns the mean, the standard deviation, and the least and the greatest element.
func moments(v []float32) (mean, std, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		mean += float64(x) / float64(len(v))
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	for _, x := range v {
		std += (float64(x) - mean) * (float64(x) - mean) / float64(len(v))
	}
	return mean, math.Sqrt(std), lo, hi
}

// A uniform distribution within ±b has mean 0 and standard deviation b/√3. The normal distribution with standard deviation 1
// truncated to [-1, 2] has mean (φ(-1)-φ(2))/(Φ(2)-Φ(-1)) = 0.22964 and standard deviation 0.72104.
func TestInitialisers(t *testing.T) {
	dev := open(t)
	dev.Seed(7)
	const in, out = 200, 100
	for name, c := range map[string]struct {
		init            nn.Init
		mean, std, most float64
	}{
		"constant":        {nn.Constant(0.3), 0.3, 0, 0.3},
		"zeros":           {nn.Zeros(), 0, 0, 0},
		"ones":            {nn.Ones(), 1, 0, 1},
		"uniform":         {nn.Uniform(-1, 3), 1, 4 / math.Sqrt(12), 3},
		"normal":          {nn.Normal(2, 0.5), 2, 0.5, 5},
		"truncated":       {nn.TruncatedNormal(0, 1, -1, 2), 0.22964, 0.72104, 2},
		"kaiming uniform": {nn.KaimingUniform(math.Sqrt2), 0, math.Sqrt2 / math.Sqrt(in), math.Sqrt2 * math.Sqrt(3.0/in)},
		"kaiming normal":  {nn.KaimingNormal(1), 0, 1 / math.Sqrt(in), 1},
		"fan out":         {nn.KaimingUniform(1).FanOut(), 0, 1 / math.Sqrt(out), math.Sqrt(3.0 / out)},
		"xavier uniform":  {nn.XavierUniform(1), 0, math.Sqrt(2.0 / (in + out)), math.Sqrt(6.0 / (in + out))},
		"xavier normal":   {nn.XavierNormal(2), 0, 2 * math.Sqrt(2.0/(in+out)), 2},
		"orthogonal":      {nn.Orthogonal(1), 0, 1 / math.Sqrt(in), 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := floats(t, c.init.New(dev, in, out, out, in))
			mean, std, lo, hi := moments(v)
			require.InDelta(t, c.mean, mean, 0.03*max(c.std, 1e-6))
			require.InDelta(t, c.std, std, 0.03*c.std+1e-6)
			require.LessOrEqual(t, max(hi, -lo), c.most+1e-6)
		})
	}
}

// The exchange leaves the default of a layer: the same numbers from the same seed.
func TestFanOutOfDefault(t *testing.T) {
	dev := open(t)
	weight := func(i nn.Init) []float32 {
		dev.Seed(5)
		return floats(t, nn.NewLinear(dev, 3, 4, nn.LinearConfig{Init: i}).Weight.Value())
	}
	require.Equal(t, weight(nn.Init{}), weight(nn.Init{}.FanOut()))
	require.Equal(t, "default", nn.Init{}.FanOut().String())
}

func TestOrthogonal(t *testing.T) {
	dev := open(t)
	for _, dims := range [][]int{{3, 8}, {8, 3}, {4, 2, 3}} {
		w := nn.Orthogonal(2).New(dev, 0, 0, dims...).Reshape(dims[0], -1)
		small := dims[0] < w.Shape()[1]
		g := floats(t, w.MatMulT(w, !small, small).DivScalar(4))
		n := min(dims[0], w.Shape()[1])
		for i, v := range g {
			want := 0.0
			if i%n == i/n {
				want = 1
			}
			require.InDelta(t, want, v, 1e-5)
		}
	}
	require.Error(t, tensor.Try(func() { nn.Orthogonal(1).New(dev, 0, 0, 4) }))
}

// TestSeed checks that a model has equal parameters after Seed, on other backends too.
func TestSeed(t *testing.T) {
	slow, err := tensor.On(t.Context(), &core.Place{Backend: ref.New(), Spec: "ref"})
	require.NoError(t, err)
	cpu := open(t)
	model := func(d dev, seed int) []float32 {
		d.Seed(seed)
		m := nn.Sequential{nn.NewLinear(d, 3, 4, nn.LinearConfig{}), nn.NewEmbedding(d, 5, 2, nn.EmbeddingConfig{}), nn.NewTransformerEncoderLayer(d, 4, 2,
			nn.TransformerConfig{FeedForward: 3, Init: nn.TruncatedNormal(0, 1, -1, 1)})}
		var all []float32
		for _, p := range nn.Params(m) {
			all = append(all, floats(t, p.Value())...)
		}
		return all
	}
	first := model(cpu, 3)
	require.Equal(t, first, model(cpu, 3))
	require.NotEqual(t, first, model(cpu, 4))
	require.InDeltaSlice(t, first, model(slow, 3), 1e-6)
}
