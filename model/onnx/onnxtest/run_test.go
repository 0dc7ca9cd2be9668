package onnxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/pb"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/stretchr/testify/require"
)

// unary returns a model y = OpType(x) for x f32[N].
func unary(opType string) *pb.Model {
	typ := &pb.Type{Kind: pb.KindTensor, DataType: pb.Float, Shape: &pb.Shape{Dims: []pb.Dim{{Kind: pb.DimParam, Param: "N"}}}}
	return &pb.Model{IRVersion: 8, OpsetImports: []*pb.OperatorSetID{{Version: 17}}, Graph: &pb.Graph{
		Name:    "test",
		Nodes:   []*pb.Node{{OpType: opType, Name: "node", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Inputs:  []*pb.ValueInfo{{Name: "x", Type: typ}},
		Outputs: []*pb.ValueInfo{{Name: "y", Type: typ}},
	}}
}

func floats(v ...float32) []byte {
	return (&pb.Tensor{DataType: pb.Float, Dims: []int64{int64(len(v))}, FloatData: v}).Append(nil)
}

// write writes the files of a case, keyed by their paths below dir, and returns the case.
func write(t *testing.T, dir string, files map[string][]byte) Case {
	t.Helper()
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	return Case{Name: filepath.Base(dir), Dir: dir}
}

func cpu(t *testing.T) *core.Place {
	t.Helper()
	d, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"b", "a/deep/er", "a/deep"} {
		write(t, filepath.Join(root, d), map[string][]byte{"model.onnx": nil})
	}
	write(t, filepath.Join(root, "c"), map[string][]byte{"other.onnx": nil})
	cases, err := Find(root)
	require.NoError(t, err)
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
		require.FileExists(t, c.Model())
	}
	require.Equal(t, []string{"a/deep", "a/deep/er", "b"}, names)

	cases, err = Find(filepath.Join(root, "b"))
	require.NoError(t, err)
	require.Equal(t, []Case{{Name: "b", Dir: filepath.Join(root, "b")}}, cases)

	_, err = Find(filepath.Join(root, "c"))
	require.ErrorContains(t, err, "want directories with a model.onnx, got none")
	_, err = Find(filepath.Join(root, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDataSets(t *testing.T) {
	c := write(t, t.TempDir(), map[string][]byte{"test_data_set_10/input_0.pb": nil, "test_data_set_2/input_1.pb": nil,
		"test_data_set_2/output_0.pb": nil, "test_data_set_2/readme": nil})
	sets, err := dataSets(c.Dir)
	require.NoError(t, err)
	require.Len(t, sets, 2)
	require.Equal(t, "test_data_set_2", sets[0].name)
	require.Equal(t, []string{"", filepath.Join(c.Dir, "test_data_set_2", "input_1.pb")}, sets[0].inputs)
	require.Len(t, sets[0].outputs, 1)
	require.Equal(t, "test_data_set_10", sets[1].name)

	for _, bad := range []string{"input_x.pb", "input_99999999.pb", "input_-1.pb"} {
		c := write(t, t.TempDir(), map[string][]byte{"test_data_set_0/" + bad: nil})
		_, err = dataSets(c.Dir)
		require.ErrorContains(t, err, bad)
	}
}

func TestRun(t *testing.T) {
	dev := cpu(t)
	abs := unary("Abs").Append(nil)
	for name, c := range map[string]struct {
		files  map[string][]byte
		status Status
		reason string
		sets   int
		group  string
	}{
		"pass": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(1, 2)}, Passed, "", 1, ""},
		"several sets": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(1, 2), "test_data_set_1/input_0.pb": floats(-7),
			"test_data_set_1/output_0.pb": floats(7)}, Passed, "", 2, ""},
		"value": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(1, 3)}, Failed, "y: 1 of 2 elements out of tolerance, max error 1, relative 0.3333; first at [1]: got 2, want 3", 0, ""},
		"second set": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1),
			"test_data_set_0/output_0.pb": floats(1), "test_data_set_1/input_0.pb": floats(-7),
			"test_data_set_1/output_0.pb": floats(-7)}, Failed, "test_data_set_1: y: 1 of 1", 1, ""},
		"shape": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(1)}, Failed, "y: got f32[2], want f32[1]", 0, ""},
		"no data":     {map[string][]byte{"model.onnx": abs}, Passed, "loaded only: no data set", 0, ""},
		"unsupported": {map[string][]byte{"model.onnx": unary("NoSuchOp").Append(nil)}, Skipped, "NoSuchOp", 0, "no operator NoSuchOp"},
		"random": {map[string][]byte{"model.onnx": unary("RandomNormalLike").Append(nil), "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(100, 200)}, Passed, "values not compared: RandomNormalLike is random", 1, ""},
		"random shape": {map[string][]byte{"model.onnx": unary("RandomNormalLike").Append(nil), "test_data_set_0/input_0.pb": floats(-1, 2),
			"test_data_set_0/output_0.pb": floats(100)}, Failed, "y: got f32[2], want f32[1]", 0, ""},
		"broken model": {map[string][]byte{"model.onnx": abs[:len(abs)-3]}, Failed, "model.onnx", 0, ""},
		"broken input": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_0.pb": floats(-1, 2)[:5]}, Failed, "input_0.pb", 0, ""},
		"no input":     {map[string][]byte{"model.onnx": abs, "test_data_set_0/output_0.pb": floats(1)}, Failed, "missing", 0, ""},
		"input too many": {map[string][]byte{"model.onnx": abs, "test_data_set_0/input_1.pb": floats(1)}, Failed,
			"2 input and 0 output files, the model has 1 inputs and 1 outputs", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Run(t.Context(), dev, write(t, t.TempDir(), c.files), Options{})
			require.Equal(t, c.status, r.Status, r.Reason)
			require.Contains(t, r.Reason, c.reason)
			require.Equal(t, c.sets, r.Sets)
			require.Equal(t, c.group, r.Group)
			if c.reason == "" {
				require.Empty(t, r.Reason)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	dev := cpu(t)
	run := func(op string, in float32) string {
		r := Run(t.Context(), dev, write(t, t.TempDir(), map[string][]byte{"model.onnx": unary(op).Append(nil),
			"test_data_set_0/input_0.pb": floats(in), "test_data_set_0/output_0.pb": floats(2)}), Options{Tolerance: &Tolerance{Any: true}})
		require.Equal(t, Passed, r.Status, r.Reason)
		return r.Digest
	}
	// The SHA-256 of the type and bytes of a vector with the element 2, computed with shasum -a 256: "f32[1]\n\x00\x00\x00\x40".
	const two = "6c8fa7991c81787a55fd4ec525cf342cb3faef5e2e100e1029638dc0a627c57b"
	require.Equal(t, two, run("Abs", -2))
	require.Equal(t, two, run("Neg", -2))
	require.NotEqual(t, two, run("Abs", math.Nextafter32(2, 3)))
}

// faulty is a backend that calls open before it opens a device, and fails with its error.
type faulty struct {
	core.Backend
	open func(context.Context) error
}

func (f faulty) Open(ctx context.Context, device int) (core.Device, error) {
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	return f.Backend.Open(ctx, device)
}

func device(b core.Backend) *core.Place { return &core.Place{Backend: b, Spec: "builtin:cpu:0"} }

func TestFaultsStayInTheirCase(t *testing.T) {
	old := grace
	grace = 20 * time.Millisecond
	defer func() { grace = old }()
	dev := cpu(t)
	c := write(t, t.TempDir(), map[string][]byte{"model.onnx": unary("Abs").Append(nil)})

	r := Run(t.Context(), device(faulty{dev.Backend, func(context.Context) error { panic("boom") }}), c, Options{})
	require.Equal(t, Failed, r.Status)
	require.Equal(t, "panic: boom", r.Reason)
	require.Contains(t, r.Stack, "faulty.Open")

	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	r = Run(t.Context(), device(faulty{dev.Backend, waits}), c, Options{Timeout: 10 * time.Millisecond})
	require.Equal(t, Failed, r.Status)
	require.Equal(t, "canceled: no result within 10ms", r.Reason)

	release := make(chan struct{})
	hangs := func(context.Context) error { <-release; return errors.New("late") }
	r = Run(t.Context(), device(faulty{dev.Backend, hangs}), c, Options{Timeout: 10 * time.Millisecond})
	close(release)
	require.Equal(t, Failed, r.Status)
	require.Equal(t, "canceled: no result within 10ms", r.Reason)
}

// lacking is a backend that lacks an op.
type lacking struct {
	core.Backend
	op string
}

func (l lacking) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := l.Backend.Open(ctx, device)
	return lackingDevice{d, l.op}, err
}

type lackingDevice struct {
	core.Device
	op string
}

func (d lackingDevice) Capabilities() *core.Capabilities {
	c := *d.Device.Capabilities()
	c.Ops = maps.Clone(c.Ops)
	delete(c.Ops, d.op)
	return &c
}

func TestDeviceThatLacksAnOp(t *testing.T) {
	dev := device(lacking{cpu(t).Backend, "abs"})
	c := write(t, t.TempDir(), map[string][]byte{"model.onnx": unary("Abs").Append(nil), "test_data_set_0/input_0.pb": floats(-1),
		"test_data_set_0/output_0.pb": floats(1)})
	r := Run(t.Context(), dev, c, Options{})
	require.Equal(t, Failed, r.Status, r.Reason)
	require.Contains(t, r.Reason, "abs has no kernel on cpu")

	m := unary("Abs")
	double := &pb.Type{Kind: pb.KindTensor, DataType: pb.Double}
	m.Graph.Inputs[0].Type, m.Graph.Outputs[0].Type = double, double
	c = write(t, t.TempDir(), map[string][]byte{"model.onnx": m.Append(nil),
		"test_data_set_0/input_0.pb": (&pb.Tensor{DataType: pb.Double, DoubleData: []float64{-1}}).Append(nil)})
	r = Run(t.Context(), dev, c, Options{})
	require.Equal(t, Skipped, r.Status, r.Reason)
	require.Equal(t, "Abs: abs has no kernel on cpu and no decomposition: abs version 1: unsupported operation", r.Group)
}

func TestRunAll(t *testing.T) {
	dev := cpu(t)
	root := t.TempDir()
	for i := range 6 {
		write(t, filepath.Join(root, fmt.Sprint("ok", i)), map[string][]byte{"model.onnx": unary("Neg").Append(nil),
			"test_data_set_0/input_0.pb": floats(float32(i)), "test_data_set_0/output_0.pb": floats(-float32(i))})
	}
	write(t, filepath.Join(root, "bad"), map[string][]byte{"model.onnx": unary("Neg").Append(nil),
		"test_data_set_0/input_0.pb": floats(1), "test_data_set_0/output_0.pb": floats(1)})
	write(t, filepath.Join(root, "skip"), map[string][]byte{"model.onnx": unary("Nope").Append(nil)})
	cases, err := Find(root)
	require.NoError(t, err)
	opened := 0
	open := func(context.Context) (*core.Place, error) {
		opened++
		return device(keep{dev.Backend}), nil
	}
	for _, jobs := range []int{1, 3} {
		opened = 0
		got := map[string]Status{}
		sum, err := RunAll(t.Context(), open, cases, Options{}, jobs, func(r Result) { got[r.Case.Name] = r.Status })
		require.NoError(t, err)
		require.Equal(t, "6 passed, 1 failed, 1 skipped", sum.String())
		require.Len(t, got, 8)
		require.Equal(t, Failed, got["bad"])
		require.Equal(t, Skipped, got["skip"])
		require.Equal(t, 1, opened)
	}

	// A lost backend fails the case and is opened again.
	opened = 0
	flaky := func(context.Context) (*core.Place, error) {
		opened++
		if opened == 1 {
			return device(faulty{keep{dev.Backend}, func(context.Context) error { return core.ErrBackendLost }}), nil
		}
		return device(keep{dev.Backend}), nil
	}
	sum, err := RunAll(t.Context(), flaky, cases, Options{}, 1, func(Result) {})
	require.NoError(t, err)
	require.Equal(t, Summary{Passed: 5 + 1, Failed: 1, Skipped: 1}, sum) // "bad", the first case, fails by the loss
	require.Equal(t, 2, opened)

	// Without a device, RunAll fails.
	_, err = RunAll(t.Context(), func(context.Context) (*core.Place, error) { return nil, core.ErrNotFound }, cases, Options{}, 2,
		func(Result) { t.Error("no case can have run") })
	require.ErrorIs(t, err, core.ErrNotFound)

	// The context is cancelled during the run.
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err = RunAll(ctx, open, cases, Options{}, 1, func(Result) {
		if n++; n == 3 {
			cancel()
		}
	})
	require.ErrorIs(t, err, core.ErrCanceled)
	require.ErrorContains(t, err, "stopped after 3 of 8 cases")
}

// keep is a backend that stays open after its devices close.
type keep struct{ core.Backend }

func (keep) Close() error { return nil }

func TestValues(t *testing.T) {
	f := &pb.Tensor{DataType: pb.Float, Dims: []int64{1}, FloatData: []float32{3}}
	want := Value{Tensor: Array{DType: dtype.F32, Shape: []int{1}, Data: dtype.Bytes([]float32{3})}}
	seq, err := fromSequence(&pb.Sequence{Kind: pb.ValueTensor, Tensors: []*pb.Tensor{f, f}})
	require.NoError(t, err)
	require.Equal(t, Value{Kind: Sequence, Elems: []Value{want, want}, Elem: dtype.F32}, seq)
	require.Equal(t, "sequence of 2 (f32[1], f32[1])", seq.String())
	opt, err := fromOptional(&pb.Optional{Kind: pb.ValueSequence, Sequence: &pb.Sequence{Kind: pb.ValueTensor}})
	require.NoError(t, err)
	require.Equal(t, "optional of sequence of 0", opt.String())
	none, err := fromOptional(&pb.Optional{})
	require.NoError(t, err)
	require.Equal(t, "optional, empty", none.String())
	_, err = fromTensor(&pb.Tensor{DataType: pb.String})
	require.ErrorIs(t, err, core.ErrUnsupported)

	require.Nil(t, CompareValues("y", seq, seq, nil))
	other := Value{Kind: Sequence, Elems: []Value{want, {Tensor: Array{DType: dtype.F32, Shape: []int{1}, Data: dtype.Bytes([]float32{4})}}}}
	require.ErrorContains(t, CompareValues("y", seq, other, nil), "y[1]: 1 of 1")
	require.ErrorContains(t, CompareValues("y", seq, opt, nil), "y: got sequence of 2 (f32[1], f32[1]), want optional of sequence of 0")
	require.ErrorContains(t, CompareValues("y", none, opt, nil), "got optional, empty")
}
