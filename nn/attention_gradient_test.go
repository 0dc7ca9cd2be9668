package nn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Attention has the same gradients on a device that claims attention_gradient, and on one where the ops that compose it are
// differentiated.
func TestAttentionGradient(t *testing.T) {
	var got [2][][]float64
	for i, b := range []core.Backend{ref.New(), nil} {
		p := &core.Place{Backend: b, Spec: "ref"}
		if b == nil {
			var err error
			p, err = core.OpenPlace("cpu", core.Config{Threads: 1})
			require.NoError(t, err)
		}
		dev, err := tensor.On(t.Context(), autodiff.Device(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		require.Equal(t, i == 0, dev.Claims(op.AttentionGradient, dtype.F64))
		dev.Seed(3)
		self := nn.NewMultiHeadAttention(dev, 8, 2, nn.AttentionConfig{})
		cross := nn.NewCrossAttention(dev, 8, 6, 4, nn.AttentionConfig{KVHeads: 2})
		nn.Cast(self, dtype.F64)
		nn.Cast(cross, dtype.F64)
		x, context := dev.Normal(dtype.F64, 0, 1, 2, 5, 8), dev.Normal(dtype.F64, 0, 1, 2, 3, 6)
		bias := dev.Normal(dtype.F64, 0, 1, 5, 3).RequireGrad()
		keys := tensor.From(dev, []bool{true, false, true, false, false, false}, 2, 3)
		y := self.Attend(x, x, x, nn.AttendOptions{Causal: true})
		z := cross.Attend(y, context, nn.AttendOptions{KeyMask: keys}).Add(cross.Attend(y, context, nn.AttendOptions{Mask: bias}))
		g, err := z.Square().Sum().Backward()
		require.NoError(t, err)
		all := append(nn.Trained(self), nn.Trained(cross)...)
		for _, p := range all {
			values, err := tensor.Data[float64](t.Context(), g.Of(p.Value()))
			require.NoError(t, err)
			got[i] = append(got[i], values)
		}
		values, err := tensor.Data[float64](t.Context(), g.Of(bias))
		require.NoError(t, err)
		got[i] = append(got[i], values)
	}
	require.NotEmpty(t, got[0])
	for k := range got[0] {
		require.InDeltaSlice(t, got[1][k], got[0][k], 1e-4) // the random numbers differ in the last bits of f32
	}
}

// noted records the attention and softmax nodes that reach a device, and the types of their results.
type noted struct {
	core.Backend
	nodes *[]string
}

func (b noted) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, device)
	return notedDevice{d, b.nodes}, err
}

type notedDevice struct {
	core.Device
	nodes *[]string
}

func (notedDevice) Extend(any) bool { return false }

func (d notedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return notedStream{s, d.nodes}, err
}

type notedStream struct {
	core.Stream
	nodes *[]string
}

func (s notedStream) Submit(nodes []op.Node, free []op.TensorID) error {
	for i := range nodes {
		if n := &nodes[i]; n.Op == op.Attention || n.Op == op.AttentionGradient || n.Op == op.Softmax {
			*s.nodes = append(*s.nodes, n.Op.String()+" "+n.Outputs[0].DType.String())
		}
	}
	return s.Stream.Submit(nodes, free)
}

// In mixed precision, attention computes in the narrow type in both directions if the device has its gradient. Dropout, and an
// added mask with a gradient, need explicit weights.
func TestAttentionNodes(t *testing.T) {
	for name, c := range map[string]struct {
		narrow  dtype.DType
		dropout float64
		bias    bool
		want    []string
	}{
		"f32":     {dtype.F32, 0, false, []string{"attention f32", "attention_gradient f32"}},
		"bf16":    {dtype.BF16, 0, false, []string{"attention bf16", "attention_gradient bf16"}},
		"dropout": {dtype.F32, 0.5, false, []string{"softmax f32"}},
		"bias":    {dtype.F32, 0, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []string
			dev, err := tensor.On(t.Context(), autodiff.Device(&core.Place{Backend: noted{ref.New(), &nodes}, Spec: "noted"}))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, dev.Close()) })
			m := nn.NewMultiHeadAttention(dev, 8, 2, nn.AttentionConfig{Dropout: c.dropout})
			x := dev.Normal(dtype.F32, 0, 1, 2, 5, 8)
			o := nn.AttendOptions{Causal: true}
			if c.bias {
				o.Mask = dev.Zeros(dtype.F32, 5, 5).RequireGrad()
			}
			tensor.Autocast(dev, c.narrow, func(d *tensor.Device) []tt {
				x := x.In(d)
				g, err := m.Attend(x, x, x, o).Square().Sum().Backward()
				require.NoError(t, err)
				require.Equal(t, dtype.F32, g.Of(m.InWeight.Value()).DType())
				_ = floats(t, g.Of(m.InWeight.Value()))
				return nil
			})
			require.Equal(t, c.want, nodes)
		})
	}
}
