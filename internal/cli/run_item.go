package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// manyItem is an item whose files have been read.
type manyItem struct {
	label string
	place int // index among all items
	feed  map[string]onnxtest.Value
	rows  int // samples
	bytes int64
}

// read reads the files of an entry.
func (r *manyRun) read(e entry) (manyItem, error) {
	it := manyItem{label: e.label, place: r.seen, feed: map[string]onnxtest.Value{}, rows: 1}
	if e.err != nil {
		return it, e.err
	}
	room := newHostRoom()
	known := 0
	for _, in := range r.model.Inputs() {
		var v onnxtest.Value
		var err error
		file, named := e.files[in.Name]
		data, given := e.data[in.Name]
		switch {
		case named:
			known++
			v, err = readInput(in, file, r.flags.image, room)
		case given:
			known++
			if v, err = jsonInput(in, data); err == nil {
				err = fits(in, v)
			}
			if err != nil {
				err = fmt.Errorf("input %s: %w", in.Name, err)
			}
		default:
			if _, ok := r.fixed[in.Name]; !ok && !in.Default && in.Kind != onnx.OptionalKind {
				return it, fmt.Errorf("input %s is missing", in.Name)
			}
			continue
		}
		if err != nil {
			return it, err
		}
		it.feed[in.Name] = v
		it.bytes += int64(len(v.Tensor.Data))
		if v.Kind == onnxtest.Tensor && len(v.Tensor.Shape) > 0 {
			it.rows = v.Tensor.Shape[0]
		}
	}
	if known < len(e.files)+len(e.data) {
		return it, fmt.Errorf("the model has the inputs %s, got %s", names(r.model.Inputs()), strings.Join(inputNames(e), ", "))
	}
	return it, nil
}

func inputNames(e entry) (l []string) {
	for name := range e.files {
		l = append(l, name)
	}
	for name := range e.data {
		l = append(l, name)
	}
	slices.Sort(l)
	return l
}

// alike reports whether the samples of two items can go into one run: tensors of the same inputs whose shapes differ only in the
// first dimension, which is equal for all inputs of an item.
func alike(a, b manyItem) bool {
	if len(a.feed) != len(b.feed) {
		return false
	}
	for name, v := range a.feed {
		w, ok := b.feed[name]
		if !ok || v.Kind != onnxtest.Tensor || w.Kind != onnxtest.Tensor || v.Tensor.DType != w.Tensor.DType ||
			len(v.Tensor.Shape) == 0 || len(w.Tensor.Shape) != len(v.Tensor.Shape) || v.Tensor.Shape[0] != a.rows || w.Tensor.Shape[0] != b.rows ||
			!slices.Equal(v.Tensor.Shape[1:], w.Tensor.Shape[1:]) {
			return false
		}
	}
	return true
}
