package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

func regressionConfig() trainConfig {
	return trainConfig{Epochs: 60, Batch: 128, Seed: 42, Rate: 3e-3, Schedule: "cosine", WeightDecay: 1e-3, Clip: 1, Accumulate: 1, Keep: 2, NonFinite: 3, Export: "auto", Precision: "f32", Memory: "all", ReadEvery: 10,
		Table: &tableConfig{Target: "median_house_value", Hidden: []int{128, 128, 64}}}
}

// tableRow holds the inputs of a row and the value to predict, unscaled as in the file.
type tableRow struct {
	in  []float32
	out float32
}

// dataTable holds the data of a file.
type dataTable struct {
	names []string // input columns, in order
	texts []string // columns that are not numeric
	rows  data.Memory[tableRow]
	gaps  int // rows left out because a number is missing
}

// about returns a text that describes which part of the file is used.
func (t *dataTable) about(target string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "regression: %q from %s: %s", target, count(len(t.names), "column"), quoted(t.names))
	if len(t.texts) > 0 {
		fmt.Fprintf(&b, "\nleft out, because they contain other values than numbers: %s: %s", count(len(t.texts), "column"), quoted(t.texts))
	}
	if t.gaps > 0 {
		fmt.Fprintf(&b, "\nleft out, because a number is missing: %s of %d", count(t.gaps, "row"), t.gaps+len(t.rows))
	}
	return b.String()
}

// metadata returns the names of the inputs and the output as metadata of the model file; lists are JSON.
func (t *dataTable) metadata(target string) (map[string]string, error) {
	m := map[string]string{"target": target}
	for key, list := range map[string][]string{"columns": t.names, "columns_left_out": t.texts} {
		if len(list) == 0 {
			continue
		}
		b, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		m[key] = string(b)
	}
	return m, nil
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}

// readTable reads the columns that are numeric in every row that has a value there. Rows with gaps are left out.
func readTable(path, target string) (*dataTable, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff") // spreadsheets write a byte order mark
	for i, name := range head {
		if slices.Contains(head[:i], name) {
			return nil, fmt.Errorf("%s: two columns are named %q, want names that differ", path, name)
		}
	}
	goal := slices.Index(head, target)
	if goal < 0 {
		return nil, fmt.Errorf("%s: no column %q, want one of %v: set target in section [table] of --config%s", path, target, head, nearest.Hint(target, head))
	}
	numeric := make([]bool, len(head))
	for i := range numeric {
		numeric[i] = true
	}
	var lines [][]string
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i, v := range line {
			if _, err := strconv.ParseFloat(v, 32); v != "" && err != nil {
				numeric[i] = false
			}
		}
		lines = append(lines, line)
	}
	if !numeric[goal] {
		return nil, fmt.Errorf("%s: column %q is no column of numbers", path, target)
	}
	t := &dataTable{}
	for i, name := range head {
		switch {
		case !numeric[i]:
			t.texts = append(t.texts, name)
		case i != goal:
			t.names = append(t.names, name)
		}
	}
	for _, line := range lines {
		row, whole := tableRow{}, true
		for i, text := range line {
			v, err := strconv.ParseFloat(text, 32)
			switch {
			case !numeric[i]:
			case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
				whole = false
			case i == goal:
				row.out = float32(v)
			default:
				row.in = append(row.in, float32(v))
			}
		}
		if whole {
			t.rows = append(t.rows, row)
		} else {
			t.gaps++
		}
	}
	if len(t.names) == 0 || len(t.rows) < 100 {
		return nil, fmt.Errorf("%s: %d columns of numbers and %d whole rows, want 1 and 100 or more", path, len(t.names), len(t.rows))
	}
	return t, nil
}

// tableNet is a stack of layers with relu between them, and the normalisation of columns to mean 0 and standard deviation 1.
type tableNet struct {
	Layers     []*nn.Linear
	Mean, Std  *nn.Param // buffers [inputs]
	Goal, Unit *nn.Param // buffers of one element: mean and standard deviation of the target
}

func newTableNet(d *tensor.Device, hidden []int, rows data.Dataset[tableRow], inputs int) (*tableNet, error) {
	mean, square := make([]float64, inputs+1), make([]float64, inputs+1) // squares of distances from the mean, added up (Welford)
	for i := range rows.Len() {
		row, err := rows.Get(i)
		if err != nil {
			return nil, err
		}
		for k, v := range append(slices.Clone(row.in), row.out) {
			off := float64(v) - mean[k]
			mean[k] += off / float64(i+1)
			square[k] += off * (float64(v) - mean[k])
		}
	}
	m, s := make([]float32, inputs+1), make([]float32, inputs+1)
	for k := range m {
		m[k] = float32(mean[k])
		s[k] = float32(math.Sqrt(max(square[k]/float64(rows.Len()), 1e-12)))
	}
	buffer := func(v []float32) *nn.Param { return nn.NewBuffer(tensor.From(d, v, len(v))) }
	net := &tableNet{Mean: buffer(m[:inputs]), Std: buffer(s[:inputs]), Goal: buffer(m[inputs:]), Unit: buffer(s[inputs:])}
	from := inputs
	for _, to := range append(slices.Clone(hidden), 1) {
		net.Layers = append(net.Layers, nn.NewLinear(d, from, to, nn.LinearConfig{}))
		from = to
	}
	return net, nil
}

