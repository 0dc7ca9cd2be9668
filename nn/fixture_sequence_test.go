package nn_test

import (
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// state returns operand i, an initial state, or nil if the case does not have it.
func state(x []tt, i int) tt {
	if i < len(x) {
		return x[i]
	}
	return nil
}

func rnn(c nn.RecurrentConfig) layer {
	return with(func(d dev) *nn.Rnn { return nn.NewRnn(d, 4-b2i(c.NoBias)*2, 3, c) }, func(m *nn.Rnn, x []tt) []tt {
		y, h := m.Forward(x[0], state(x, 1))
		return []tt{y, h}
	})
}

func gru(c nn.RecurrentConfig) layer {
	return with(func(d dev) *nn.Gru { return nn.NewGru(d, 4-b2i(c.NoBias)*2, 3, c) }, func(m *nn.Gru, x []tt) []tt {
		y, h := m.Forward(x[0], state(x, 1))
		return []tt{y, h}
	})
}

func lstm(c nn.RecurrentConfig) layer {
	return with(func(d dev) *nn.Lstm { return nn.NewLstm(d, 4-b2i(c.NoBias)*2, 3, c) }, func(m *nn.Lstm, x []tt) []tt {
		y, s := m.Forward(x[0], nn.LstmState{H: state(x, 1), C: state(x, 2)})
		return []tt{y, s.H, s.C}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

var (
	deep    = nn.RecurrentConfig{Layers: 2, Bidirectional: true, TimeFirst: true}
	biasles = nn.RecurrentConfig{NoBias: true, Bidirectional: true}
)

func attention(f func(m *nn.MultiHeadAttention, x []tt) tt) layer {
	return with(func(d dev) *nn.MultiHeadAttention { return nn.NewMultiHeadAttention(d, 6, 2, nn.AttentionConfig{}) },
		func(m *nn.MultiHeadAttention, x []tt) []tt { return []tt{f(m, x)} })
}

func encoder(f func(m *nn.TransformerEncoder, x []tt) tt) layer {
	return with(func(d dev) *nn.TransformerEncoder {
		return nn.NewTransformerEncoder(d, 2, 4, 2, nn.TransformerConfig{FeedForward: 6, Activation: "gelu", NormFirst: true, FinalNorm: true})
	}, func(m *nn.TransformerEncoder, x []tt) []tt { return []tt{f(m, x)} })
}

var sequenceLayers = map[string]layer{
	"Rnn": rnn(nn.RecurrentConfig{}), "Rnn/deep": rnn(deep), "Rnn/nobias": rnn(biasles), "Rnn/relu": rnn(nn.RecurrentConfig{Relu: true}),
	"Gru": gru(nn.RecurrentConfig{}), "Gru/deep": gru(deep), "Gru/nobias": gru(biasles),
	"Lstm": lstm(nn.RecurrentConfig{}), "Lstm/deep": lstm(deep), "Lstm/nobias": lstm(biasles),
	"MultiHeadAttention": attention(func(m *nn.MultiHeadAttention, x []tt) tt { return m.Forward(x[0]) }),
	"MultiHeadAttention/cross": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Attend(x[0], x[1], x[2], nn.AttendOptions{})
	}),
	"MultiHeadAttention/memory": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Attend(x[0], x[1], x[1], nn.AttendOptions{})
	}),
	"MultiHeadAttention/weights": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Weights(x[0], x[1], nn.AttendOptions{})
	}),
	"MultiHeadAttention/keys": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Attend(x[0], x[0], x[0], nn.AttendOptions{KeyMask: x[1]})
	}),
	"MultiHeadAttention/causal": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Attend(x[0], x[0], x[0], nn.AttendOptions{Causal: true})
	}),
	"MultiHeadAttention/bias": attention(func(m *nn.MultiHeadAttention, x []tt) tt {
		return m.Attend(x[0], x[0], x[0], nn.AttendOptions{Mask: x[1]})
	}),
	"MultiHeadAttention/nobias": of(func(d dev) *nn.MultiHeadAttention {
		return nn.NewMultiHeadAttention(d, 4, 1, nn.AttentionConfig{NoBias: true})
	}),
	"CrossAttention": with(func(d dev) *nn.CrossAttention {
		return nn.NewCrossAttention(d, 4, 5, 4, nn.AttentionConfig{KVHeads: 2, HeadSize: 2})
	}, func(m *nn.CrossAttention, x []tt) []tt { return []tt{m.Attend(x[0], x[1], nn.AttendOptions{})} }),
	"TransformerEncoderLayer": of(func(d dev) *nn.TransformerEncoderLayer {
		return nn.NewTransformerEncoderLayer(d, 4, 2, nn.TransformerConfig{FeedForward: 6})
	}),
	"TransformerEncoder": encoder(func(m *nn.TransformerEncoder, x []tt) tt {
		return m.Encode(x[0], nn.AttendOptions{Causal: true}, nil)
	}),
	"TransformerEncoder/keys": encoder(func(m *nn.TransformerEncoder, x []tt) tt {
		return m.Encode(x[0], nn.AttendOptions{KeyMask: x[1]}, nil)
	}),
	"TransformerDecoderLayer": with(func(d dev) *nn.TransformerDecoderLayer {
		return nn.NewTransformerDecoderLayer(d, 4, 2, nn.TransformerConfig{FeedForward: 6})
	}, func(m *nn.TransformerDecoderLayer, x []tt) []tt {
		return []tt{m.Forward(x[0], x[1], nn.DecodeOptions{})}
	}),
	"TransformerDecoder": with(func(d dev) *nn.TransformerDecoder {
		return nn.NewTransformerDecoder(d, 2, 4, 2, nn.TransformerConfig{FeedForward: 6, NormFirst: true})
	}, func(m *nn.TransformerDecoder, x []tt) []tt {
		return []tt{m.Forward(x[0], x[1], nn.DecodeOptions{Target: nn.AttendOptions{Causal: true}, Memory: nn.AttendOptions{KeyMask: x[2]}})}
	}),
}

