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

// The outcomes. A case is skipped only for the error core.ErrUnsupported: of the loader, of the trace of the graph, or of a device that
// lacks an op for optional element types. A device that lacks an op for the types of dtype.Required fails the case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is the outcome of a case.
type Result struct {
	Case     Case
	Status   Status
	Reason   string    // reason of a failure or a skip, on one line; for a passed case empty, or the part that was not tested
	Mismatch *Mismatch // for a case that failed by a difference
	Group    string    // for a skipped case: its reason without the names of nodes, for counting
	Stack    string    // for a case that failed by a panic
	Sets     int       // number of data sets that were run to the end
	Digest   string    // SHA-256, in hex, of all outputs whose values are compared; equal on devices with bitwise equal results
	Duration time.Duration

	lost bool // the backend is lost, so that it can run no other case
}

// Options configures a run. The zero value means the defaults.
type Options struct {
	Tolerance *Tolerance    // nil: Half for f16 and bf16, Default for the other floats
	Timeout   time.Duration // time limit of one case; 0: one minute
}

// grace is the time that a case gets to stop after its timeout.
var grace = 2 * time.Second

// Run runs one case on its own stream. It always returns: a panic or a timeout is a failure, and a case that does not stop even
// then is abandoned. When ctx ends, the case fails with the text of core.ErrCanceled.
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
			return fmt.Errorf("expected output: %v", err) // not a reason to skip the case: the model has computed this output
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

// randomOperator returns an operator of the model whose values ONNX leaves undefined, as it specifies no generator, even for a
// given seed; "" if there is none. For such a model only the types and shapes of outputs can be compared. Dropout is not
// included, as its cases specify the values drawn.
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

// ofDevice removes core.ErrUnsupported from the error of a device that lacks an op, if inputs and outputs have the types that
// every backend must support.
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

// groupOf returns the cause that an unsupported case shares with others: the operators, or the operator and the error.
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

// elementType matches the ONNX name of a type that burn lacks, as the loader and this package write it.
var elementType = regexp.MustCompile(`element type ([A-Z][A-Z0-9]+)\b`)

// where matches the file or program that an error starts with.
var where = regexp.MustCompile(`^(\S*\.(onnx|pb): |onnx: program "[^"]*": node \d+: )+`)
