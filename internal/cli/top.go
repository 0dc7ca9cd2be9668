package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
)

// topRow is one of the best classes of one sample.
type topRow struct {
	Sample int    `json:"sample"`
	Index  int    `json:"index"`
	Label  string `json:"label,omitempty"`
	Value  number `json:"value"`
	// Probability tells that Value is a probability: the values of the sample are not negative and add up to 1.
	Probability bool `json:"probability"`
}

// readLabels reads one label per line.
func readLabels(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--labels: %w", err)
	}
	defer f.Close()
	var labels []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		labels = append(labels, strings.TrimSpace(s.Text()))
	}
	for len(labels) > 0 && labels[len(labels)-1] == "" {
		labels = labels[:len(labels)-1]
	}
	if err := s.Err(); err != nil {
		return nil, usage("--labels: %s: %w", path, err)
	}
	if len(labels) == 0 {
		return nil, usage("--labels: %s: want one label a line, got nothing", path)
	}
	return labels, nil
}

// top ranks the classes of each sample of an output: a tensor of floats [N,C], [C], or with trailing dimensions of length 1.
func top(name string, v onnxtest.Value, k int, softmax bool, labels []string) ([]topRow, error) {
	a := v.Tensor
	dims := a.Shape
	for len(dims) > 1 && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	if v.Kind != onnxtest.Tensor || !a.DType.IsFloat() && !a.DType.IsInt() || len(dims) == 0 || len(dims) > 2 {
		return nil, usage("--top: output %s is %v, want a tensor [N,C] of scores; name another one with --top-output", name, v)
	}
	classes := dims[len(dims)-1]
	if labels != nil && len(labels) != classes {
		return nil, usage("--labels: got %d labels, want %d, the classes of output %s %v", len(labels), classes, name, a)
	}
	values := tensor.Float64s(a.DType, a.Data)
	var rows []topRow
	for s := 0; classes > 0 && s < len(values)/classes; s++ {
		row := slices.Clone(values[s*classes : (s+1)*classes])
		if softmax {
			normalize(row)
		}
		probability := softmax || sumsToOne(row, a.DType)
		index := make([]int, classes)
		for i := range index {
			index[i] = i
		}
		slices.SortStableFunc(index, func(i, j int) int { // NaN compares as the least, so it comes last
			return cmp.Compare(row[j], row[i])
		})
		for _, i := range index[:min(k, classes)] {
			r := topRow{Sample: s, Index: i, Value: number(row[i]), Probability: probability}
			if labels != nil {
				r.Label = labels[i]
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// normalize applies softmax.
func normalize(row []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, v := range row {
		most = math.Max(most, v)
	}
	for i, v := range row {
		row[i] = math.Exp(v - most)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}

// sumsToOne reports whether a row of several values can be probabilities, within the rounding of its type.
func sumsToOne(row []float64, d dtype.DType) bool {
	slack := 1e-4
	if d == dtype.F16 || d == dtype.BF16 {
		slack = 2e-2
	}
	sum := 0.0
	for _, v := range row {
		if !(v >= 0) {
			return false
		}
		sum += v
	}
	return len(row) > 1 && d.IsFloat() && math.Abs(sum-1) <= slack
}

// printTop prints the best classes, and the meaning of their values.
func printTop(w io.Writer, name string, a onnxtest.Array, rows []topRow, softmax bool) {
	plain.Fprintf(w, "%s  %v", name, a)
	probability := len(rows) > 0
	samples, index, label := 0, 0, 0
	for _, r := range rows {
		probability = probability && r.Probability
		samples = max(samples, r.Sample)
		index, label = max(index, len(fmt.Sprint(r.Index))), max(label, len([]rune(r.Label)))
	}
	switch {
	case softmax:
		fmt.Fprintln(w, "  best classes, softmax applied")
	case probability:
		fmt.Fprintln(w, "  best classes, with the probabilities of the model")
	default:
		fmt.Fprintln(w, "  best classes, with the scores of the model; --softmax turns them into probabilities")
	}
	for i, r := range rows {
		if samples > 0 && (i == 0 || rows[i-1].Sample != r.Sample) {
			plain.Fprintf(w, "sample %d\n", r.Sample)
		}
		plain.Fprintf(w, "  %*d", index, r.Index)
		if label > 0 {
			plain.Fprintf(w, "  %s%s", r.Label, strings.Repeat(" ", label-len([]rune(r.Label))))
		}
		if r.Probability {
			plain.Fprintf(w, "  %7.3f %%\n", 100*float64(r.Value))
		} else {
			plain.Fprintf(w, "  %s\n", short(r.Value))
		}
	}
}