// scaled returns predictions [N, 1] as standard deviations from the mean.
func (m *tableNet) scaled(x *tensor.Tensor) *tensor.Tensor {
	x = x.Sub(m.Mean.Value()).Div(m.Std.Value())
	for i, l := range m.Layers {
		if x = l.Forward(x); i < len(m.Layers)-1 {
			x = x.Relu()
		}
	}
	return x
}

// Forward returns predictions [N, 1] of rows [N, inputs], both unscaled as in the file.
func (m *tableNet) Forward(x *tensor.Tensor) *tensor.Tensor {
	return m.scaled(x).Mul(m.Unit.Value()).Add(m.Goal.Value())
}

type tableBatch struct{ X, Y *tensor.Tensor } // f32 [N, inputs], f32 [N, 1]

func (b tableBatch) Release() { b.X.Release(); b.Y.Release() }

func tableBatches(rows []tableRow, d *tensor.Device) (b tableBatch, err error) {
	if b.X, err = data.Stack(d, rows, func(r tableRow) []float32 { return r.in }); err == nil {
		b.Y, err = data.Stack(d, rows, func(r tableRow) []float32 { return []float32{r.out} })
	}
	return b, err
}

func trainRegression(r *trainRun) error {
	path, err := tableFile(r)
	if err != nil {
		return err
	}
	c := r.config
	table, err := readTable(path, c.Table.Target)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	about, err := table.metadata(c.Table.Target)
	if err != nil {
		return err
	}
	fmt.Fprintln(r.app.err, table.about(c.Table.Target)) // the names are quoted
	split, err := data.RandomSplit[tableRow](table.rows, uint64(c.Seed), 0.8, 0.1, 0.1)
	if err != nil {
		return err
	}
	off := metric.Func(metric.Info{Name: "mean absolute error", Better: metric.Lower}, func(o metric.Output) *tensor.Tensor {
		return o.Predictions.L1Loss(o.Targets, tensor.MeanLoss)
	})
	return execute(r, trainJob[*tableNet, tableBatch]{
		open: func(dev *tensor.Device) (*train.Parts[*tableNet, tableBatch], error) {
			t, err := data.NewLoader(split[0], tableBatches, dev, data.Options{Batch: c.Batch, Shuffle: true, Seed: uint64(c.Seed)})
			if err != nil {
				return nil, err
			}
			v, err := data.NewLoader(split[1], tableBatches, dev, data.Options{Batch: 512})
			if err != nil {
				return nil, err
			}
			net, err := newTableNet(dev, c.Table.Hidden, split[0], len(table.names))
			return &train.Parts[*tableNet, tableBatch]{Model: net, Train: t, Valid: v}, err
		},
		step: func(_ context.Context, m *tableNet, b tableBatch) (train.Output, error) {
			y := m.scaled(b.X)
			loss := y.MSELoss(b.Y.Sub(m.Goal.Value()).Div(m.Unit.Value()), tensor.MeanLoss)
			return train.Output{Loss: loss, Predictions: y.Detach().Mul(m.Unit.Value()).Add(m.Goal.Value()), Targets: b.Y, Items: b.Y.Size()}, nil
		},
		metrics: []metric.Metric{metric.Loss(), off},
		about:   about,
		test: func(dev *tensor.Device) (train.Loader[tableBatch], error) {
			return data.NewLoader(split[2], tableBatches, dev, data.Options{Batch: 512})
		},
		finish: func(ctx context.Context, m *tableNet, dir string) error {
			model, err := export.Module(ctx, m, (*tableNet).Forward, export.Input{Name: "row", DType: dtype.F32, Shape: []int{export.Any, len(table.names)}},
				export.Options{Name: r.name, Outputs: []string{c.Table.Target}, Metadata: about})
			if err != nil {
				return err
			}
			return export.Save(filepath.Join(dir, "model.onnx"), model)
		},
	})
}

// tableFile returns the file to read.
func tableFile(r *trainRun) (string, error) {
	if r.flags.data != "" {
		if info, err := os.Stat(r.flags.data); err == nil && info.IsDir() {
			return "", usage("--data %s: a folder, want a CSV file", r.flags.data)
		}
		if err := newHostRoom().takeFile(r.flags.data, 8); err != nil { // texts of all fields, and numbers
			return "", fmt.Errorf("--data: %w", err)
		}
		return r.flags.data, nil
	}
	const name = "california_housing.csv"
	if dir := os.Getenv(source.EnvDir); dir != "" {
		for _, p := range []string{filepath.Join(dir, name), filepath.Join(dir, "california_housing", name)} {
			if _, err := os.Stat(p); err == nil {
				return p, nil
			}
		}
	}
	return "", usage("regression: no file: name a CSV file with --data, and its column to predict as target in section [table] of --config;\n"+
		"the defaults are for %s, of 20,640 rows, which is published with the book Hands-On Machine Learning: handson-ml2, datasets/housing", name)
}
