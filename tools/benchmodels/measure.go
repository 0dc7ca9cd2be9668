package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
)

// tolerance is how far contestants may be apart: a model's depth of f32 arithmetic in another order.
var tolerance = &onnxtest.Tolerance{Rel: 1e-3, Abs: 1e-4}

// rounds is how often the contestants take turns, so that a slow spell of the machine meets all of them.
const rounds = 4

// contestant is a model on a device with its inputs uploaded.
type contestant struct {
	dev     *tensor.Device
	session *onnx.Session
	model   *onnx.Model
	feed    map[string]onnx.Value
	times   []time.Duration
}

func enter(ctx context.Context, d *core.Device, c onnxtest.Case) (*contestant, error) {
	m, err := onnx.Load(c.Model(), onnx.Options{})
	if err != nil {
		return nil, err
	}
	dev, err := tensor.On(ctx, d)
	if err != nil {
		return nil, err
	}
	p := &contestant{dev: dev, model: m, feed: map[string]onnx.Value{}}
	if p.session, err = m.Open(dev); err != nil {
		return nil, err
	}
	for i, in := range m.Inputs() {
		v, err := onnxtest.ReadFile(filepath.Join(data(c), fmt.Sprintf("input_%d.pb", i)), in)
		if errors.Is(err, os.ErrNotExist) {
			continue // an input with a default
		}
		if err != nil {
			return nil, err
		}
		if p.feed[in.Name], err = onnxtest.Upload(ctx, dev, v); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func data(c onnxtest.Case) string { return filepath.Join(c.Dir, "test_data_set_0") }

// once runs the model and brings the outputs to the host: what a caller waits for.
func (p *contestant) once(ctx context.Context) (map[string]onnxtest.Value, error) {
	results, err := p.session.Run(ctx, p.feed)
	if err != nil {
		return nil, err
	}
	out := map[string]onnxtest.Value{}
	for name, v := range results {
		if out[name], err = onnxtest.Download(ctx, v); err != nil {
			return nil, err
		}
		v.Release()
	}
	return out, nil
}

func (p *contestant) round(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end) || len(p.times) < 3; {
		start := time.Now()
		if _, err := p.once(ctx); err != nil {
			return err
		}
		p.times = append(p.times, time.Since(start))
	}
	return nil
}

func (p *contestant) close() {
	_ = p.session.Close()
	_ = p.dev.Close()
}

func measure(ctx context.Context, devices []*core.Device, peer *ort, c onnxtest.Case, threads int, seconds float64) (row, error) {
	r := row{name: c.Name}
	var ps []*contestant
	for _, d := range devices {
		p, err := enter(ctx, d, c)
		if err != nil {
			return r, err
		}
		defer p.close()
		got, err := p.once(ctx)
		if err != nil {
			return r, err
		}
		for i, out := range p.model.Outputs() {
			want, err := onnxtest.ReadFile(filepath.Join(data(c), fmt.Sprintf("output_%d.pb", i)), out)
			if err != nil {
				return r, err
			}
			if m := onnxtest.CompareValues(out.Name, got[out.Name], want, tolerance); m != nil {
				return r, fmt.Errorf("%s: %w", d.Spec, m)
			}
		}
		ps = append(ps, p)
	}
	tmp, err := os.MkdirTemp("", "benchmodels")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(tmp)
	slice := seconds / rounds
	var peers []time.Duration
	for range rounds {
		for _, p := range ps {
			if err := p.round(ctx, time.Duration(slice*float64(time.Second))); err != nil {
				return r, err
			}
		}
		if peer == nil {
			continue
		}
		a, err := peer.time(ortRequest{Model: c.Model(), Data: data(c), Threads: threads, Seconds: slice, Out: tmp})
		if err != nil {
			return r, err
		}
		if len(peers) == 0 {
			if err := agree(ctx, ps[0], a.Outputs); err != nil {
				return r, err
			}
		}
		peers = append(peers, time.Duration(a.Median*1e3))
	}
	r.builtin, r.process = median(ps[0].times), median(ps[1].times)
	if len(peers) > 0 {
		r.peer = median(peers)
	}
	return r, nil
}

// agree compares the peer's outputs with ours.
func agree(ctx context.Context, p *contestant, paths []string) error {
	got, err := p.once(ctx)
	if err != nil {
		return err
	}
	for i, out := range p.model.Outputs() {
		f, err := os.Open(paths[i])
		if err != nil {
			return err
		}
		a, err := npy.Read(f, 0)
		_ = f.Close()
		if err != nil {
			return err
		}
		d, err := dtype.Parse(a.DType)
		if err != nil {
			return err
		}
		want := onnxtest.Value{Tensor: onnxtest.Array{DType: d, Shape: shape.Shape(a.Shape), Data: a.Data}}
		if m := onnxtest.CompareValues(out.Name, got[out.Name], want, tolerance); m != nil {
			return fmt.Errorf("ONNX Runtime and burn differ: %w", m)
		}
	}
	return nil
}
