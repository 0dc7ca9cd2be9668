package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// tally counts the labels of rows by the definition of each number, without those whose target is ignored.
func tally(scores []float32, targets []int64, labels int, threshold float64, ignore int64) (tp, fp, fn, tn []float64) {
	tp, fp, fn, tn = make([]float64, labels), make([]float64, labels), make([]float64, labels), make([]float64, labels)
	for i, s := range scores {
		k, yes := i%labels, float64(s) > threshold
		switch {
		case targets[i] == ignore:
		case yes && targets[i] == 1:
			tp[k]++
		case yes:
			fp[k]++
		case targets[i] == 1:
			fn[k]++
		default:
			tn[k]++
		}
	}
	return tp, fp, fn, tn
}

// Labels that do not exclude each other: every average of every metric from the counts, with padding among the targets, which counts
// nowhere, and over several batches.
func TestLabelsWithPadding(t *testing.T) {
	d := open(t)
	r := rand.New(rand.NewPCG(1, 2))
	const labels, ignore = 3, -1
	for _, threshold := range []float64{0, 0.4} {
		var scores []float32
		var targets []int64
		for range 4 * 5 * labels {
			scores, targets = append(scores, r.Float32()*2-1), append(targets, int64(r.IntN(3)-1))
		}
		tp, fp, fn, tn := tally(scores, targets, labels, threshold, ignore)
		of := func(a Average) LabelOptions {
			return LabelOptions{ClassOptions: ClassOptions{Ignore: ignore, HasIgnore: true}, Average: a, Threshold: threshold}
		}
		averaged := func(a Average, f func(tp, fp, fn float64) float64) float64 {
			var total, weight float64
			for k := range labels {
				w := map[Average]float64{Macro: 1, Weighted: tp[k] + fn[k]}[a]
				total, weight = total+w*f(tp[k], fp[k], fn[k]), weight+w
			}
			if a == Micro {
				return 100 * f(tp[0]+tp[1]+tp[2], fp[0]+fp[1]+fp[2], fn[0]+fn[1]+fn[2])
			}
			return 100 * total / weight
		}
		precision := func(tp, fp, _ float64) float64 { return tp / (tp + fp) }
		recall := func(tp, _, fn float64) float64 { return tp / (tp + fn) }
		want := map[string]float64{}
		var metrics []Metric
		for _, a := range []Average{Macro, Micro, Weighted} {
			metrics = append(metrics, Precision(of(a)), Recall(of(a)), FBeta(1, of(a)), FBeta(0.5, of(a)))
			want[fmt.Sprint(a, " precision")], want[fmt.Sprint(a, " recall")] = averaged(a, precision), averaged(a, recall)
			for _, beta := range []float64{1, 0.5} {
				want[fmt.Sprintf("%v F%g", a, beta)] = averaged(a, func(tp, fp, fn float64) float64 { // of the harmonic mean
					p, r := precision(tp, fp, fn), recall(tp, fp, fn)
					return (1 + beta*beta) * p * r / (beta*beta*p + r)
				})
			}
		}
		metrics = append(metrics, Hamming(of(Macro)))
		right, all := 0.0, 0.0
		for k := range labels {
			right, all = right+tp[k]+tn[k], all+tp[k]+tn[k]+fp[k]+fn[k]
		}
		want["hamming score"] = 100 * right / all
		for _, m := range metrics {
			for lo := 0; lo < len(scores); lo += 5 * labels {
				o := Output{Predictions: tensor.From(d, scores[lo:lo+5*labels], 5, labels), Targets: tensor.From(d, targets[lo:lo+5*labels], 5, labels)}
				feed(t, m, o)
			}
			require.InDelta(t, want[m.Info().Name], m.Value(), 1e-9, "%s, above %v", m.Info().Name, threshold)
		}
	}
}

// One label per item, in a vector: the numbers of a spam filter worked out by hand.
func TestOneLabel(t *testing.T) {
	d := open(t)
	o := Output{Predictions: tensor.From(d, []float32{0.9, 0.8, 0.3, 0.6, 0.1, 0.5}), Targets: tensor.From(d, []int64{1, 0, 1, 1, 0, 0})} // yes yes no yes no no
	for _, c := range []struct {
		m    Metric
		want float64
	}{
		{Precision(LabelOptions{Threshold: 0.5}), 200. / 3}, {Recall(LabelOptions{Threshold: 0.5}), 200. / 3}, {Hamming(LabelOptions{Threshold: 0.5}), 400. / 6},
		{AUROC(), 600. / 9}, // of nine pairs, 0.8 is before 0.6 and 0.3, and 0.5 before 0.3
		{AUPRC(), 100 * (1 + 2./3 + 3./5) / 3},
		{Recall(LabelOptions{Threshold: -1}), 100}, {Precision(LabelOptions{Threshold: -1}), 50}, {FBeta(1, LabelOptions{Threshold: 1}), 0},
	} {
		feed(t, c.m, o)
		require.InDelta(t, c.want, c.m.Value(), 1e-9, c.m.Info().Name)
	}
}

// Papineni's examples: repeated words match once for each occurrence in the reference, and short texts pay for their brevity.
func TestBLEUByHand(t *testing.T) {
	clipped := BLEU(true, TextOptions{})
	clipped.Add("the the the the the the the", "the cat is on the mat")
	// 2 of 7 single words match, no longer n-gram does: a half, a quarter and an eighth of one match.
	want := math.Pow(2./7*(0.5/6)*(0.25/5)*(0.125/4), 0.25)
	require.InDelta(t, 100*want, clipped.Value(), 1e-9)
	require.Zero(t, func() float64 {
		m := BLEU(false, TextOptions{})
		m.Add("the the the the", "the cat is on")
		return m.Value()
	}())
	brief := BLEU(false, TextOptions{})
	brief.Add("a b c d", "a b c d e f")
	require.InDelta(t, 100*math.Exp(1-6./4), brief.Value(), 1e-9, "all matches, times the penalty")
	long := BLEU(false, TextOptions{})
	long.Add("a b c d e", "a b c d")
	require.InDelta(t, 100*math.Pow(4./5*3/4*2/3*1/2, 0.25), long.Value(), 1e-9, "no penalty")
	corpus := BLEU(false, TextOptions{}) // counts are summed, not values averaged
	corpus.Add("a b c d", "a b c d")
	corpus.Add("x y z w", "p q r s")
	require.InDelta(t, 50, corpus.Value(), 1e-9)
	empty := BLEU(false, TextOptions{})
	empty.Add("", "a b")
	require.Zero(t, empty.Value())
}

// Scores that are equal, and more than there are classes.
func TestTopKOfTies(t *testing.T) {
	d := open(t)
	o := Output{Predictions: tensor.From(d, []float32{1, 1, 1, 0, 2, 2}, 2, 3), Targets: tensor.From(d, []int64{1, 2})}
	for k, want := range map[int]float64{1: 0, 2: 100, 3: 100} { // the first of equals comes first: 0, 1 and 1, 2
		m := TopK(k, ClassOptions{})
		feed(t, m, o)
		require.Equal(t, want, m.Value(), "%d", k)
	}
	require.Error(t, tensor.Try(func() { TopK(4, ClassOptions{}).Measure(o) }))
	none := Accuracy(ClassOptions{Ignore: 0, HasIgnore: true})
	feed(t, none, Output{Predictions: d.Zeros(dtype.F32, 2, 3), Targets: d.Zeros(dtype.I64, 2)})
	require.True(t, math.IsNaN(none.Value()), "all targets are padding")
}
