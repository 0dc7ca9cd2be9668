package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// A checkpoint in the middle of an epoch holds the sums, whatever they are: a loss that was NaN once, scores of minus infinity.
func TestStateOfAnything(t *testing.T) {
	d := open(t)
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 0, 1.5} {
		scores := tensor.From(d, []float32{0.5, v, 0.25, 1, v, 0.125}, 3, 2)
		step := Output{Loss: tensor.Scalar(d, v), Predictions: scores, Targets: tensor.From(d, []int64{0, 1, 1, 0, 1, 0}, 3, 2), Items: 3}
		mean := func() Metric {
			return Func(Info{Name: "mean"}, func(o Output) *tensor.Tensor { return o.Loss })
		}
		for _, make := range []func() Metric{Loss, Perplexity, AUROC, AUPRC, mean} {
			first, second := make(), make()
			feed(t, first, step)
			b, err := json.Marshal(first.(Stateful).State())
			require.NoError(t, err, "%s after %v", first.Info().Name, v)
			require.NoError(t, json.Unmarshal(b, second.(Stateful).State()), "%s", b)
			for _, m := range []Metric{first, second} {
				feed(t, m, Output{Loss: tensor.Scalar(d, float32(2)), Predictions: d.Zeros(dtype.F32, 1, 2), Targets: d.Zeros(dtype.I64, 1, 2)})
			}
			require.Equal(t, fmt.Sprint(first.Value()), fmt.Sprint(second.Value()), "%s after %v", first.Info().Name, v)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{
		`"NaN"`: math.NaN(), `"+Inf"`: math.Inf(1), `"-Inf"`: math.Inf(-1), `1.5`: 1.5, `-0`: math.Copysign(0, -1), `5e-324`: 5e-324,
		`1.7976931348623157e+308`: math.MaxFloat64, `0.1`: 0.1, `"2.5"`: 2.5,
	} {
		var n Number
		require.NoError(t, json.Unmarshal([]byte(text), &n), text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(float64(n)), text)
		b, err := json.Marshal(n)
		require.NoError(t, err)
		var again Number
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, math.Float64bits(want), math.Float64bits(float64(again)), "%s became %s", text, b)
	}
	for _, text := range []string{`"x"`, `""`, `{}`, `[1]`, `true`, `1e999`, `"1e999"`} {
		require.Error(t, json.Unmarshal([]byte(text), new(Number)), text)
	}
}

// levenshtein is the recursive definition.
func levenshtein(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) + len(b)
	case a[0] == b[0]:
		return levenshtein(a[1:], b[1:])
	}
	return 1 + min(levenshtein(a[1:], b), levenshtein(a, b[1:]), levenshtein(a[1:], b[1:]))
}

// subsequence is the recursive definition of the length of the longest common subsequence.
func subsequence(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + subsequence(a[1:], b[1:])
	}
	return max(subsequence(a[1:], b), subsequence(a, b[1:]))
}

func TestDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := func() []string {
		w := make([]string, r.IntN(7))
		for i := range w {
			w[i] = string(rune('a' + r.IntN(3)))
		}
		return w
	}
	for range 300 {
		a, b := words(), words()
		require.Equal(t, levenshtein(a, b), edits(a, b), "%v %v", a, b)
		require.Equal(t, subsequence(a, b), common(a, b), "%v %v", a, b)
	}
}

// The area under the ROC curve is the share of pairs of a positive and a negative that are in order, ties one half (Hanley and
// McNeil 1982); average precision is the mean over positives of the precision at their score.
func TestAreasByPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n := 1 + r.IntN(12)
		scores, hits := make([]Number, n), make([]bool, n)
		for i := range n {
			scores[i], hits[i] = Number(r.IntN(5)), r.IntN(2) == 0 // many ties
			if r.IntN(6) == 0 {
				scores[i] = Number(math.Inf(1 - 2*r.IntN(2)))
			}
		}
		var pairs, ordered, precisions, positives float64
		for i := range n {
			if !hits[i] {
				continue
			}
			positives++
			var above, right float64
			for k := range n {
				if scores[k] >= scores[i] {
					above++
					if hits[k] {
						right++
					}
				}
				if hits[k] {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[k]:
					ordered++
				case scores[i] == scores[k]:
					ordered += 0.5
				}
			}
			precisions += right / above
		}
		closeOrNaN(t, ordered/pairs, rocArea(scores, hits), "ROC of %v %v", scores, hits)
		closeOrNaN(t, precisions/positives, prArea(scores, hits), "PR of %v %v", scores, hits)
	}
}

func closeOrNaN(t *testing.T, want, got float64, msg ...any) {
	t.Helper()
	if math.IsNaN(want) {
		require.True(t, math.IsNaN(got), msg...)
		return
	}
	require.InDelta(t, want, got, 1e-12, msg...)
}

// TestCountsOfEachClass compares counts by class with separate counts of each class, with ignored targets and targets that are not
// classes.
func TestCountsOfEachClass(t *testing.T) {
	d, r := open(t), rand.New(rand.NewPCG(9, 10))
	const n, classes, ignored = 40, 5, 3
	for range 20 {
		scores, targets := make([]float32, n*classes), make([]int64, n)
		predicted := make([]int, n)
		for i := range n {
			predicted[i], targets[i] = r.IntN(classes), int64(r.IntN(classes+2)-1) // -1 and 5 are no classes
			scores[i*classes+predicted[i]] = 1
		}
		for _, average := range []Average{Macro, Micro, Weighted} {
			o := LabelOptions{ClassOptions: ClassOptions{Ignore: ignored, HasIgnore: true}, Average: average}
			precision, recall := Precision(o), Recall(o)
			for _, m := range []Metric{precision, recall} {
				feed(t, m, Output{Predictions: tensor.From(d, scores, n, classes), Targets: tensor.From(d, targets)})
			}
			var tp, chosen, wanted [classes]float64
			for i := range n {
				if targets[i] == ignored || targets[i] < 0 || targets[i] >= classes {
					continue
				}
				chosen[predicted[i]]++
				wanted[targets[i]]++
				if predicted[i] == int(targets[i]) {
					tp[predicted[i]]++
				}
			}
			mean := func(of [classes]float64) float64 {
				var sum, weight, hits, all float64
				for k := range classes {
					hits, all = hits+tp[k], all+of[k]
					if chosen[k]+wanted[k] == 0 {
						continue
					}
					w := 1.0
					if average == Weighted {
						w = wanted[k]
					}
					if of[k] > 0 {
						sum += w * tp[k] / of[k]
					}
					weight += w
				}
				if average == Micro {
					return 100 * hits / all
				}
				return 100 * sum / weight
			}
			require.InDelta(t, mean(chosen), precision.Value(), 1e-9, "%v precision", average)
			require.InDelta(t, mean(wanted), recall.Value(), 1e-9, "%v recall", average)
		}
	}
}
