package metric

import (
	"fmt"
	"math"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// TextOptions determines how ids are converted to texts. Predictions are ids [N, T] of an integer type, or scores [N, T,
// classes], in which the class with the greatest score is the id; targets are ids [N, T].
type TextOptions struct {
	// Decode converts the ids of one item to text, with words separated by white space.
	Decode func(ids []int) string
	// Padding lists ids that are removed before Decode.
	Padding []int
}

func (o TextOptions) measure(what string, out Output) []*tensor.Tensor {
	p, t := out.Predictions, out.Targets
	if p == nil || t == nil || p.Rank() < 2 || p.Rank() > 3 || t.Rank() != 2 || p.Rank() == 2 && p.DType().IsFloat() {
		fail("%s: predictions %v and targets %v, want ids [N, T] or scores [N, T, classes], and ids [N, T]: %w", what, desc(p), desc(t), core.ErrShape)
	}
	if p.Rank() == 3 {
		p = p.ArgMax(-1)
	}
	return []*tensor.Tensor{p.Cast(dtype.I64), t.Cast(dtype.I64)}
}

func (o TextOptions) texts(a Array) []string {
	var out []string
	for _, row := range a.Rows() {
		ids := make([]int, 0, len(row))
	next:
		for _, v := range row {
			for _, p := range o.Padding {
				if int(v) == p {
					continue next
				}
			}
			ids = append(ids, int(v))
		}
		out = append(out, o.Decode(ids))
	}
	return out
}

// Text is a metric over pairs of a text and its reference. Update adds the pairs of a step, and Add adds a single pair.
type Text struct {
	info  Info
	o     TextOptions
	sums  []float64
	add   func(sums []float64, got, want string)
	value func(sums []float64) float64
}

// Info describes the metric.
func (m *Text) Info() Info { return m.info }

// Measure returns the ids of predictions and targets, as i64 [N, T].
func (m *Text) Measure(o Output) []*tensor.Tensor { return m.o.measure(m.info.Name, o) }

// Update decodes the texts of a step and adds them.
func (m *Text) Update(s Sample) {
	got, want := m.o.texts(s.Values[0]), m.o.texts(s.Values[1])
	for i := range min(len(got), len(want)) {
		m.Add(got[i], want[i])
	}
}

// Add adds a text and its reference.
func (m *Text) Add(got, want string) { m.add(m.sums, got, want) }

// Value returns the metric of all pairs.
func (m *Text) Value() float64 { return m.value(m.sums) }

// Reset forgets all pairs.
func (m *Text) Reset() { clear(m.sums) }

// State returns the sums.
func (m *Text) State() any { return &m.sums }

// errorRate returns a metric: the edits divided by the length of the references, in percent.
func errorRate(name string, o TextOptions, cut func(string) []string) *Text {
	return &Text{info: Info{Name: name, Unit: "%", Better: Lower}, o: o, sums: make([]float64, 2),
		add: func(s []float64, got, want string) {
			a, b := cut(got), cut(want)
			s[0] += float64(edits(a, b))
			s[1] += float64(len(b))
		},
		value: func(s []float64) float64 { return 100 * ratio(s[0], s[1]) }}
}

// WER returns a metric: the word error rate in percent, which is the number of insertions, deletions and substitutions divided by
// the number of words of the references. It may exceed 100.
func WER(o TextOptions) *Text { return errorRate("WER", o, strings.Fields) }

// CER returns a metric: the character error rate in percent, over Unicode code points.
func CER(o TextOptions) *Text {
	return errorRate("CER", o, func(s string) []string { return strings.Split(s, "") })
}

// edits returns the Levenshtein distance of a and b.
func edits(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// grams is the length of the longest n-gram that BLEU counts.
const grams = 4

// BLEU returns a metric: corpus BLEU-4 (Papineni and others 2002) in percent, over words separated by white space, with one
// reference per text. If smooth is set, lengths of n-grams without a match count as one half, one quarter and so on of a match
// (Chen and Cherry 2014, method 3), which suits short corpora.
func BLEU(smooth bool, o TextOptions) *Text {
	// The sums are the matches of 1- to 4-grams, the numbers of 1- to 4-grams, the length of the texts, and the length of the
	// references.
	return &Text{info: Info{Name: "BLEU", Unit: "%", Better: Higher}, o: o, sums: make([]float64, 2*grams+2),
		add: func(s []float64, got, want string) {
			a, b := strings.Fields(got), strings.Fields(want)
			s[2*grams] += float64(len(a))
			s[2*grams+1] += float64(len(b))
			for n := range grams {
				have, ref := ngrams(a, n+1), ngrams(b, n+1)
				for g, c := range have {
					s[n] += float64(min(c, ref[g]))
					s[grams+n] += float64(c)
				}
			}
		},
		value: func(s []float64) float64 {
			if s[2*grams+1] == 0 {
				return math.NaN()
			}
			logs, scale := 0.0, 1.0
			for n := range grams {
				match, total := s[n], s[grams+n]
				if match == 0 && smooth {
					scale /= 2
					match = scale
				}
				if total == 0 || match == 0 {
					return 0
				}
				logs += math.Log(match/total) / grams
			}
			brevity := min(0, 1-s[2*grams+1]/s[2*grams])
			return 100 * math.Exp(logs+brevity)
		}}
}

func ngrams(words []string, n int) map[string]int {
	m := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		m[strings.Join(words[i:i+n], " ")]++
	}
	return m
}

// RougeL returns a metric: the mean over texts of the F1 of the longest common subsequence of words (Lin 2004), in percent.
func RougeL(o TextOptions) *Text {
	return &Text{info: Info{Name: "ROUGE-L", Unit: "%", Better: Higher}, o: o, sums: make([]float64, 2),
		add: func(s []float64, got, want string) {
			a, b := strings.Fields(got), strings.Fields(want)
			s[0] += share(2*float64(common(a, b)), float64(len(a)+len(b)))
			s[1]++
		},
		value: func(s []float64) float64 { return 100 * ratio(s[0], s[1]) }}
}

// common returns the length of the longest common subsequence of a and b.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			up := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return row[len(b)]
}

// String returns the name and the value of the metric.
func (m *Text) String() string { return fmt.Sprintf("%s %.4g%s", m.info.Name, m.Value(), m.info.Unit) }
