package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// tolerance is the greatest permitted difference between contestants. It allows for f32 arithmetic in another order, over the
// depth of a model.
var tolerance = &onnxtest.Tolerance{Rel: 1e-3, Abs: 1e-4}

// entry is a model with its inputs.
type entry struct {
	name, path string
	inputs     string // folder of input_N.pb and output_N.pb; empty to generate inputs
	batch      int    // batch size of generated inputs
	torch      string // name in torch_models.py; empty if PyTorch does not run the model
}

// generated lists the models that generate.py creates.
var generated = []entry{
	{name: "transformer_encoder", torch: "transformer_encoder"},
	{name: "burn_book_mnist", torch: "burn_book_mnist", batch: 1},
	{name: "burn_book_mnist", torch: "burn_book_mnist", batch: 64},
}

// entries returns the models of the test data that have inputs, and the generated ones, if the filter matches their names.
func entries(ctx context.Context, o options, s *scripts) ([]entry, error) {
	var list []entry
	if o.models != "" {
		cases, err := onnxtest.Find(o.models)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if dir := filepath.Join(c.Dir, "test_data_set_0"); exists(dir) {
				list = append(list, entry{name: c.Name, path: c.Model(), inputs: dir})
			}
		}
	}
	if err := s.command(ctx, "generate.py", s.dir).Run(); err != nil {
		return nil, fmt.Errorf("generate.py: %w", err)
	}
	for _, e := range generated {
		e.path = filepath.Join(s.dir, e.name, "model.onnx")
		if e.batch > 0 {
			e.name = fmt.Sprintf("%s, batch %d", e.name, e.batch)
		}
		list = append(list, e)
	}
	kept := list[:0]
	for _, e := range list {
		if o.filter.MatchString(e.name) {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runModels measures the models against ONNX Runtime, and the generated ones against PyTorch too.
func runModels(ctx context.Context, o options, s *scripts, r *Result) error {
	list, err := entries(ctx, o, s)
	if err != nil {
		return err
	}
	for _, threads := range o.threads {
		if err := modelsOn(ctx, o, s, r, list, threads); err != nil {
			return fmt.Errorf("%d threads: %w", threads, err)
		}
	}
	return nil
}

func modelsOn(ctx context.Context, o options, s *scripts, r *Result, list []entry, threads int) error {
	runtime.GOMAXPROCS(threads)
	var devices []*core.Place
	for _, spec := range []string{"builtin:cpu", "process:cpu"} {
		d, err := host.Open(ctx, spec, host.Options{Config: core.Config{Threads: threads}})
		if errors.Is(err, core.ErrNotFound) && len(devices) > 0 {
			fmt.Fprintln(os.Stderr, "benchpeers: no plugin of the cpu backend, see: make plugins")
			continue
		}
		if err != nil {
			return err
		}
		defer d.Close()
		devices = append(devices, d)
	}
	ort, err := s.start(ctx, "onnxruntime", threads, s.dir)
	if err != nil {
		return err
	}
	defer ort.Close()
	torch, err := s.start(ctx, "torch", threads, s.dir)
	if err != nil {
		return err
	}
	defer torch.Close()
	ort.Single, torch.Single = true, true
	r.ORT, r.Torch = ort.Version, torch.Version
	for _, e := range list {
		row, err := raceModel(ctx, devices, ort, torch, newStore(s.dir), e, o)
		if ctx.Err() != nil || ort.Ended || torch.Ended {
			return err
		}
		if err != nil {
			r.fail(e.name, threads, err)
			continue
		}
		row.Threads = threads
		fmt.Fprintf(os.Stderr, "%d  %-26s builtin %9.0f µs  process %9.0f µs  onnxruntime %9.0f µs  torch %9.0f µs  speed %5.2f\n", threads, e.name,
			micros(row.Builtin.Median), micros(row.Process.Median), micros(row.ORT.Median), micros(row.Torch.Median), ratio(row.ORT.Median, row.Builtin.Median))
		r.Models = append(r.Models, row)
	}
	return nil
}

func raceModel(ctx context.Context, devices []*core.Place, ort, torch *library, files *store, e entry, o options) (ModelResult, error) {
	r := ModelResult{Name: e.name}
	m, err := onnx.Load(e.path, onnx.Options{})
	if err != nil {
		return r, err
	}
	var feed map[string]onnxtest.Value
	if e.inputs != "" {
		feed, err = bench.ReadInputs(m, e.inputs)
	} else {
		feed, err = bench.MakeInputs(m, e.batch)
	}
	if err != nil {
		return r, err
	}
	var cs []bench.Contestant
	var first map[string]onnxtest.Value
	for _, d := range devices {
		p, err := bench.OpenModel(ctx, d, m, feed)
		if err != nil {
			return r, err
		}
		defer p.Close()
		got, err := p.Once(ctx)
		if err != nil {
			return r, err
		}
		if err := golden(m, e, got); err != nil {
			return r, fmt.Errorf("%s: %w", d.Spec, err)
		}
		if first == nil {
			first = got
		}
		cs = append(cs, p)
	}
	inputs := map[string]string{}
	for name, v := range feed {
		if inputs[name], err = files.write(v.Tensor); err != nil {
			return r, fmt.Errorf("input %s: %w", name, err)
		}
		defer os.Remove(inputs[name])
	}
	peers := []*library{ort}
	if e.torch != "" {
		peers = append(peers, torch)
	}
	for _, p := range peers {
		outputs, err := p.open(map[string]any{"onnx": e.path, "model": e.torch, "inputs": inputs})
		if err != nil {
			return r, err
		}
		if err := agree(m, first, outputs); err != nil {
			return r, fmt.Errorf("%s and burn differ: %w", p.Name, err)
		}
		cs = append(cs, p)
	}
	if err := bench.Race(ctx, o.seconds, pauseModels, cs...); err != nil {
		return r, err
	}
	r.Builtin = cs[0].Stats()
	if len(devices) > 1 {
		r.Process = cs[1].Stats()
	}
	r.ORT = ort.Stats()
	if e.torch != "" {
		r.Torch = torch.Stats()
	}
	return r, nil
}

// golden compares outputs with the outputs stored beside the inputs of e. It accepts any outputs of a model with generated
// inputs.
func golden(m *onnx.Model, e entry, got map[string]onnxtest.Value) error {
	if e.inputs == "" {
		return nil
	}
	for i, out := range m.Outputs() {
		want, err := onnxtest.ReadFile(filepath.Join(e.inputs, fmt.Sprintf("output_%d.pb", i)), out)
		if err != nil {
			return err
		}
		if d := onnxtest.CompareValues(out.Name, got[out.Name], want, tolerance); d != nil {
			return d
		}
	}
	return nil
}

// agree compares outputs with a peer's, in the model's order.
func agree(m *onnx.Model, got map[string]onnxtest.Value, paths []string) error {
	outs := m.Outputs()
	if len(paths) != len(outs) {
		return fmt.Errorf("burn returned %d outputs, the peer %d", len(outs), len(paths))
	}
	for i, out := range outs {
		want, err := readArray(paths[i])
		if err != nil {
			return err
		}
		if d := onnxtest.CompareValues(out.Name, got[out.Name], want, tolerance); d != nil {
			return d
		}
	}
	return nil
}
