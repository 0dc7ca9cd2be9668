package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/template"
)

// backward returns a trial of the gradient of attention. The forward result among its operands comes from the reference.
func (c attentionCase) backward(t *testing.T, d dtype.DType) trial {
	forward := c.trial(t, d)
	descs := make([]op.Desc, len(forward.in))
	for i, x := range forward.in {
		descs[i] = x.Desc
	}
	n, err := op.New(op.Attention, descs, c.attrs...)
	require.NoError(t, err)
	y, err := ref.Eval(&n, forward.in)
	require.NoError(t, err)
	dy := random(source(t.Name()+" dy"), d, false, y[0].Desc.Shape...)
	in := append(append([]ref.Tensor{}, forward.in[:3]...), y[0], dy)
	return trialOf(t, op.AttentionGradient, c.attrs, append(in, forward.in[3:]...))
}

// racedCases have several tiles of keys, or of queries of several heads. They are small enough for the interpreter to detect races.
var racedCases = []attentionCase{
	{1, 1, 1, 40, 150, 16, 16, nil, nil, 0},
	{1, 1, 1, 40, 150, 16, 16, []op.Attr{op.Flag("causal", true), op.Int("past", 110)}, nil, 0},
	{1, 2, 1, 70, 40, 16, 16, []op.Attr{op.Flag("causal", true), op.Int("past", 5)}, nil, 0},
	{1, 2, 1, 70, 40, 16, 16, []op.Attr{op.Int("window", 9)}, []int{1, 2, 1, 40}, dtype.F32},
}

func TestAttentionGradientRaces(t *testing.T) {
	for i, d := range []dtype.DType{dtype.F16, dtype.BF16, dtype.F32} {
		for j, c := range racedCases {
			c.backward(t, d).run(structuredTargets[0], 5)
			c.backward(t, d).run(matrixTargets[1+(i+j)%4], 5)
		}
	}
}

// TestAttentionOfViews runs attention on operands stored as [batch, position, head, width], as products write them.
func TestAttentionOfViews(t *testing.T) {
	c := attentionCase{2, 4, 2, 37, 41, 32, 16, []op.Attr{op.Flag("causal", true), op.Int("past", 4)}, nil, 0}
	for _, d := range []dtype.DType{dtype.BF16, dtype.F32} {
		forward, backward := c.trial(t, d), c.backward(t, d)
		forward.turn, backward.turn = 3, 5
		for _, target := range structuredTargets {
			forward.run(target, 7)
			backward.run(target, 7)
		}
	}
}

// TestAttentionGradientByMatrices checks which kernels compute the gradient. Matrix instructions serve widths that are multiples of 16,
// without a softcap. Rows of width 128 need more than 32 KiB of shared memory for them.
func TestAttentionGradientByMatrices(t *testing.T) {
	matrices := []string{"attention_back_queries_mma", "attention_back_keys_mma"}
	vectors := []string{"attention_back_statistics", "attention_back_queries", "attention_back_keys", "attention_back_values"}
	for _, c := range []struct {
		width, values int
		attrs         []op.Attr
		names         []string
		little        []string // with 32 KiB of shared memory
	}{
		{64, 64, nil, matrices, matrices},
		{128, 128, nil, matrices, vectors},
		{16, 96, nil, matrices, matrices},
		{24, 24, nil, vectors, vectors},
		{64, 64, []op.Attr{op.Float("softcap", 1)}, vectors, vectors},
	} {
		q, y := op.DescOf(dtype.BF16, 1, 2, 100, c.width), op.DescOf(dtype.BF16, 1, 2, 100, c.values)
		in := []op.Desc{q, q, y, y, y}
		n, err := op.New(op.AttentionGradient, in, c.attrs...)
		require.NoError(t, err)
		for _, target := range matrixTargets {
			w, err := attentionGradient(target, &n, operandsOf(in), operandsOf(n.Outputs))
			require.NoError(t, err)
			var names []string
			for _, l := range w.Launches {
				names = append(names, l.Kernel.Name)
			}
			want := c.names
			if target.Shared == 32<<10 {
				want = c.little
			}
			require.Equal(t, want, names)
			require.Len(t, w.Temps, 2) // two f32 for each query of each head, and no scores
			require.EqualValues(t, []int64{2 * 100 * 4, 2 * 100 * 4}, w.Temps)
		}
	}
}

func operandsOf(ds []op.Desc) []template.Operand {
	out := make([]template.Operand, len(ds))
	for i, d := range ds {
		out[i] = template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)}
	}
	return out
}

func TestAttentionGradient(t *testing.T) {
	for n, d := range dtype.Floats.List() {
		for i, c := range attentionCases {
			if (i+n)%long.Every(3) != 0 {
				continue
			}
			k := i % len(structuredTargets)
			c.backward(t, d).run(structuredTargets[k], 5)
			if d.Size() == 2 && k != 0 { // target 0 has matrix instructions
				c.backward(t, d).run(structuredTargets[0], 5)
			}
			if d.Size() == 2 && (i+n)%long.Every(2) == 0 {
				c.backward(t, d).run(matrixTargets[1+i%4], 5)
			}
		}
	}
}
