package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/stretchr/testify/require"
)

// onnxFile writes an ONNX model with f32 inputs x, a or b, the output y and the nodes, and returns its path. Dimensions are numbers or
// names.
func onnxFile(t *testing.T, inputs map[string][]any, output []any, nodes ...*pb.Node) string {
	t.Helper()
	info := func(name string, dims []any) *pb.ValueInfo {
		s := &pb.Shape{}
		for _, d := range dims {
			if n, ok := d.(int); ok {
				s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimValue, Value: int64(n)})
			} else {
				s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimParam, Param: d.(string)})
			}
		}
		return &pb.ValueInfo{Name: name, Type: &pb.Type{Kind: pb.KindTensor, DataType: pb.Float, Shape: s}}
	}
	g := &pb.Graph{Name: "test", Nodes: nodes, Outputs: []*pb.ValueInfo{info("y", output)}}
	for _, name := range []string{"x", "a", "b"} {
		if dims, ok := inputs[name]; ok {
			g.Inputs = append(g.Inputs, info(name, dims))
		}
	}
	m := &pb.Model{IRVersion: 8, OpsetImports: []*pb.OperatorSetID{{Version: 17}}, Graph: g}
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, m.Append(nil), 0o600))
	return path
}

func opNode(op string, inputs ...string) *pb.Node {
	return &pb.Node{OpType: op, Name: "node", Inputs: inputs, Outputs: []string{"y"}}
}

// piped runs a command with the given standard input.
func piped(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), func(string) string { return "" }, args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// jsonLines parses JSON lines.
func jsonLines(t *testing.T, out string) (all []jsonResult) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		var r jsonResult
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		all = append(all, r)
	}
	return all
}

// The files that match a pattern run in batches, the last of which is smaller. The results agree with those of other programs for each
// image.
func TestRunPattern(t *testing.T) {
	var want struct {
		Images []struct {
			File          string
			Label         int
			Probabilities []float64
		}
	}
	b, err := os.ReadFile(digits + "expected.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &want))
	probabilities := map[string][]float64{}
	for _, img := range want.Images {
		probabilities[digits+img.File] = img.Probabilities
	}
	out := filepath.Join(t.TempDir(), "all.csv")
	r := call(t, "run", digits+"digits.onnx", digits+"digit_*.png", "--batch", "4", "--out", out, "-v")
	require.Equal(t, 0, r.code, r.err)
	require.Empty(t, r.out)
	require.Contains(t, r.err, "10 done, 0 failed, 3 runs")
	f, err := os.Open(out)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 11)
	require.Equal(t, []string{"file", "sample", "probabilities[0]"}, rows[0][:3])
	for i, row := range rows[1:] {
		name := fmt.Sprintf("%sdigit_%d.png", digits, i)
		require.Equal(t, []string{name, "0"}, row[:2])
		for k, cell := range row[2:] {
			p, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			require.InDelta(t, probabilities[name][k], p, 1e-4)
		}
	}

	r = call(t, "run", digits+"digits.onnx", digits+"digit_3.png", digits+"digit_8.png", "--top", "2", "--labels", digits+"labels.txt", "--format", "csv")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `^file,sample,class1,label1,value1,class2,label2,value2\n\S+digit_3.png,0,3,3,1,\d,\d,\S+\n\S+digit_8.png,0,8,8,\S+,\d,\d,\S+\n$`, r.out)
	r = call(t, "run", digits+"digits.onnx", digits+"digit_3.png", digits+"digit_8.png", "--top", "1")
	require.Regexp(t, `^\S+digit_3.png: 3 100.0 %\n\S+digit_8.png: 8 100.0 %\n$`, r.out)
}

