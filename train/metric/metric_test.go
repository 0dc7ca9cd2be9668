package metric

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

type fixture struct {
	Scores  [][]float32
	Targets json.RawMessage
	Want    map[string]json.RawMessage
}

type fixtures struct {
	Multi, Label fixture
	Text         struct {
		Got, Want   []string
		UnicodeGot  []string `json:"unicode_got"`
		UnicodeWant []string `json:"unicode_want"`
		ShortGot    []string `json:"short_got"`
		ShortWant   []string `json:"short_want"`
		Values      map[string]float64
	}
}

func load(t *testing.T) (f fixtures) {
	t.Helper()
	b, err := os.ReadFile("testdata/metrics.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open(context.Background(), "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// feed measures a step as the learner does.
func feed(t *testing.T, m Metric, o Output) {
	t.Helper()
	s := Sample{Items: o.Count(), Took: time.Second}
	for _, x := range m.Measure(o) {
		b, err := x.Bytes(context.Background())
		require.NoError(t, err)
		s.Values = append(s.Values, Array{x.Shape(), tensor.Float64s(x.DType(), b)})
	}
	m.Update(s)
}

func flat[T any](rows [][]T) (out []T) {
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

func number(t *testing.T, raw json.RawMessage) (v float64) {
	t.Helper()
	require.NotNil(t, raw)
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

func TestClasses(t *testing.T) {
	d, f := open(t), load(t).Multi
	var targets []int64
	require.NoError(t, json.Unmarshal(f.Targets, &targets))
	metrics := []Metric{Accuracy(ClassOptions{}), TopK(3, ClassOptions{})}
	for _, a := range []Average{Macro, Micro, Weighted} {
		o := LabelOptions{Average: a}
		metrics = append(metrics, Precision(o), Recall(o), FBeta(1, o), FBeta(2, o))
	}
	confusion := NewConfusion(ClassOptions{})
	area := AUROC()
	n, c := len(targets), len(f.Scores[0])
	for _, m := range append(metrics, confusion, area) {
		require.True(t, math.IsNaN(m.Value()), m.Info().Name)
		for round := range 2 { // the second after a Reset
			for lo := 0; lo < n; lo += 25 { // the last batch is short
				hi := min(lo+25, n)
				feed(t, m, Output{Predictions: tensor.From(d, flat(f.Scores[lo:hi]), hi-lo, c), Targets: tensor.From(d, targets[lo:hi]), Items: hi - lo})
			}
			if round == 0 {
				require.False(t, math.IsNaN(m.Value()))
				m.Reset()
				require.True(t, math.IsNaN(m.Value()), m.Info().Name)
			}
		}
	}
	for _, m := range append(metrics, area) {
		require.InDelta(t, 100*number(t, f.Want[m.Info().Name]), m.Value(), 1e-9, m.Info().Name)
	}
	var cells [][]float64
	require.NoError(t, json.Unmarshal(f.Want["confusion"], &cells))
	require.Equal(t, cells, confusion.Cells)
	require.InDelta(t, 100*number(t, f.Want["accuracy"]), confusion.Value(), 1e-9)
	require.Equal(t, c+1, strings.Count(confusion.String(), "\n"))
}

func TestLabels(t *testing.T) {
	d, f := open(t), load(t).Label
	var targets [][]int64
	require.NoError(t, json.Unmarshal(f.Targets, &targets))
	metrics := []Metric{Hamming(LabelOptions{}), AUROC(), AUPRC()}
	for _, a := range []Average{Macro, Micro, Weighted} {
		o := LabelOptions{Average: a}
		metrics = append(metrics, Precision(o), Recall(o), FBeta(1, o))
	}
	for _, m := range metrics {
		for lo := 0; lo < len(targets); lo += 16 {
			hi := min(lo+16, len(targets))
			feed(t, m, Output{Predictions: tensor.From(d, flat(f.Scores[lo:hi]), hi-lo, 3), Targets: tensor.From(d, flat(targets[lo:hi]), hi-lo, 3)})
		}
		require.InDelta(t, 100*number(t, f.Want[m.Info().Name]), m.Value(), 1e-9, m.Info().Name)
	}
}

func TestText(t *testing.T) {
	f := load(t).Text
	for name, c := range map[string]struct {
		m         *Text
		got, want []string
	}{
		"WER":               {WER(TextOptions{}), f.Got, f.Want},
		"CER":               {CER(TextOptions{}), f.Got, f.Want},
		"unicode CER":       {CER(TextOptions{}), f.UnicodeGot, f.UnicodeWant},
		"BLEU":              {BLEU(false, TextOptions{}), f.Got, f.Want},
		"smooth BLEU":       {BLEU(true, TextOptions{}), f.Got, f.Want},
		"short smooth BLEU": {BLEU(true, TextOptions{}), f.ShortGot, f.ShortWant},
		"ROUGE-L":           {RougeL(TextOptions{}), f.Got, f.Want},
	} {
		require.True(t, math.IsNaN(c.m.Value()), name)
		for i := range c.got {
			c.m.Add(c.got[i], c.want[i])
		}
		require.Contains(t, f.Values, name)
		require.InDelta(t, 100*f.Values[name], c.m.Value(), 1e-9, name)
	}
}

func TestTextOfIDs(t *testing.T) {
	d := open(t)
	words := []string{"<pad>", "one", "two", "three"}
	o := TextOptions{Padding: []int{0}, Decode: func(ids []int) string {
		var w []string
		for _, i := range ids {
			w = append(w, words[i])
		}
		return strings.Join(w, " ")
	}}
	want := tensor.From(d, []int64{1, 2, 3, 1, 2, 0}, 2, 3)
	ids := WER(o)
	feed(t, ids, Output{Predictions: tensor.From(d, []int64{1, 2, 2, 1, 0, 0}, 2, 3), Targets: want})
	require.InDelta(t, 100*2.0/5, ids.Value(), 1e-12) // one substitution, one deletion, of five words
	scores := WER(o)
	feed(t, scores, Output{Predictions: tensor.From(d, []int64{1, 2, 2, 1, 0, 0}, 2, 3).OneHot(dtype.F32, 4, -1), Targets: want})
	require.Equal(t, ids.Value(), scores.Value())
}

func TestMeans(t *testing.T) {
	d := open(t)
	loss, ppl, speed, rate := Loss(), Perplexity(), Speed(), LearningRate()
	for i, v := range []float32{1, 2.5} {
		o := Output{Loss: tensor.Scalar(d, v), Items: 3 - 2*i}
		for _, m := range []Metric{loss, ppl, speed, rate} {
			feed(t, m, o)
		}
	}
	require.InDelta(t, (3*1+2.5)/4, loss.Value(), 1e-12)
	require.InDelta(t, math.Exp((3*1+2.5)/4), ppl.Value(), 1e-12)
	require.InDelta(t, 2, speed.Value(), 1e-12) // four items in two seconds
	require.Zero(t, rate.Value())
}

func TestPadding(t *testing.T) {
	d := open(t)
	o := ClassOptions{Ignore: -1, HasIgnore: true}
	p := tensor.From(d, []float32{2, 1, 0, 1, 5, 3, 1, 2}, 4, 2) // classes 0, 1, 0, 1
	want := tensor.From(d, []int64{0, -1, 1, 1})
	for _, m := range []Metric{Accuracy(o), TopK(1, o), NewConfusion(o), Precision(LabelOptions{ClassOptions: o, Average: Micro})} {
		feed(t, m, Output{Predictions: p, Targets: want})
		require.InDelta(t, 200.0/3, m.Value(), 1e-9, m.Info().Name)
	}
}

// TestState continues from sums that were encoded as JSON.
func TestState(t *testing.T) {
	d := open(t)
	r := load(t).Label
	var targets [][]int64
	require.NoError(t, json.Unmarshal(r.Targets, &targets))
	step := func(lo, hi int) Output {
		return Output{Loss: tensor.Scalar(d, float32(0.1)*float32(hi)), Predictions: tensor.From(d, flat(r.Scores[lo:hi]), hi-lo, 3), Targets: tensor.From(d, flat(targets[lo:hi]), hi-lo, 3), Items: hi - lo}
	}
	for _, make := range []func() Metric{Loss, Perplexity, AUROC, func() Metric { return Hamming(LabelOptions{}) }, func() Metric { return Recall(LabelOptions{}) }} {
		whole, first, second := make(), make(), make()
		feed(t, whole, step(0, 10))
		feed(t, first, step(0, 10))
		b, err := json.Marshal(first.(Stateful).State())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, second.(Stateful).State()))
		feed(t, whole, step(10, 30))
		feed(t, second, step(10, 30))
		require.Equal(t, whole.Value(), second.Value(), whole.Info().Name)
	}
}

func TestSystem(t *testing.T) {
	d := open(t)
	held := d.Ones(dtype.F32, 1<<20)
	require.NoError(t, d.Sync(context.Background()))
	defer held.Release()
	for _, m := range []Metric{Memory(), DeviceMemory()} {
		m.Update(Sample{Device: d})
		require.Greater(t, m.Value(), 0.0, m.Info().Name)
	}
	cpu := CPU()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	cpu.Update(Sample{})
	require.True(t, cpu.Value() >= 0 && cpu.Value() <= 101, "%v", cpu.Value())
}

func TestDirection(t *testing.T) {
	nan := math.NaN()
	require.True(t, Lower.Better(1, 2))
	require.True(t, Higher.Better(2, 1))
	require.False(t, Neither.Better(2, 1))
	require.False(t, Lower.Better(nan, 1))
	require.True(t, Higher.Better(1, nan))
	require.False(t, Higher.Better(1, 1))
}

// TestCurveOfNaN checks that AUROC and AUPRC are NaN if a score is NaN, because such a score has no rank.
func TestCurveOfNaN(t *testing.T) {
	d := open(t)
	nan := float32(math.NaN())
	for _, m := range []Metric{AUROC(), AUPRC()} {
		for at := range 4 {
			scores := []float32{0.1, 0.4, 0.35, 0.8, 0.3, 0.6, 0.2, 0.9}
			feed(t, m, Output{Predictions: tensor.From(d, scores, 4, 2), Targets: tensor.From(d, []int64{0, 1, 0, 0, 1, 0, 1, 1}, 4, 2)})
			require.False(t, math.IsNaN(m.(*curve).Value()), m.Info().Name)
			scores[2*at+1] = nan
			feed(t, m, Output{Predictions: tensor.From(d, scores, 4, 2), Targets: tensor.From(d, []int64{0, 1, 0, 0, 1, 0, 1, 1}, 4, 2)})
			require.True(t, math.IsNaN(m.(*curve).Value()), "%s with NaN at %d", m.Info().Name, at)
			m.(*curve).Reset()
		}
	}
}

// Predictions and targets of as many elements in other shapes are not paired.
func TestTransposedTargets(t *testing.T) {
	d := open(t)
	o := Output{Predictions: d.Zeros(dtype.F32, 2, 3), Targets: d.Zeros(dtype.I64, 3, 2)}
	for _, m := range []Metric{AUROC(), AUPRC(), Precision(LabelOptions{}), Hamming(LabelOptions{})} {
		require.ErrorContains(t, tensor.Try(func() { m.Measure(o) }), "want", m.Info().Name)
	}
}

func TestWrongShapes(t *testing.T) {
	d := open(t)
	o := Output{Predictions: d.Zeros(dtype.F32, 4, 3), Targets: tensor.From(d, []int64{1, 2})}
	for _, m := range []Metric{Accuracy(ClassOptions{}), Precision(LabelOptions{}), NewConfusion(ClassOptions{}), AUROC(), Hamming(LabelOptions{}), WER(TextOptions{})} {
		require.ErrorContains(t, tensor.Try(func() { m.Measure(o) }), "want", m.Info().Name)
		require.ErrorContains(t, tensor.Try(func() { m.Measure(Output{}) }), "none", m.Info().Name)
	}
}
