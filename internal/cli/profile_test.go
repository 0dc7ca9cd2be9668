package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/stretchr/testify/require"
)

// stepRow matches a row of the table by step. Its groups are the columns that do not depend on times: name, step, calls and shapes.
var stepRow = regexp.MustCompile(`(?m)^([a-z_+]+)  +(\d+)  +(\d+)  .*%.*  (\S.* -> \S+)$`)

// stepRows returns the set of rows, each with name, step, calls and shapes.
func stepRows(out string) map[string]bool {
	rows := map[string]bool{}
	for _, m := range stepRow.FindAllStringSubmatch(out, -1) {
		rows[m[1]+" "+m[2]+" "+m[3]+" "+m[4]] = true
	}
	return rows
}

// digitSteps are the steps of the example model on four images, derived from its layers: three convolutions with 8, 16 and 32 channels,
// each with a pooling layer, and two linear layers.
var digitSteps = map[string]bool{
	"conv+add+relu 0 3 f32[4,1,28,28] f32[8,1,3,3] f32[8,1,1] -> f32[4,8,28,28]":    true,
	"window_reduce 1 3 f32[4,8,28,28] -> f32[4,8,14,14]":                            true,
	"conv+add+relu 2 3 f32[4,8,14,14] f32[16,8,3,3] f32[16,1,1] -> f32[4,16,14,14]": true,
	"window_reduce 3 3 f32[4,16,14,14] -> f32[4,16,7,7]":                            true,
	"conv+add+relu 4 3 f32[4,16,7,7] f32[32,16,3,3] f32[32,1,1] -> f32[4,32,7,7]":   true,
	"window_reduce 5 3 f32[4,32,7,7] -> f32[4,32,3,3]":                              true,
	"reshape 6 3 f32[4,32,3,3] -> f32[4,288]":                                       true,
	"linear+relu 7 3 f32[4,288] f32[64,288] f32[64] -> f32[4,64]":                   true,
	"linear 8 3 f32[4,64] f32[10,64] f32[10] -> f32[4,10]":                          true,
	"softmax 9 3 f32[4,10] -> f32[4,10]":                                            true,
}

func TestProfile(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.json")
	r := call(t, "profile", digits+"digits.onnx", "--batch", "4", "--runs", "3", "--trace", trace)
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, digitSteps, stepRows(r.out), r.out)
	require.Regexp(t, `(?m)^conv\+add\+relu +3 +9 `, r.out, "by op")

	var got struct {
		Events []struct {
			Name, Cat, Ph string
			Ts, Dur       float64
			Pid, Tid      int
			Args          struct {
				Flops int64
				Step  int
			}
		} `json:"traceEvents"`
	}
	b, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &got))
	counts, runs := map[string]int{}, [][2]float64{}
	for _, e := range got.Events {
		counts[e.Ph+" "+e.Cat]++
		switch e.Cat {
		case "run":
			runs = append(runs, [2]float64{e.Ts, e.Ts + e.Dur})
		case "step":
			if e.Name == "linear+relu" {
				require.EqualValues(t, 2*4*288*64, e.Args.Flops)
			}
			if e.Name == "conv+add+relu" && e.Args.Step == 2 {
				require.EqualValues(t, 2*4*14*14*16*8*3*3, e.Args.Flops)
			}
		}
	}
	require.Equal(t, map[string]int{"M ": 4, "X run": 3, "X program": 3, "X step": 30}, counts)
	for i := 1; i < len(runs); i++ {
		require.GreaterOrEqual(t, runs[i][0], runs[i-1][1])
	}
}

func TestProfileUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"profile"}, 2, "accepts 1 arg"},
		{[]string{"profile", digits + "labels.txt"}, 3, "a text file"},
		{[]string{"profile", digits + "digits.onnx", "--runs", "0"}, 2, "--runs: want 1"},
		{[]string{"profile", digits + "digits.onnx", "--batch", "2", "--input", "x.npy"}, 2, "--batch: want it without --input"},
		{[]string{"profile", digits + "digits.onnx", "--trace", "no/such/folder/t.json"}, 1, "--trace: "},
	} {
		r := call(t, c.args...)
		require.Equal(t, c.code, r.code, r.err)
		require.Contains(t, r.err, c.text)
	}
}

// quiet is a backend that reports no steps.
type quiet struct{ core.Backend }

func (q quiet) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := q.Backend.Open(ctx, i)
	return quietDevice{d}, err
}

type quietDevice struct{ core.Device }

func (d quietDevice) Extend(target any) bool {
	_, asked := target.(*core.Profiling)
	return !asked && d.Device.Extend(target)
}

// On a device without the extension Profiling, profile measures whole runs. autodiff passes the extension on.
func TestProfileWithoutSteps(t *testing.T) {
	var out bytes.Buffer
	a := &app{env: func(string) string { return "" }, out: &out, err: &out}
	m, feed, err := a.profileInputs(digits+"digits.onnx", profileFlags{batch: 4})
	require.NoError(t, err)
	b, err := core.Open("cpu", core.Config{})
	require.NoError(t, err)
	defer b.Close()
	d := &core.Place{Backend: quiet{b}, Spec: "quiet:0"}
	trace := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, a.profile(t.Context(), "m", m, d, feed, profileFlags{runs: 2, trace: trace}))
	require.Contains(t, out.String(), "quiet:0 does not report its steps: these are times of whole runs")
	require.NotContains(t, out.String(), "by step")
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.Contains(t, string(text), `"run 1"`)

	out.Reset()
	d = (&core.Place{Backend: b, Spec: "cpu:0"}).With(func(b core.Backend) core.Backend { return autodiff.Wrap(b) })
	require.NoError(t, a.profile(t.Context(), "m", m, d, feed, profileFlags{runs: 3}))
	require.Equal(t, digitSteps, stepRows(out.String()))
}