// A file that cannot be used is reported, and the others are run.
func TestRunBadFile(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.png")
	require.NoError(t, os.WriteFile(bad, []byte("\x89PNG\r\n\x1a\nand no more"), 0o600))
	for _, batch := range []string{"1", "8"} {
		r := call(t, "run", digits+"digits.onnx", digits+"digit_1.png", bad, "nosuch.png", digits+"digit_2.png", "--top", "1", "--format", "jsonl", "--batch", batch)
		require.Equal(t, exitFailure, r.code)
		require.Contains(t, r.err, "burn: 2 of 4 failed\n")
		require.Contains(t, r.err, bad)
		require.Contains(t, r.err, "nosuch.png: no such file")
		found, failed := map[string]int{}, 0
		for _, x := range jsonLines(t, r.out) {
			if x.Error != "" {
				failed++
				continue
			}
			found[filepath.Base(x.File)] = x.Top[0].Index
		}
		require.Equal(t, map[string]int{"digit_1.png": 1, "digit_2.png": 2}, found)
		require.Equal(t, 2, failed)
	}
}

// Each line of standard input names a file or holds numbers.
func TestRunLines(t *testing.T) {
	neg := onnxFile(t, map[string][]any{"x": {"N", 2}}, []any{"N", 2}, opNode("Neg", "x"))
	file := writeArray(t, "f32", []int{2, 2}, dtype.Bytes([]float32{1, 2, 3, 4}))
	text := filepath.Join(t.TempDir(), "rows.txt")
	require.NoError(t, os.WriteFile(text, []byte("5 6\n7, 8\n\n9 10\n"), 0o600))
	stdin := file + "\n\n[[11, 12]]\n[13, 14]\n{\"x\": " + strconv.Quote(text) + "}\n[1, 2, 3]\nnosuch.npy\n{\"z\": [1,2]}\n[1,\n\"" + file + "\"\n"
	for _, batch := range []string{"1", "3", "100"} {
		r := piped(t, stdin, "run", neg, "-", "--format", "csv", "--batch", batch)
		require.Equal(t, exitFailure, r.code)
		require.Equal(t, "file,sample,y[0],y[1]\n"+
			file+",0,-1,-2\n"+file+",1,-3,-4\nline 3,0,-11,-12\nline 4,0,-13,-14\nline 5,0,-5,-6\nline 5,1,-7,-8\nline 5,2,-9,-10\n"+
			file+",0,-1,-2\n"+file+",1,-3,-4\n", r.out)
		require.Contains(t, r.err, "burn: line 6: input x: got f32[1,3], want f32[N,2]\n")
		require.Contains(t, r.err, "nosuch.npy: no such file")
		require.Contains(t, r.err, "burn: line 8: input x is missing\n")
		require.Contains(t, r.err, "burn: line 9: want a path, or JSON\n")
		require.Contains(t, r.err, "burn: 4 of 9 failed\n")
	}

	sum := onnxFile(t, map[string][]any{"a": {"N", 2}, "b": {"N", 2}}, []any{"N", 2}, opNode("Sub", "a", "b"))
	r := piped(t, "{\"a\": [10, 20], \"b\": [1, 2]}\n{\"a\": [30, 40], \"b\": [3, 4]}\n", "run", sum, "-", "--batch", "2", "--format", "jsonl")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, `{"file":"line 1","outputs":[{"name":"y","kind":"tensor","dtype":"f32","shape":[1,2],"values":[9,18]}]}
{"file":"line 2","outputs":[{"name":"y","kind":"tensor","dtype":"f32","shape":[1,2],"values":[27,36]}]}
`, r.out)
	// An input that is the same in every run is repeated along the batch.
	one := writeArray(t, "f32", []int{1, 2}, dtype.Bytes([]float32{100, 200}))
	r = piped(t, "[1, 2]\n[3, 4]\n", "run", sum, "--input", "a="+one, "--input", "b=-", "--batch", "2", "--format", "csv")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "file,sample,y[0],y[1]\nline 1,0,99,198\nline 2,0,97,196\n", r.out)
	r = piped(t, "\n", "run", neg, "-")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "standard input names no file")
}

