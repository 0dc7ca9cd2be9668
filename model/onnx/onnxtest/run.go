package onnxtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
)

// Status is the outcome of a case.
type Status string

// The outcomes. A case is skipped only when it is declared core.ErrUnsupported: by the loader, by the trace of the graph,
// or by a device that lacks an op on types that a backend need not have. A device that lacks one on the types of
// dtype.Required fails the case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is what became of a case.
type Result struct {
	Case     Case
	Status   Status
	Reason   string    // why it failed or was skipped, on one line; of a passed case empty, or what was not tested
	Mismatch *Mismatch // of a case that failed by a difference
	Group    string    // of a skipped case: its reason without the names of nodes, so that cases can be counted by it
	Stack    string    // of a case that failed by a panic
	Sets     int       // data sets that were run to the end
	Digest   string    // SHA-256, in hex, of all outputs whose values are compared: devices that give the same bits have the same
	Duration time.Duration

	lost bool // the backend, with which no other case can be run
}

// Options of a run. The zero value stands for the defaults.
type Options struct {
	Tolerance *Tolerance    // nil: Half for f16 and bf16, Default for the other floats
	Timeout   time.Duration // of one case; 0: one minute
}

// grace is how long a case that ran out of time may take to notice.
var grace = 2 * time.Second

// Run runs one case on a stream of its own. It always returns: a panic is a failure, and so is running out of time; a
// case that does not stop even then is left behind. When ctx ends, the case has failed with core.ErrCanceled's text.
func Run(ctx context.Context, dev *core.Place, c Case, o Options) Result {
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	done := make(chan Result, 1)
	go func() {
		r := Result{Case: c}
		defer func() {
			if p := recover(); p != nil {
				r.Status, r.Reason, r.Stack = Failed, fmt.Sprintf("panic: %v", p), string(debug.Stack())
			}
			done <- r
		}()
		r.finish(attempt(limited, dev, c, o, &r))
	}()
	var r Result
	select {
	case r = <-done:
	case <-limited.Done():
		select {
		case r = <-done:
		case <-time.After(grace):
			r = Result{Case: c, Status: Failed, Reason: "does not stop"}
		}
	}
	if r.Status == Failed && r.Mismatch == nil && limited.Err() != nil {
		r.Reason = fmt.Sprintf("%v: no result within %v", core.ErrCanceled, o.Timeout)
		if ctx.Err() != nil {
			r.Reason = core.ErrCanceled.Error()
		}
	}
	r.Duration = time.Since(start)
	return r
}

func (r *Result) finish(err error) {
	var m *Mismatch
	switch {
	case err == nil:
		r.Status = Passed
	case errors.As(err, &m):
		r.Status, r.Mismatch, r.Reason = Failed, m, err.Error()
	case errors.Is(err, core.ErrUnsupported):
		r.Status, r.Reason, r.Group = Skipped, err.Error(), groupOf(err)
	default:
		r.Status, r.Reason, r.lost = Failed, err.Error(), errors.Is(err, core.ErrBackendLost)
	}
}

func attempt(ctx context.Context, dev *core.Place, c Case, o Options, r *Result) (err error) {
	sets, err := dataSets(c.Dir)
	if err != nil {
		return err
	}
	m, err := onnx.Load(c.Model(), onnx.Options{})
	if err != nil {
		return err
	}
	t, err := tensor.On(ctx, dev)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := t.Close(); err == nil {
			err = cerr
		}
	}()
	s, err := m.Open(t)
	if err != nil {
		return err
	}
	digest := sha256.New()
	random := randomOperator(m)
	if len(sets) == 0 {
		r.Reason = "loaded only: no data set"
	} else if random != "" {
		r.Reason = "values not compared: " + random + " is random"
	}
	for _, set := range sets {
		tensor.Scope(t, func(d *tensor.Device) []*tensor.Tensor {
			err = runSet(ctx, d, m, s, set, random != "", o, digest)
			return nil
		})
		if err != nil {
			if len(sets) > 1 {
				return fmt.Errorf("%s: %w", set.name, err)
			}
			return err
		}
		r.Sets++
	}
	if r.Sets > 0 && random == "" {
		r.Digest = hex.EncodeToString(digest.Sum(nil))
	}
	return s.Close()
}

func runSet(ctx context.Context, dev *tensor.Device, m *onnx.Model, s *onnx.Session, set dataSet, random bool, o Options, digest io.Writer) error {
	ins, outs := m.Inputs(), m.Outputs()
	if len(set.inputs) > len(ins) || len(set.outputs) > len(outs) {
		return fmt.Errorf("%d input and %d output files, the model has %d inputs and %d outputs", len(set.inputs),
			len(set.outputs), len(ins), len(outs))
	}
	feed := map[string]onnx.Value{}
	for i, path := range set.inputs {
		if path == "" {
			continue
		}
		v, err := ReadFile(path, ins[i])
		if err != nil {
			return err
		}
		if feed[ins[i].Name], err = Upload(ctx, dev, v); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	results, err := s.Run(ctx, feed)
	if err != nil {
		return ofDevice(m, err)
	}
	for i, path := range set.outputs {
		if path == "" {
			continue
		}
		got, err := Download(ctx, results[outs[i].Name])
		if err != nil {
			return fmt.Errorf("output %s: %w", outs[i].Name, err)
		}
		got.write(digest)
		want, err := ReadFile(path, outs[i])
		if err != nil {
			return fmt.Errorf("expected output: %v", err) // no reason to skip: the model has computed it
		}
		tol := o.Tolerance
		if random {
			tol = &Tolerance{Any: true}
		}
		if m := CompareValues(outs[i].Name, got, want, tol); m != nil {
			return m
		}
	}
	return nil
}

// randomOperator names an operator of a model whose numbers ONNX leaves open, as it defines no generator, not even for a
// given seed. Of such a model's outputs only type and shape can be expected. Dropout is none: its cases say how it draws.
func randomOperator(m *onnx.Model) string {
	for _, o := range m.Info().Operators {
		switch o.Op {
		case "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike":
			if o.Domain == "" {
				return o.Op
			}
		}
	}
	return ""
}

// ofDevice takes the excuse from a device that lacks an op: when inputs and outputs have the types that every backend
// computes with, the error is no longer core.ErrUnsupported.
func ofDevice(m *onnx.Model, err error) error {
	var missing *program.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	for _, v := range slices.Concat(m.Inputs(), m.Outputs()) {
		if !dtype.Required.Has(v.DType) {
			return err
		}
	}
	return errors.New(err.Error())
}

// groupOf is what an unsupported case has in common with others: the operators, or the operator and the cause.
func groupOf(err error) string {
	var ops *onnx.UnsupportedError
	if errors.As(err, &ops) {
		var names []string
		for _, o := range ops.Ops {
			name := o.Op
			if o.Domain != "" {
				name = o.Domain + "." + name
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return "no operator " + strings.Join(names, ", ")
	}
	if m := elementType.FindStringSubmatch(err.Error()); m != nil {
		return "no element type " + m[1]
	}
	var node *onnx.NodeError
	if errors.As(err, &node) {
		return node.Op + ": " + node.Err.Error()
	}
	return where.ReplaceAllString(err.Error(), "")
}

// elementType finds the ONNX type that burn lacks, as the loader and this package call it.
var elementType = regexp.MustCompile(`element type ([A-Z][A-Z0-9]+)\b`)

// where is the file or program that an error starts with.
var where = regexp.MustCompile(`^(\S*\.(onnx|pb): |onnx: program "[^"]*": node \d+: )+`)