func inference[M nn.Moded](m M) M {
	m.SetTraining(false)
	return m
}

var activationLayers = map[string]layer{
	"Relu": plain(&nn.Relu{}), "Relu6": loss(func(x []tt) tt { return (&nn.Relu6{}).Forward(x[0].MulScalar(3)) }), "LeakyRelu": plain(nn.NewLeakyRelu()),
	"Elu": plain(nn.NewElu()), "Celu": plain(nn.NewCelu()), "Selu": plain(&nn.Selu{}), "Gelu": plain(&nn.Gelu{}), "Gelu/tanh": plain(&nn.Gelu{Tanh: true}),
	"Silu": plain(&nn.Silu{}), "Mish": plain(&nn.Mish{}), "Sigmoid": plain(&nn.Sigmoid{}), "LogSigmoid": plain(&nn.LogSigmoid{}),
	"HardSigmoid": plain(nn.NewHardSigmoid()), "HardSwish": plain(&nn.HardSwish{}), "Tanh": plain(&nn.Tanh{}), "HardTanh": plain(nn.NewHardTanh()),
	"TanhShrink": plain(&nn.TanhShrink{}), "Softplus": plain(nn.NewSoftplus()), "Softsign": plain(&nn.Softsign{}), "HardShrink": plain(nn.NewHardShrink()),
	"SoftShrink": plain(nn.NewSoftShrink()), "Shrink": plain(nn.NewShrink()), "Threshold": plain(&nn.Threshold{Limit: 0.1, Value: 2}),
	"ThresholdedRelu": plain(nn.NewThresholdedRelu()), "RRelu/eval": plain(inference(nn.NewRRelu())), "Softmax": plain(&nn.Softmax{Axis: -1}),
	"LogSoftmax": plain(&nn.LogSoftmax{Axis: 1}), "GLU": plain(nn.NewGLU()),
	"PRelu":          of(func(d dev) *nn.PRelu { return nn.NewPRelu(d, 1) }),
	"PRelu/channels": of(func(d dev) *nn.PRelu { return nn.NewPRelu(d, 4) }),
	"SwiGLU":         of(func(d dev) *nn.SwiGLU { return nn.NewSwiGLU(d, 3, 5, nn.LinearConfig{NoBias: true}) }),
}

// reductions returns a case of a loss for each reduction.
func reductions(name string, f func(r tensor.Reduction, x []tt) tt) map[string]layer {
	out := map[string]layer{}
	for end, r := range map[string]tensor.Reduction{"": "", "/sum": tensor.SumLoss, "/none": tensor.EachLoss} {
		out[name+end] = loss(func(x []tt) tt { return f(r, x) })
	}
	return out
}