// Models with a fixed batch of one sample, or with outputs that cannot be divided by samples, run once for each file.
func TestRunSingly(t *testing.T) {
	stdin := "[1, 2]\n[3, 4]\n[5, 6]\n"
	fixed := onnxFile(t, map[string][]any{"x": {1, 2}}, []any{1, 2}, opNode("Neg", "x"))
	r := piped(t, stdin, "run", fixed, "-", "--batch", "2", "--format", "csv", "-v")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "file,sample,y[0],y[1]\nline 1,0,-1,-2\nline 2,0,-3,-4\nline 3,0,-5,-6\n", r.out)
	require.Contains(t, r.err, "--batch: input x is f32[1,2], which fixes the batch: one run for each file\n")
	require.Contains(t, r.err, "3 runs")

	whole := onnxFile(t, map[string][]any{"x": {"N", 2}}, []any{1, 1}, opNode("ReduceMax", "x"))
	r = piped(t, stdin, "run", whole, "-", "--batch", "2", "--format", "csv")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "file,sample,y\nline 1,0,2\nline 2,0,4\nline 3,0,6\n", r.out)
	require.Contains(t, r.err, "which cannot be divided by samples")
}

// stepReader returns one line per read. ahead is the greatest number of lines that were read and had no result yet.
type stepReader struct {
	lines, given int
	results      func() int
	ahead        int
}

func (s *stepReader) Read(p []byte) (int, error) {
	if s.given == s.lines {
		return 0, io.EOF
	}
	s.given++
	s.ahead = max(s.ahead, s.given-s.results())
	return copy(p, fmt.Sprintf("[%d, 0]\n", s.given)), nil
}

// Results are written as they are computed: the number of pending lines does not grow with the input.
func TestRunStreams(t *testing.T) {
	neg := onnxFile(t, map[string][]any{"x": {"N", 2}}, []any{"N", 2}, opNode("Neg", "x"))
	var out, errs bytes.Buffer
	in := &stepReader{lines: 500, results: func() int { return bytes.Count(out.Bytes(), []byte("\n")) }}
	code := run(t.Context(), func(string) string { return "" }, []string{"run", neg, "-", "--batch", "8", "--format", "jsonl"}, in, &out, &errs)
	require.Equal(t, 0, code, errs.String())
	require.Equal(t, 500, in.results())
	require.LessOrEqual(t, in.ahead, 10)
}

// An interrupt keeps completed results.
// A run leaves no tensors on the device, so that many files do not fill its memory.
func TestRunReleases(t *testing.T) {
	m, err := onnx.Load(digits+"digits.onnx", onnx.Options{})
	require.NoError(t, err)
	p, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	defer p.Close()
	s, dev, err := openSession(t.Context(), m, p)
	require.NoError(t, err)
	defer dev.Close()
	defer s.Close()
	feed, err := (&app{}).readInputs("digits.onnx", m, runFlags{inputs: []string{"@zeros:300x1x28x28"}}) // 940800 bytes
	require.NoError(t, err)
	var used []int64
	for range 4 {
		_, err := runOnce(t.Context(), dev, s, feed)
		require.NoError(t, err)
		require.NoError(t, dev.Sync(t.Context()))
		info, ok := dev.Memory()
		require.True(t, ok)
		used = append(used, info.InUse)
	}
	require.Equal(t, used[1], used[3], "bytes in use after each run: %v", used)
}

