//go:build js && wasm

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/imagein"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
)

// shelf contains the models of the page and the devices in use. Calls must not be concurrent.
type shelf struct {
	models  map[string]*entry
	devices map[string]*tensor.Device
}

// entry is a model with its sessions, by device spec.
type entry struct {
	model    *onnx.Model
	frame    frame
	sessions map[string]*onnx.Session
}

// list opens every backend of the program and lists its devices; backends that fail to open are left out.
func (s *shelf) list() any {
	var out []any
	for _, name := range core.Registered() {
		b, err := core.Open(name, core.Config{})
		if err != nil {
			continue
		}
		for _, d := range b.Info().Devices {
			spec := name
			if d.Index > 0 {
				spec = fmt.Sprintf("%s:%d", name, d.Index)
			}
			out = append(out, map[string]any{"spec": spec, "name": d.Name, "detail": d.Detail, "software": d.Kind == "software"})
		}
		_ = b.Close() // the backend was opened only to list its devices
	}
	return out
}

// add parses a model. It replaces a model of the same name.
func (s *shelf) add(name string, data []byte) (any, error) {
	m, err := onnx.Parse(data, "", onnx.Options{})
	if err != nil {
		return nil, err
	}
	if err := m.Unsupported(); err != nil {
		return nil, err
	}
	if len(m.Inputs()) == 0 || len(m.Outputs()) == 0 {
		return nil, fmt.Errorf("%s: want a model with an input and an output", name)
	}
	f, err := frameOf(m.Inputs()[0])
	if err != nil {
		return nil, err
	}
	if old := s.models[name]; old != nil {
		for _, session := range old.sessions {
			if err := session.Close(); err != nil {
				return nil, err
			}
		}
	}
	s.models[name] = &entry{m, f, map[string]*onnx.Session{}}
	return map[string]any{"input": m.Inputs()[0].String(), "output": m.Outputs()[0].String()}, nil
}

// session opens the device and the model's session on it at first use.
func (s *shelf) session(ctx context.Context, name, spec string) (*entry, *onnx.Session, error) {
	e := s.models[name]
	if e == nil {
		return nil, nil, fmt.Errorf("no model %s", name)
	}
	if session := e.sessions[spec]; session != nil {
		return e, session, nil
	}
	d := s.devices[spec]
	if d == nil {
		var err error
		if d, err = tensor.Open(ctx, spec); err != nil {
			return nil, nil, err
		}
		s.devices[spec] = d
	}
	session, err := e.model.Open(d)
	if err != nil {
		return nil, nil, err
	}
	e.sessions[spec] = session
	return e, session, nil
}

// run classifies an image: PNG, JPEG or WebP.
func (s *shelf) run(ctx context.Context, name, spec string, image []byte, o options) (any, error) {
	e, session, err := s.session(ctx, name, spec)
	if err != nil {
		return nil, err
	}
	pixels, dims, err := imagein.Load(bytes.NewReader(image), imagein.Options{Width: e.frame.w, Height: e.frame.h, Channels: e.frame.channels,
		Layout: e.frame.layout, Mean: o.mean, Std: o.std, Invert: o.invert})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	values, err := scores(ctx, session, pixels, dims)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	row := make([]float64, len(values))
	all := make([]any, len(values))
	for i, v := range values {
		row[i], all[i] = float64(v), float64(v)
	}
	classes, err := o.rank(row)
	if err != nil {
		return nil, err
	}
	return map[string]any{"classes": classes, "values": all, "seconds": seconds}, nil
}

// scores runs a session on one input and returns its first output.
func scores(ctx context.Context, session *onnx.Session, pixels []float32, dims []int) ([]float32, error) {
	m, dev := session.Model(), session.Device()
	t, err := dev.FromBytes(ctx, dtype.F32, dims, dtype.Bytes(pixels))
	if err != nil {
		return nil, err
	}
	in := onnx.TensorValue(t)
	defer in.Release()
	out, err := session.Run(ctx, map[string]onnx.Value{m.Inputs()[0].Name: in})
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, v := range out {
			v.Release()
		}
	}()
	first := out[m.Outputs()[0].Name]
	if first.Kind() != onnx.TensorKind || first.DType() != dtype.F32 {
		return nil, fmt.Errorf("the output is %s, want f32", m.Outputs()[0])
	}
	b, err := first.Tensor().Bytes(ctx)
	if err != nil {
		return nil, err
	}
	return dtype.Slice[float32](b), nil
}

// rank returns the best classes of a row of scores. With softmax it replaces the scores by probabilities.
func (o *options) rank(row []float64) ([]any, error) {
	if len(o.labels) > 0 && len(o.labels) != len(row) {
		return nil, fmt.Errorf("%d labels for %d classes", len(o.labels), len(row))
	}
	if o.softmax {
		most, sum := slices.Max(row), 0.0
		for i, v := range row {
			row[i] = math.Exp(v - most)
			sum += row[i]
		}
		for i := range row {
			row[i] /= sum
		}
	}
	index := make([]int, len(row))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
	var out []any
	for _, i := range index[:min(o.top, len(index))] {
		label := fmt.Sprint(i)
		if len(o.labels) > 0 {
			label = o.labels[i]
		}
		out = append(out, map[string]any{"index": i, "label": label, "value": row[i]})
	}
	return out, nil
}
