package lower

import (
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/long"
)

// attentionCase holds the shapes and attributes of an attention.
type attentionCase struct {
	batch, heads, keyHeads, queries, keys, width, values int

	attrs    []op.Attr
	mask     []int // its shape, nil for none
	maskType dtype.DType
}

var attentionCases = []attentionCase{
	{1, 1, 1, 1, 1, 1, 1, nil, nil, 0},
	{2, 3, 3, 33, 31, 16, 16, nil, nil, 0},
	{1, 4, 2, 70, 70, 32, 32, []op.Attr{op.Flag("causal", true)}, nil, 0},
	{1, 2, 1, 5, 130, 64, 48, []op.Attr{op.Flag("causal", true), op.Int("past", 125)}, nil, 0},
	{1, 2, 2, 40, 90, 80, 16, []op.Attr{op.Int("window", 7), op.Int("past", 3), op.Float("scale", -0.7)}, nil, 0},
	{1, 2, 2, 65, 65, 16, 32, []op.Attr{op.Float("softcap", 2), op.Float("scale", 3)}, []int{65, 65}, dtype.F32},
	{2, 2, 1, 17, 33, 16, 16, []op.Attr{op.Flag("causal", true), op.Int("past", -4)}, []int{2, 1, 1, 33}, dtype.Bool},
	{2, 2, 1, 3, 0, 4, 5, nil, nil, 0},
	{1, 1, 1, 2, 5, 0, 2, nil, nil, 0},
	{1, 1, 1, 100, 100, 128, 128, []op.Attr{op.Flag("causal", true)}, nil, 0},
	{1, 2, 1, 150, 150, 64, 64, []op.Attr{op.Flag("causal", true)}, nil, 0},
	{1, 2, 1, 67, 200, 64, 32, []op.Attr{op.Flag("causal", true), op.Int("past", 133), op.Int("window", 70)}, []int{2, 1, 200}, dtype.Bool},
	{1, 1, 1, 80, 65, 96, 112, []op.Attr{op.Float("softcap", 1.5)}, []int{80, 65}, dtype.BF16},
	{1, 1, 1, 20, 20, 7, 140, nil, []int{1, 1, 1}, dtype.Bool},
}

func (c attentionCase) trial(t *testing.T, d dtype.DType) trial {
	r := source(t.Name())
	in := []ref.Tensor{random(r, d, false, c.batch, c.heads, c.queries, c.width), random(r, d, false, c.batch, c.keyHeads, c.keys, c.width),
		random(r, d, false, c.batch, c.keyHeads, c.keys, c.values)}
	if c.mask != nil {
		m := random(r, c.maskType, false, c.mask...)
		in = append(in, m)
	}
	return trialOf(t, op.Attention, c.attrs, in)
}

func TestAttention(t *testing.T) {
	for n, d := range dtype.Floats.List() {
		for i, c := range attentionCases {
			if (n+i)%long.Every(2) != 0 {
				continue
			}
			c.trial(t, d).run(structuredTargets[i%len(structuredTargets)], 5)
			if d.Size() == 2 {
				c.trial(t, d).run(structuredTargets[0], 5)
				c.trial(t, d).run(matrixTargets[1+i%4], 5)
			}
		}
	}
}
