package op_test

import (
	"github.com/goburn/burn/core/op"
)

// rnn returns the f32 operands of op.RNN over t steps.
func rnn(t, batch, inputs, hidden, dirs int) []op.Desc {
	return ins(f(t, batch, inputs), f(dirs, hidden, inputs), f(dirs, hidden, hidden), f(dirs, hidden), f(dirs, batch, hidden))
}

// backward returns the operands of op.AttentionGradient for the attention of q to k and v.
func backward(q, k, v op.Desc) []op.Desc {
	y := f(q.Shape[0], q.Shape[1], q.Shape[2], v.Shape[3])
	return ins(q, k, v, y, y)
}

func init() {
	most := func(n int) []op.Attr { return with(op.Int("max_output", n)) }
	write := func(c, p, u op.Desc) []op.Desc { return ins(c, p, u) }
	violations = append(violations, []violation{
		{op.Compress, "C1", ins(f(3), b(3)), axis(1), op.ErrShape}, {op.Compress, "C2", ins(f(3, 4), b(3)), axis(1), op.ErrShape}, {op.Compress, "C2", ins(f(3), b(1, 3)), axis(0), op.ErrShape},
		{op.Unique, "C1", ins(f(3, 4)), nil, op.ErrShape}, {op.Unique, "C1", ins(f()), nil, op.ErrShape},
		{op.NMS, "C1", ins(f(3, 5), f(3)), most(1), op.ErrShape}, {op.NMS, "C1", ins(f(4), f(1)), most(1), op.ErrShape}, {op.NMS, "C2", ins(f(3, 4), f(4)), most(1), op.ErrShape},
		{op.NMS, "C3", ins(f(3, 4), f(3)), most(4), op.ErrAttr}, {op.NMS, "C3", ins(f(3, 4), f(3)), most(-1), op.ErrAttr},
		{op.Attention, "C1", ins(f(2, 3, 4), f(2, 3, 4), f(2, 3, 4)), nil, op.ErrShape},
		{op.Attention, "C2", ins(f(1, 2, 3, 4), f(1, 2, 3, 5), f(1, 2, 3, 4)), nil, op.ErrShape}, {op.Attention, "C2", ins(f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 3, 4)), nil, op.ErrShape},
		{op.Attention, "C3", ins(f(1, 3, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4)), nil, op.ErrShape}, {op.Attention, "C3", ins(f(1, 3, 3, 4), f(1, 0, 3, 4), f(1, 0, 3, 4)), nil, op.ErrShape},
		{op.Attention, "C4", ins(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4), f(2)), nil, op.ErrShape},
		{op.Attention, "C5", ins(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4)), with(op.Int("window", -1)), op.ErrAttr}, {op.Attention, "C5", ins(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4)), with(op.Int("past", 1<<60)), op.ErrAttr},
		{op.AttentionGradient, "C1", ins(f(2, 3, 4), f(2, 3, 4), f(2, 3, 4), f(2, 3, 4), f(2, 3, 4)), nil, op.ErrShape},
		{op.AttentionGradient, "C2", backward(f(1, 2, 3, 4), f(1, 2, 3, 5), f(1, 2, 3, 4)), nil, op.ErrShape},
		{op.AttentionGradient, "C3", backward(f(1, 3, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4)), nil, op.ErrShape},
		{op.AttentionGradient, "C4", append(backward(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4)), f(2)), nil, op.ErrShape},
		{op.AttentionGradient, "C5", backward(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4)), with(op.Int("window", -1)), op.ErrAttr},
		{op.AttentionGradient, "C6", ins(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 5), f(1, 1, 3, 4)), nil, op.ErrShape},
		{op.AttentionGradient, "C6", ins(f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 1, 3, 4), f(1, 3, 4)), nil, op.ErrShape},
		{op.CacheWrite, "C1", write(f(3), i(), f(1)), axis(1), op.ErrShape}, {op.CacheWrite, "C2", write(f(3, 4), i(), f(3, 5)), axis(1), op.ErrShape},
		{op.CacheWrite, "C2", write(f(3, 4), i(), f(2, 4)), axis(1), op.ErrShape}, {op.CacheWrite, "C3", write(f(3, 4), i(3), f(1, 4)), axis(0), op.ErrShape}, {op.CacheWrite, "C3", write(f(3, 4), i(2), f(3, 1)), axis(1), op.ErrShape},
		{op.RotaryEmbedding, "C1", ins(f(), f(1), f(1)), nil, op.ErrShape}, {op.RotaryEmbedding, "C2", ins(f(2, 4), f(2, 2), f(2)), nil, op.ErrShape},
		{op.RotaryEmbedding, "C3", ins(f(2, 4), f(3), f(3)), nil, op.ErrShape}, {op.RotaryEmbedding, "C3", ins(f(2, 4), f(3, 2), f(3, 2)), nil, op.ErrShape},
		{op.RNN, "C1", ins(f(2, 3), f(1, 2, 3), f(1, 2, 2), f(1, 2), f(1, 1, 2)), nil, op.ErrShape}, {op.RNN, "C2", ins(f(2, 1, 3), f(1, 2, 3), f(1, 2, 2), f(1, 2), f(1, 2, 2)), nil, op.ErrShape},
		{op.RNN, "C3", ins(f(2, 1, 3), f(1, 2, 3), f(1, 2, 2), f(1, 3), f(1, 1, 2)), nil, op.ErrShape},
		{op.Embedding, "C1", ins(f(3), i(2)), nil, op.ErrShape}, {op.Embedding, "C2", ins(f(3, 2), i(2)), with(op.Int("padding", 3)), op.ErrAttr}, {op.Embedding, "C2", ins(f(3, 2), i(2)), with(op.Int("padding", -2)), op.ErrAttr},
	}...)
	causal := op.Flag("causal", true)
	samples = append(samples, []sample{
		{op.NonZero, ins(f(3, 4)), nil}, {op.NonZero, ins(f()), nil}, {op.NonZero, ins(f(0, 2)), nil}, {op.NonZero, ins(b(2, 3)), nil},
		{op.Compress, ins(f(3, 4), b(4)), axis(1)}, {op.Compress, ins(f(3, 4), b(3)), axis(0)}, {op.Compress, ins(f(2, 0), b(0)), axis(1)},
		{op.Unique, ins(f(12)), nil}, {op.Unique, ins(f(0)), nil}, {op.Unique, ins(f(1)), nil}, {op.Unique, ins(f(12)), with(op.Flag("sorted", false))},
		{op.NMS, ins(f(6, 4), f(6)), with(op.Int("max_output", 4), op.Float("iou_threshold", 0.1))}, {op.NMS, ins(f(6, 4), f(6)), with(op.Int("max_output", 6), op.Float("score_threshold", 0), op.Flag("center_point", true))},
		{op.NMS, ins(f(0, 4), f(0)), most(0)},
		{op.Attention, ins(f(2, 4, 3, 5), f(2, 2, 4, 5), f(2, 2, 4, 3)), with(causal, op.Int("past", 1))}, {op.Attention, ins(f(1, 2, 3, 5), f(1, 2, 4, 5), f(1, 2, 4, 3), b(3, 4)), with(op.Float("softcap", 2))},
		{op.Attention, ins(f(1, 2, 3, 5), f(1, 2, 4, 5), f(1, 2, 4, 3), f(2, 1, 4)), with(op.Int("window", 2), op.Float("scale", 0.3))}, {op.Attention, ins(f(1, 2, 3, 5), f(1, 2, 0, 5), f(1, 2, 0, 3)), nil},
		{op.Attention, ins(f(1, 2, 3, 5), f(1, 2, 4, 5), f(1, 2, 4, 3)), with(causal, op.Int("past", -2))}, {op.Attention, ins(f(1, 2, 2, 0), f(1, 2, 3, 0), f(1, 2, 3, 2)), nil},
		{op.AttentionGradient, backward(f(2, 4, 3, 5), f(2, 2, 4, 5), f(2, 2, 4, 3)), with(causal, op.Int("past", 1))},
		{op.AttentionGradient, append(backward(f(1, 2, 3, 5), f(1, 2, 4, 5), f(1, 2, 4, 3)), b(3, 4)), with(op.Float("softcap", 2))},
		{op.AttentionGradient, append(backward(f(1, 2, 3, 5), f(1, 2, 4, 5), f(1, 2, 4, 3)), f(2, 1, 4)), with(op.Int("window", 2), op.Float("scale", 0.3))},
		{op.AttentionGradient, backward(f(1, 2, 3, 5), f(1, 2, 0, 5), f(1, 2, 0, 3)), nil}, {op.AttentionGradient, backward(f(1, 2, 2, 0), f(1, 2, 3, 0), f(1, 2, 3, 2)), nil},
		{op.CacheWrite, write(f(2, 5, 3), i(), f(2, 2, 3)), axis(1)}, {op.CacheWrite, write(f(2, 3, 5), i(2), f(2, 3, 2)), axis(2)}, {op.CacheWrite, write(f(4), i(), f(0)), axis(0)},
		{op.RotaryEmbedding, ins(f(2, 3, 6), f(3, 2), f(3, 2)), nil}, {op.RotaryEmbedding, ins(f(2, 3, 6), f(3, 3), f(3, 3)), with(op.Flag("interleaved", true))},
		{op.RotaryEmbedding, ins(f(1, 2, 1, 1, 1, 2, 3, 7), f(2), f(2)), with(op.Flag("interleaved", true))},
		{op.RNN, rnn(3, 2, 3, 2, 2), with(op.Str("direction", "bidirectional"))}, {op.RNN, rnn(3, 2, 3, 2, 1), with(op.Str("activation", "relu"), op.Str("direction", "reverse"))},
		{op.Embedding, ins(f(3, 2), i(2, 3)), with(op.Int("padding", 1))}, {op.Embedding, ins(f(3, 2), i()), nil},
	}...)
	inferences = append(inferences, []inference{
		{op.NonZero, ins(f(2, 3)), nil, ins(i(6, 2), i())}, {op.NonZero, ins(f()), nil, ins(i(1, 0), i())}, {op.Compress, ins(b(2, 3), b(3)), axis(1), ins(b(2, 3), i())},
		{op.Unique, ins(f(5)), nil, ins(f(5), i(5), i(5), i(5), i())}, {op.NMS, ins(f(9, 4), f(9)), most(3), ins(i(3), i())},
		{op.Attention, ins(f(2, 6, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 7), b(6, 3, 1)), nil, ins(f(2, 6, 3, 7))}, {op.Embedding, ins(f(9, 4), i(2, 3)), nil, ins(f(2, 3, 4))},
		{op.AttentionGradient, backward(f(2, 6, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 7)), nil, ins(f(2, 6, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 7))},
		{op.RNN, rnn(3, 2, 5, 4, 2), with(op.Str("direction", "bidirectional")), ins(f(3, 2, 2, 4), f(2, 2, 4))},
		{op.CacheWrite, ins(f(2, 5), i(2), f(2, 3)), axis(1), ins(f(2, 5))}, {op.RotaryEmbedding, ins(f(2, 9), f(3), f(3)), nil, ins(f(2, 9))},
	}...)
}
