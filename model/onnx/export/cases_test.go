package export_test

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

type (
	ts = []*tensor.Tensor
	tt = *tensor.Tensor
)

// runner is the forward pass of a module of any type, to run and to export.
type runner struct {
	run    func(in ts) ts
	export func(in []export.Input, o export.Options) (*pb.Model, error)
}

func of[M any](m M, f func(m M, in ts) ts) runner {
	nn.Eval(m)
	return runner{func(in ts) ts { return f(m, in) },
		func(in []export.Input, o export.Options) (*pb.Model, error) { return export.Modules(ctx, m, f, in, o) }}
}

// layer returns a runner of a module with one input and one output.
func layer[M nn.Module](m M) runner {
	return of(m, func(m M, in ts) ts { return ts{m.Forward(in[0])} })
}

func input(shape ...int) []export.Input {
	return []export.Input{{Name: "x", DType: dtype.F32, Shape: shape}}
}

type net struct {
	Conv *nn.Conv2d
	Norm *nn.BatchNorm
	Pool *nn.MaxPool2d
	Drop *nn.Dropout
	Head *nn.Linear
}

func (m *net) Forward(x tt) tt {
	x = m.Pool.Forward(m.Norm.Forward(m.Conv.Forward(x)).Relu())
	return m.Head.Forward(m.Drop.Forward(x.Reshape(x.Shape()[0], 64)))
}

type text struct {
	Embed    *nn.Embedding
	Position *nn.PositionalEncoding
	Encoder  *nn.TransformerEncoder
	Head     *nn.Linear
}

func (m *text) Forward(x tt) tt {
	return m.Head.Forward(m.Encoder.Forward(m.Position.Forward(m.Embed.Forward(x)))).LogSoftmax(-1)
}

const free = export.Any

func sorted(x tt) tt { y, _ := x.Sort(2, true); return y }

