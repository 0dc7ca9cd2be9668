package conformance_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// onLarge returns an evaluation in which change modifies the results of nodes whose first operand has more than 100,000 elements.
func onLarge(change func(n *op.Node, in []ref.Tensor, out []ref.Tensor)) ref.Option {
	return ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && in != nil && in[0].Desc.Shape.Size() > 100000 {
			change(n, in, out)
		}
		return out, err
	})
}

// leftToRight splits x into lines of equal length and returns the sum of each line, accumulated in f32 from left to right.
func leftToRight(x ref.Tensor, lines int) []float64 {
	size := len(x.F) / lines
	sums := make([]float64, lines)
	for i := range sums {
		s := float32(0)
		for _, f := range x.F[i*size:][:size] {
			s += float32(f)
		}
		sums[i] = float64(s)
	}
	return sums
}

// A backend may sum 200,000 elements from left to right in f32. It may not leave some out, count some twice, keep the sum in bf16 or
// return other bits each time. By the tolerance of the op table alone, all of these faults but the third would pass.
func TestLargeCases(t *testing.T) {
	t.Parallel()
	const sums, means = "^sum/f32/large-(all|rows)/", "^mean/f32/large-all/plain$"
	rounds := atomic.Int64{}
	for _, c := range []struct {
		name, run string
		change    func(n *op.Node, in []ref.Tensor, out []ref.Tensor)
		failed    []string
	}{
		{"as it is", sums, func(*op.Node, []ref.Tensor, []ref.Tensor) {}, nil},
		{"from left to right", sums, func(_ *op.Node, in, out []ref.Tensor) { copy(out[0].F, leftToRight(in[0], len(out[0].F))) }, nil},
		{"the last 256 elements left out", sums, func(_ *op.Node, in, out []ref.Tensor) {
			for _, f := range in[0].F[len(in[0].F)-256:] {
				out[0].F[len(out[0].F)-1] -= f
			}
		}, []string{"sum/f32/large-all/plain", "sum/f32/large-rows/plain"}},
		{"a block counted twice", sums, func(_ *op.Node, in, out []ref.Tensor) {
			for _, f := range in[0].F[1024:1280] {
				out[0].F[0] += f
			}
		}, []string{"sum/f32/large-all/plain", "sum/f32/large-rows/plain"}},
		{"blocks of 512 in bf16", sums, func(_ *op.Node, in, out []ref.Tensor) {
			size := len(in[0].F) / len(out[0].F)
			for i := range out[0].F {
				total := 0.0
				for block := range slices.Chunk(in[0].F[i*size:][:size], 512) {
					part := 0.0
					for _, f := range block {
						part = ref.Round(dtype.BF16, part+f)
					}
					total += part
				}
				out[0].F[i] = ref.Round(dtype.F32, total)
			}
		}, []string{"sum/f32/large-all/plain", "sum/f32/large-rows/plain"}},
		{"a mean that is too small by one percent", means, func(_ *op.Node, _, out []ref.Tensor) { out[0].F[0] *= 0.99 }, []string{"mean/f32/large-all/plain"}},
		{"other bits each time", sums, func(_ *op.Node, _, out []ref.Tensor) {
			out[0].F[0] = ref.Round(dtype.F32, out[0].F[0]*(1+0x1p-23*float64(rounds.Add(1)%3)))
		}, []string{"sum/f32/large-all/twice"}},
		{"softmax that adds up to 1.001", "^softmax/f32/large-columns/plain$", func(_ *op.Node, _, out []ref.Tensor) {
			for i := range out[0].F {
				out[0].F[i] *= 1.001
			}
		}, []string{"softmax/f32/large-columns/plain"}},
		{"indices of 16 bits", "^gather/f32/large-columns/plain$", func(_ *op.Node, in, out []ref.Tensor) {
			width, wide := len(in[1].I), in[0].Desc.Shape[1]
			for i := range out[0].F {
				out[0].F[i] = in[0].F[i/width*wide+int(in[1].I[i%width]&0xffff)]
			}
		}, []string{"gather/f32/large-columns/plain"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r, err := conformance.Check(context.Background(), openRef(onLarge(c.change)), conformance.Options{Run: c.run, Shrink: -1})
			require.NoError(t, err)
			var failed []string
			for _, x := range r.Results {
				if x.Status == conformance.Failed {
					failed = append(failed, x.ID)
				}
			}
			require.Equal(t, c.failed, failed)
			require.Zero(t, r.Skipped)
		})
	}
}

// The suite has between 200 and 500 large cases, and a sample of one in eight has less than a sixteenth of them.
func TestLargeCasesAreCounted(t *testing.T) {
	t.Parallel()
	ids, err := conformance.IDs(conformance.Options{Run: "/large-"})
	require.NoError(t, err)
	require.Greater(t, len(ids), 200)
	require.Less(t, len(ids), 500, "they take time")
	some, err := conformance.IDs(conformance.Options{Sample: 8})
	require.NoError(t, err)
	some = slices.DeleteFunc(some, func(id string) bool { return !strings.Contains(id, "/large-") })
	require.NotEmpty(t, some)
	require.Less(t, len(some), len(ids)/16)
}
