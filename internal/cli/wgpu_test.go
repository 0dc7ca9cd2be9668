package cli

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	root "github.com/goburn/burn"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// marks returns n images of 28x28 pixels, with noise and a bright rectangle whose position depends on the class, and their classes.
func marks(seed uint64, n int) (pixels []float32, classes []int64) {
	r := rand.New(rand.NewPCG(seed, 5))
	pixels, classes = make([]float32, n*28*28), make([]int64, n)
	for i := range n {
		class := r.IntN(10)
		classes[i] = int64(class)
		image := pixels[i*28*28:][:28*28]
		for k := range image {
			image[k] = r.Float32() - 0.5
		}
		for y := range 6 {
			for x := range 5 {
				image[(3+12*(class/5)+y)*28+1+5*(class%5)+x] += 1
			}
		}
	}
	return pixels, classes
}

// learned trains the network of the Burn Book. It returns the loss of each step and the number of right classes for 200 other images.
func learned(t *testing.T, device string, o host.Options, steps int) (losses []float64, right int) {
	const batch = 32
	ctx := context.Background()
	dev, err := root.Open(ctx, device, root.WithGradients(), root.WithHost(o))
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	dev.Seed(7)
	m := newImageNet(dev, mnistConfig().Image, 10)
	rule, params := optim.NewAdamW(optim.AdamWConfig{}), nn.Trained(m)
	for step := range steps {
		pixels, classes := marks(uint64(step), batch)
		var grads *tensor.Gradients
		var loss *tensor.Tensor
		tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			x, y := tensor.From(d, pixels, batch, 1, 28, 28), tensor.From(d, classes, batch)
			loss = m.Forward(x).CrossEntropyLoss(y, tensor.ClassOptions{})
			if grads, err = loss.Backward(); err != nil {
				return nil
			}
			for _, p := range params {
				grads.Of(p.Value()).Keep()
			}
			return []*tensor.Tensor{loss}
		})
		require.NoError(t, err)
		v, err := loss.Float64(ctx)
		require.NoError(t, err)
		losses = append(losses, v)
		loss.Release()
		require.NoError(t, rule.Step(2e-3, params, grads))
		grads.GiveUp().Release()
	}
	nn.Eval(m)
	pixels, classes := marks(1000, 200)
	x := tensor.From(dev, pixels, 200, 1, 28, 28)
	defer x.Release()
	got, err := tensor.Data[int64](ctx, m.Forward(x).ArgMax(1))
	require.NoError(t, err)
	for i, c := range got {
		if c == classes[i] {
			right++
		}
	}
	return losses, right
}

// TestImageNetOnWGPU trains with dropout on the plugin wgpu and on the cpu. The losses and the accuracies agree.
func TestImageNetOnWGPU(t *testing.T) {
	dir := os.Getenv("BURN_WGPU_PLUGINS")
	if dir == "" {
		t.Skip("BURN_WGPU_PLUGINS is not set: it names a folder with the plugin wgpu and its library; make wgpu sets it")
	}
	const steps = 20
	want, known := learned(t, "builtin:cpu", host.Options{}, steps)
	got, right := learned(t, "process:wgpu", host.Options{Dirs: []string{dir}}, steps)
	t.Logf("loss %.4f to %.4f on the cpu, %.4f to %.4f on wgpu; %d and %d of 200 are right", want[0], want[steps-1], got[0], got[steps-1], known, right)
	for i := range want {
		require.LessOrEqual(t, math.Abs(want[i]-got[i]), 2e-3*(1+want[i]), "step %d: %v on the cpu, %v on wgpu", i, want[i], got[i])
	}
	require.Less(t, want[steps-1], want[0]/2, "nothing was learned")
	require.Greater(t, known, 150)
	require.InDelta(t, known, right, 4)
}

// TestDriverCacheOnWGPU runs a model on Mesa's driver, with only the permissions in the manifest. Afterwards, the driver's cache in the
// user's folder contains compiled kernels, and a second process of the plugin adds none.
func TestDriverCacheOnWGPU(t *testing.T) {
	dir := os.Getenv("BURN_WGPU_PLUGINS")
	if dir == "" {
		t.Skip("BURN_WGPU_PLUGINS is not set: it names a folder with the plugin wgpu and its library; make wgpu sets it")
	}
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	cache := filepath.Join(home, ".cache")
	t.Setenv("XDG_CACHE_HOME", cache) // otherwise Mesa asks the system for the user's folder
	kept := func() (files []string) {
		found, err := filepath.Glob(filepath.Join(cache, "mesa_shader_cache*", "*", "*"))
		require.NoError(t, err)
		return found
	}
	model := []string{"run", "../../examples/digits/digits.onnx", "../../examples/digits/digit_7.png", "--top", "1", "--device", "process:wgpu:0", "--plugin-path", dir}
	once := func() {
		var out, errOut bytes.Buffer
		code := run(t.Context(), func(string) string { return "" }, model, strings.NewReader(""), &out, &errOut)
		require.Equal(t, exitOK, code, errOut.String())
		require.Contains(t, out.String(), " 7 ")
	}
	once()
	first := kept()
	require.NotEmpty(t, first)
	probes, err := os.ReadDir(filepath.Join(cache, "burn", "kernels", "wgpu", "probes"))
	require.NoError(t, err)
	require.Len(t, probes, 1)
	once()
	require.Equal(t, first, kept())
}
