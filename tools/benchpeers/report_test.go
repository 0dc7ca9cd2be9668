package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goburn/burn/internal/bench"
	"github.com/stretchr/testify/require"
)

func took(us float64) bench.Stats {
	d := time.Duration(us * 1e3)
	return bench.Stats{Runs: 10, Median: d, Best: d, Low: d, High: d}
}

// canned returns a run with simple ratios: ops at 2, 1 and 0.5 times PyTorch's speed, models at 4 and 1 times ONNX Runtime's.
func canned() *Result {
	peak := func(name string, threads int, part, us, torch float64) OpResult {
		return OpResult{Threads: threads, Torch: took(torch),
			Row: bench.Row{Name: name, Set: "matmul", Op: "matmul", Stats: took(us), GFlops: 250 * part, Limit: "f32 peak", LimitRate: 250, OfLimit: part}}
	}
	memory := func(name string, part, us, torch float64) OpResult {
		return OpResult{Threads: 1, Memory: true, Torch: took(torch),
			Row: bench.Row{Name: name, Set: "binary", Op: "add", Stats: took(us), Bytes: 192 << 20, GBps: 40 * part, Limit: "copy of 64 MiB", LimitRate: 40, OfLimit: part}}
	}
	return &Result{
		Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Load: "0.10", Platform: "linux/amd64", CPU: "a processor", CPUs: 2, Torch: "2.0", ORT: "1.0",
		Limits: []bench.Limits{{Threads: 1, Flops: []bench.ComputeLimit{{Type: "f32", Level: "avx512", GFlops: 250}}, Copy: []bench.CopyLimit{{Bytes: 128 << 20, GBps: 40}}}},
		Ops: []OpResult{
			peak("matmul/square/1024x1024x1024", 1, 0.9, 100, 200), peak("matmul/square/256x256x256", 1, 0.6, 10, 10),
			memory("add/64MiB", 0.95, 100, 50), memory("mul/64MiB", 0.5, 100, 100),
		},
		Models: []ModelResult{
			{Name: "small", Threads: 1, Builtin: took(10), Process: took(11), ORT: took(40)},
			{Name: "encoder", Threads: 1, Builtin: took(1000), Process: took(1000), ORT: took(1000), Torch: took(3000)},
		},
		Cold:   []ColdResult{{"small", "burn run", took(20_000), 30 << 20}, {"small", "PyTorch", took(2_000_000), 300 << 20}},
		Sizes:  []SizeResult{{"burn, one file", 20 << 20}},
		Failed: []Failure{{"sin/64MiB", 2, "PyTorch and burn differ\nby much"}},
	}
}

func TestTargets(t *testing.T) {
	got := map[string]target{}
	for _, x := range targets(canned()) {
		got[x.what] = x
	}
	for what, want := range map[string]struct {
		text    string
		reached bool
	}{
		"matmul/square/1024x1024x1024, 1 thread, of the f32 peak":         {"90 %", true},
		"matmul/square/256x256x256, 1 thread, of the f32 peak":            {"60 %", false},
		"models against ONNX Runtime, 1 thread, geometric mean of speeds": {"2.00 (2.00 of the best)", true},
		"models against ONNX Runtime, 1 thread, worst":                    {"1.00 (1.00), encoder; 0 of 2 below", true},
		"ops against PyTorch, 1 thread, geometric mean of speeds":         {"1.00 (1.00 of the best)", false},
		"ops against PyTorch, 1 thread, worst":                            {"0.50 (0.50), add/64MiB; 1 of 4 below", false},
		"memory-bound ops at 64 MiB, 1 thread, of copying":                {"1 of 2; worst 50 %, mul/64MiB", false},
	} {
		require.Equal(t, want.text, got[what].got, what)
		require.Equal(t, want.reached, got[what].reached, what)
	}
	require.Len(t, got, 7)
	require.Empty(t, targets(&Result{}))

	// A run in which two threads shared a processor decides nothing.
	r := canned()
	two := func(gflops float64) {
		r.Limits = append(r.Limits[:1], bench.Limits{Threads: 2, Flops: []bench.ComputeLimit{{Type: "f32", GFlops: gflops}}})
	}
	line := target{reached: true, threads: 2}
	two(260)
	require.Equal(t, "undecided", line.verdict(r))
	two(490)
	require.Equal(t, "yes", line.verdict(r))
	require.Equal(t, "no", target{threads: 2}.verdict(r))
	require.Equal(t, "yes", target{reached: true, threads: 1}.verdict(r))
}