var cases = []struct {
	name   string
	inputs []export.Input
	build  func(d *tensor.Device) runner
}{
	{"conv_net", input(free, 1, 8, 8), func(d *tensor.Device) runner {
		return layer(&net{nn.NewConv2d(d, 1, 4, [2]int{3, 3}, nn.ConvConfig{Same: true}), nn.NewBatchNorm(d, 4, nn.BatchNormConfig{}),
			nn.NewMaxPool2d([2]int{2, 2}, nn.PoolConfig{}), nn.NewDropout(0.5), nn.NewLinear(d, 64, 3, nn.LinearConfig{})})
	}},
	{"transformer", []export.Input{{Name: "tokens", DType: dtype.I64, Shape: []int{free, 6}}}, func(d *tensor.Device) runner {
		return layer(&text{nn.NewEmbedding(d, 5, 8, nn.EmbeddingConfig{}), nn.NewPositionalEncoding(d, 8, nn.PositionConfig{MaxLength: 10}),
			nn.NewTransformerEncoder(d, 2, 8, 2, nn.TransformerConfig{FeedForward: 16}), nn.NewLinear(d, 8, 5, nn.LinearConfig{})})
	}},
	{"causal_attention", input(free, 5, 8), func(d *tensor.Device) runner {
		m := nn.NewMultiHeadAttention(d, 8, 2, nn.AttentionConfig{})
		return of(m, func(m *nn.MultiHeadAttention, in ts) ts {
			return ts{m.Attend(in[0], in[0], in[0], nn.AttendOptions{Causal: true})}
		})
	}},
	{"lstm", input(free, 3, 4), func(d *tensor.Device) runner {
		m := nn.NewLstm(d, 4, 5, nn.RecurrentConfig{Layers: 2, Bidirectional: true})
		return of(m, func(m *nn.Lstm, in ts) ts { y, _ := m.Forward(in[0], nn.LstmState{}); return ts{y} })
	}},
	{"gru", input(free, 3, 4), func(d *tensor.Device) runner {
		m := nn.NewGru(d, 4, 5, nn.RecurrentConfig{})
		return of(m, func(m *nn.Gru, in ts) ts { y, _ := m.Forward(in[0], nil); return ts{y} })
	}},
	{"rnn", input(free, 3, 4), func(d *tensor.Device) runner {
		m := nn.NewRnn(d, 4, 5, nn.RecurrentConfig{Relu: true})
		return of(m, func(m *nn.Rnn, in ts) ts { y, _ := m.Forward(in[0], nil); return ts{y} })
	}},
	{"conv1d_groups", input(free, 4, 9), func(d *tensor.Device) runner {
		return layer(nn.NewConv1d(d, 4, 6, 3, nn.ConvConfig{Groups: 2, Stride: []int{2}, Dilation: []int{2}, Padding: []int{1}}))
	}},
	{"conv3d", input(free, 2, 4, 4, 3), func(d *tensor.Device) runner { return layer(nn.NewConv3d(d, 2, 3, [3]int{2, 3, 2}, nn.ConvConfig{})) }},
	{"conv_transpose", input(free, 4, 5, 4), func(d *tensor.Device) runner {
		return layer(nn.NewConvTranspose2d(d, 4, 6, [2]int{3, 3}, nn.ConvTransposeConfig{Stride: []int{2}, Padding: []int{1}, Groups: 2}))
	}},
	{"pools", input(free, 2, 7, 7), func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x := in[0]
			return ts{x.MaxPool([]int{3, 2}, tensor.PoolOptions{Strides: []int{2, 2}, Padding: []int{1, 0}}),
				x.AvgPool([]int{3, 3}, tensor.PoolOptions{Strides: []int{2, 2}, Padding: []int{1, 1}}),
				x.AvgPool([]int{2, 2}, tensor.PoolOptions{Strides: []int{2, 2}, Ceil: true, ExcludePad: true}),
				x.MaxPool([]int{2, 2}, tensor.PoolOptions{Strides: []int{2, 2}, Ceil: true}), x.AdaptiveAvgPool(1, 1), x.AdaptiveAvgPool(3, 2)}
		})
	}},
	{"norms", input(free, 4, 3, 5), func(d *tensor.Device) runner {
		type norms struct {
			Layer    *nn.LayerNorm
			Plain    *nn.LayerNorm
			Group    *nn.GroupNorm
			Instance *nn.InstanceNorm
			RMS      *nn.RMSNorm
			Local    *nn.LocalResponseNorm
		}
		m := &norms{nn.NewLayerNorm(d, []int{3, 5}, nn.NormConfig{}), nn.NewLayerNorm(d, []int{5}, nn.NormConfig{Plain: true}), nn.NewGroupNorm(d, 2, 4, nn.NormConfig{}),
			nn.NewInstanceNorm(d, 4, nn.NormConfig{}), nn.NewRMSNorm(d, 5, 0), nn.NewLocalResponseNorm(3)}
		return of(m, func(m *norms, in ts) ts {
			x := in[0]
			return ts{m.Layer.Forward(x), m.Plain.Forward(x), m.Group.Forward(x), m.Instance.Forward(x), m.RMS.Forward(x), m.Local.Forward(x)}
		})
	}},
	{"activations", input(free, 6), func(d *tensor.Device) runner {
		m := nn.NewPRelu(d, 6)
		return of(m, func(m *nn.PRelu, in ts) ts {
			x := in[0]
			return ts{m.Forward(x), x.Gelu(), x.GeluTanh(), x.Silu(), x.Mish(), x.Elu(0.7), x.Selu(), x.Celu(1.3), x.LeakyRelu(0.1), x.HardSigmoid(0.2, 0.5), x.HardSwish(),
				x.Softplus(1), x.Softsign(), x.LogSigmoid(), x.Sigmoid(), x.Tanh(), x.Clamp(-0.5, 0.25), x.GLU(1), x.Softmax(1), x.HardTanh(-0.5, 0.5)}
		})
	}},
	{"elementwise", input(free, 6), func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x := in[0]
			p := x.Abs().AddScalar(0.1)
			return ts{p.Log(), p.Log1p(), x.Expm1(), x.Square(), p.Sqrt(), p.Reciprocal(), x.Sin(), x.Erf(), x.Floor(), x.MulScalar(10).Round(), x.Sign(),
				p.Pow(x), x.Maximum(p), x.Sub(p).Div(p), x.MulScalar(7).Rem(p), x.Less(p).Where(x, p), x.LessEqual(p).And(x.GreaterScalar(0)).Cast(dtype.F32),
				x.NotEqual(p).Not().Cast(dtype.I64), x.MulScalar(9).Cast(dtype.I32).FloorModScalar(4)}
		})
	}},
	{"movement", input(free, 4, 6), func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x := in[0]
			n := x.Shape()[0]
			return ts{x.Permute(2, 0, 1), x.Reshape(n*4, 6), x.Reshape(n, 24), x.Narrow(2, 1, 3), x.Narrow(0, 1, n-1), x.Flip(0, 2), tensor.Concat(1, x, x.MulScalar(2)),
				x.Unsqueeze(1).Expand(n, 3, 4, 6), x.Tril(0), x.RepeatInterleave(1, 2), x.Roll([]int{1}, []int{2}), tensor.Stack(0, x, x).Sum(0),
				x.Select(1, 2), x.Device().Arange(dtype.F32, 0, 6, 1).Add(x)}
		})
	}},
	{"reductions", input(free, 4, 6), func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x := in[0]
			v, i := x.TopK(2, 2)
			return ts{x.Sum(1), x.MeanKeep(1, 2), x.Max(2), x.Min(0), x.Prod(2), x.Variance(1, 2), x.LogSumExp(2), x.ArgMax(2), x.ArgMin(1), x.CumSum(1), v, i,
				sorted(x), x.MatMulT(x, false, true), x.Normalize(2, 2, 1e-12)}
		})
	}},
	{"gather", []export.Input{{Name: "x", DType: dtype.F32, Shape: []int{free, 5, 3}}, {Name: "i", DType: dtype.I64, Shape: []int{free, 2}}}, func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x, i := in[0], in[1]
			return ts{x.Select(0, 0).IndexSelect(0, i), x.Select(2, 0).Gather(1, i), i.OneHot(dtype.F32, 5, -1), x.Interpolate(tensor.InterpolateOptions{}, 6)}
		})
	}},
	{"decoder", []export.Input{{Name: "x", DType: dtype.F32, Shape: []int{free, 3, 8}}, {Name: "memory", DType: dtype.F32, Shape: []int{free, 4, 8}}}, func(d *tensor.Device) runner {
		m := nn.NewTransformerDecoder(d, 1, 8, 2, nn.TransformerConfig{FeedForward: 8, NormFirst: true, Activation: "gelu", FinalNorm: true})
		return of(m, func(m *nn.TransformerDecoder, in ts) ts {
			return ts{m.Forward(in[0], in[1], nn.DecodeOptions{Target: nn.AttendOptions{Causal: true}})}
		})
	}},
	{"llama_parts", input(free, 5, 8), func(d *tensor.Device) runner {
		type parts struct {
			Rotary *nn.RotaryEncoding
			Cross  *nn.CrossAttention
			Gate   *nn.SwiGLU
			Norm   *nn.RMSNorm
		}
		m := &parts{nn.NewRotaryEncoding(d, 4, nn.PositionConfig{MaxLength: 6}), nn.NewCrossAttention(d, 8, 8, 4, nn.AttentionConfig{KVHeads: 2}),
			nn.NewSwiGLU(d, 8, 6, nn.LinearConfig{NoBias: true}), nn.NewRMSNorm(d, 8, 0)}
		return of(m, func(m *parts, in ts) ts {
			x := in[0]
			n := x.Shape()[0]
			return ts{m.Gate.Forward(m.Norm.Forward(m.Cross.Attend(x, x, nn.AttendOptions{}))), m.Rotary.Forward(x.Reshape(n, 5, 2, 4).Permute(0, 2, 1, 3))}
		})
	}},
	{"resample", input(free, 4, 4, 3), func(d *tensor.Device) runner {
		type none struct{}
		return of(&none{}, func(_ *none, in ts) ts {
			x := in[0]
			return ts{x.Interpolate(tensor.InterpolateOptions{}, 8, 6), x.Interpolate(tensor.InterpolateOptions{Mode: "linear"}, 6, 6),
				x.Interpolate(tensor.InterpolateOptions{Mode: "linear", AlignCorners: true}, 7, 5), x.ChannelShuffle(2), x.AdaptiveMaxPool(2, 2)}
		})
	}},
	{"fixed_shape", input(2, 3), func(d *tensor.Device) runner {
		return of(nn.NewLinear(d, 3, 2, nn.LinearConfig{}), func(m *nn.Linear, in ts) ts {
			y := m.Forward(in[0])
			return ts{y.MulScalar(1 / float64(in[0].Shape()[0])), y.Pad(0, 1, 2, 0.5)}
		})
	}},
}