func TestRunManyInterrupted(t *testing.T) {
	neg := onnxFile(t, map[string][]any{"x": {"N", 2}}, []any{"N", 2}, opNode("Neg", "x"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := &canceled{at: "line 3", cancel: cancel}
	var errs bytes.Buffer
	code := run(ctx, func(string) string { return "" }, []string{"run", neg, "-", "--format", "jsonl"}, strings.NewReader(strings.Repeat("[1, 2]\n", 1000)), out, &errs)
	require.Equal(t, exitCanceled, code)
	require.Contains(t, errs.String(), "stopped after 3: 3 done, 0 failed\n")
	require.Len(t, jsonLines(t, out.all.String()), 3)
}

// The arrays of each file are written to a separate folder.
func TestRunManyArrays(t *testing.T) {
	neg := onnxFile(t, map[string][]any{"x": {"N", 2}}, []any{"N", 2}, opNode("Neg", "x"))
	dir := t.TempDir()
	r := piped(t, "[1, 2]\n[3, 4]\n", "run", neg, "-", "--batch", "2", "--output", dir, "--format", "jsonl")
	require.Equal(t, 0, r.code, r.err)
	got := jsonLines(t, r.out)
	require.Len(t, got, 2)
	require.Equal(t, []string{filepath.Join(dir, "000001-line_2", "y.npy")}, got[1].Files)
	a, err := readNpy(got[1].Files[0])
	require.NoError(t, err)
	require.Equal(t, dtype.Bytes([]float32{-3, -4}), a.Tensor.Data)
}

// A WebP decodes to the pixels of libwebp.
func TestRunWebP(t *testing.T) {
	var all struct {
		Cases []struct {
			Name                    string
			Width, Height, Channels int
			File, Pixels            []byte
		}
	}
	b, err := os.ReadFile("../photo/testdata/pixels.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &all))
	tested := 0
	for _, c := range all.Cases {
		if !strings.HasPrefix(c.Name, "webp") || strings.Contains(c.Name, "animated") || c.Channels != 3 { // transparent pixels are blended with white
			continue
		}
		tested++
		file := filepath.Join(t.TempDir(), "image.webp")
		require.NoError(t, os.WriteFile(file, c.File, 0o600))
		neg := onnxFile(t, map[string][]any{"x": {"N", c.Height, c.Width, 3}}, []any{"N", c.Height, c.Width, 3}, opNode("Neg", "x"))
		r := call(t, "run", neg, file, "--scale", "255", "--format", "jsonl", "--layout", "NHWC")
		require.Equal(t, 0, r.code, r.err)
		values := jsonLines(t, r.out)[0].Outputs[0].Values.([]any)
		require.Len(t, values, len(c.Pixels))
		for i, p := range c.Pixels {
			if v := values[i].(float64); math.Abs(v+float64(p)) > 1e-3 {
				t.Fatalf("%s: pixel %d is %v, want %v", c.Name, i, -v, p)
			}
		}
	}
	require.Positive(t, tested)
}

func TestRunManyUsage(t *testing.T) {
	model, image := digits+"digits.onnx", digits+"digit_7.png"
	two := onnxFile(t, map[string][]any{"a": {"N", 2}, "b": {"N", 2}}, []any{"N", 2}, opNode("Sub", "a", "b"))
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{model, "nosuch_*.png"}, 2, "nosuch_*.png: no file matches this pattern"},
		{[]string{model, digits}, 2, "a folder: name a file in it, or many by a pattern"},
		{[]string{model, image, "--batch", "0"}, 2, "--batch: want 1"},
		{[]string{model, image, "--format", "xml"}, 2, `--format: want text, csv or jsonl, got "xml"`},
		{[]string{model, image, image, "--json"}, 2, "--json: is for one run"},
		{[]string{model, image, "-"}, 2, "--input: want either files or -"},
		{[]string{model, "--batch", "2"}, 2, "missing 1 input"},
		{[]string{two, "--input", "a=x.npy", "--input", "b=y.npy", "--format", "csv"}, 2, "as lines of JSON on standard input"},
		{[]string{two, "--input", "a=x.npy", "--input", "a=y.npy"}, 2, "missing 1 input: b"},
		{[]string{two, "--input", "a=-", "--input", "b=-"}, 2, "a and b have many files each"},
		{[]string{model, image, "--out", "no/such/folder/x.csv"}, 2, "--out: "},
		{[]string{model, image, image, "--top", "1", "--labels", model}, 2, "--labels: got"},
	} {
		r := call(t, append([]string{"run"}, c.args...)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.text)
	}
}