func TestReport(t *testing.T) {
	var text strings.Builder
	writeReport(&text, canned())
	for _, want := range []string{
		"Of 2 January 2026 on a processor (2 processors), linux/amd64, PyTorch 2.0, ONNX Runtime 1.0. Load of the machine before the run: 0.10.",
		"| copy of 64 MiB, GB/s                | 40.0     |",
		"| matmul | 2     | 1.41                     | 1.00  |", // sqrt(2·1)
		"| binary | 2     | 0.71                     | 0.50  |", // sqrt(0.5·1)
		"Slowest: add/64MiB 0.50, ",
		"38.0 GB/s", "95 % of copy of 64 MiB", "225.0 GFLOP/s",
		"| geometric mean |             |             | 1.05              |", // sqrt(1.1·1)
		"| small | burn run | 20               |",
		"| burn, one file | 20  |",
		"- sin/64MiB, 2 threads: PyTorch and burn differ: by much\n",
	} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "NaN")

	var none strings.Builder
	writeReport(&none, &Result{})
	require.NotContains(t, none.String(), "###")
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"-parts", "ops,cold", "-threads", "1,4", "-data", "d"})
	require.NoError(t, err)
	require.Equal(t, []string{"ops", "cold"}, o.parts)
	require.Equal(t, []int{1, 4}, o.threads)
	require.Equal(t, filepath.Join("d", "models"), o.models)
	for _, args := range [][]string{{"-parts", "op"}, {"-threads", "0"}, {"-filter", "("}} {
		_, err := parse(args)
		require.Error(t, err, args)
	}
}

// Every op of the set has a counterpart in torch_ops.py, and the files have the format that the scripts read.
func TestScripts(t *testing.T) {
	b, err := sources.ReadFile("peers/torch_ops.py")
	require.NoError(t, err)
	for _, c := range bench.Cases() {
		require.Contains(t, string(b), `    "`+c.Op.String()+`": `, c.Name)
	}
	s, err := newScripts(t.TempDir(), "python3")
	require.NoError(t, err)
	require.FileExists(t, s.path("peer.py"))

	files := newStore(t.TempDir())
	x := bench.Cases()[0].In[0]
	one, err := files.operand(x, 0)
	require.NoError(t, err)
	same, err := files.operand(x, 0)
	require.NoError(t, err)
	other, err := files.operand(x, 1)
	require.NoError(t, err)
	require.Equal(t, one, same)
	require.NotEqual(t, one, other)
	v, err := readArray(one)
	require.NoError(t, err)
	data, err := x.Data(0)
	require.NoError(t, err)
	require.Equal(t, data, v.Tensor.Data)
	require.Equal(t, x.Shape, v.Tensor.Shape)
}

// Stored figures reproduce the report.
func TestFrom(t *testing.T) {
	b, err := json.Marshal(canned())
	require.NoError(t, err)
	dir := t.TempDir()
	kept, doc := filepath.Join(dir, "figures.json"), filepath.Join(dir, "B.md")
	require.NoError(t, os.WriteFile(kept, b, 0o600))
	require.NoError(t, os.WriteFile(doc, []byte(section.Begin()+section.End()), 0o600))
	o, err := parse([]string{"-from", kept, "-out", doc})
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), o))
	got, err := os.ReadFile(doc)
	require.NoError(t, err)
	var want strings.Builder
	writeReport(&want, canned())
	require.Equal(t, section.Begin()+"\n"+want.String()+"\n"+section.End(), string(got))
	require.ErrorContains(t, run(t.Context(), options{from: doc}), "invalid character")
}
