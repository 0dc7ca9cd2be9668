package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func TestULP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    dtype.DType
		f    float64
		want float64
	}{{dtype.F32, 1, 0x1p-23}, {dtype.F32, -1.75, 0x1p-23}, {dtype.F32, 2, 0x1p-22}, {dtype.F32, 0, 0x1p-149}, {dtype.F32, 0x1p-140, 0x1p-149},
		{dtype.F16, 1024, 1}, {dtype.F16, 0, 0x1p-24}, {dtype.BF16, 256, 2}, {dtype.F64, 1, 0x1p-52}} {
		require.Equal(t, c.want, ulp(c.d, c.f), "%v %v", c.d, c.f)
	}
	for f := float32(0.1); f < 1e6; f *= 1.7 { // the distance to the next float
		next := math.Nextafter32(f, math.MaxFloat32)
		require.Equal(t, float64(next)-float64(f), ulp(dtype.F32, float64(f)), f)
	}
}

// checkRef runs the cases of o on the reference, with eval in place of its evaluation.
func checkRef(t *testing.T, o Options, eval func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error)) *Report {
	t.Helper()
	r, err := Check(context.Background(), func() (core.Backend, error) { return ref.New(ref.Evaluating(eval)), nil }, o)
	require.NoError(t, err)
	return r
}

// The report states, for each op, the error of the worst element of all cases in units in the last place (ULP), and the number of
// terms accumulated in that element.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	off := func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == op.Sqrt && len(out[0].F) == 7 {
			out[0].F[4] = float64(math.Nextafter32(float32(out[0].F[4]), 0)) // an error of one ULP
		}
		return out, err
	}
	r := checkRef(t, Options{Run: "^(sqrt/f32/(odd|matrix)/plain|exp/f32/odd/plain|matmul/f32/[^/]+/plain)$"}, off)
	by := map[string]Accuracy{}
	for _, a := range r.Accuracy {
		by[a.Op] = a
	}
	require.InDelta(t, 1, by["sqrt"].ULP, 0.51) // below a power of two the neighbour is nearer
	require.Equal(t, "sqrt/f32/odd/plain", by["sqrt"].Case)
	require.Greater(t, by["sqrt"].Elements, 7)
	require.Equal(t, 1, by["sqrt"].Terms)
	require.Zero(t, by["exp"].ULP)
	require.Contains(t, by, "matmul")

	worse := checkRef(t, Options{Run: "^matmul/f32/[^/]+/plain$"}, func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil {
			for i := range out[0].F {
				out[0].F[i] *= 1 + 0x1p-23
			}
		}
		return out, err
	}).Accuracy[0]
	require.Greater(t, worse.ULP, 0.4)
	require.Greater(t, worse.Used, 0.0)
	require.Greater(t, worse.Terms, 1)
}

// modesOf returns the measured arithmetic modes, by name, of a reference that applies change to each element of operands and
// results.
func modesOf(t *testing.T, change func(c op.Code, d dtype.DType, f float64, result bool) float64) map[string]string {
	t.Helper()
	b := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		all := func(ts []ref.Tensor, result bool) {
			for _, x := range ts {
				for i := range x.F {
					x.F[i] = ref.Round(x.Desc.DType, change(n.Op, x.Desc.DType, x.F[i], result))
				}
			}
		}
		in = cloneAll(in)
		all(in, false)
		out, err := ref.Eval(n, in)
		all(out, true)
		return out, err
	}))
	defer b.Close()
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	q, err := (&queue{dev: d, backend: b, seed: 1, options: &Options{}, made: new(atomic.Int64)}).another(context.Background())
	require.NoError(t, err)
	modes, err := measureModes(context.Background(), q)
	require.NoError(t, err)
	by := map[string]string{}
	for _, m := range modes {
		by[m.What] = m.Value
	}
	return by
}

// The arithmetic modes of a device are measured. They are not taken from its claims.
func TestModes(t *testing.T) {
	t.Parallel()
	exact := modesOf(t, func(_ op.Code, _ dtype.DType, f float64, _ bool) float64 { return f })
	for what, want := range map[string]string{"f32: denormal operands": "kept", "f32: denormal results": "kept", "f32: matmul multiplies": "operands of 24 bits",
		"f32: sum accumulates in": "more than 32 bits, such as f64", "f16: matmul multiplies": "operands of 11 bits", "bf16: denormal results": "kept"} {
		require.Equal(t, want, exact[what], what)
	}

	flush := func(f float64) float64 {
		if math.Abs(f) < 0x1p-126 {
			return 0
		}
		return f
	}
	flushing := modesOf(t, func(_ op.Code, d dtype.DType, f float64, result bool) float64 {
		if d == dtype.F32 && result {
			return flush(f)
		}
		return f
	})
	require.Equal(t, "flushed to zero", flushing["f32: denormal results"])
	require.Equal(t, "kept", flushing["f32: denormal operands"])

	tf32 := modesOf(t, func(c op.Code, d dtype.DType, f float64, result bool) float64 {
		if c == op.MatMul && d == dtype.F32 && !result { // eleven bits of significand
			m, e := math.Frexp(f)
			return math.Ldexp(math.RoundToEven(m*2048)/2048, e)
		}
		return f
	})
	require.Equal(t, "operands of 11 bits", tf32["f32: matmul multiplies"])
}

// The measured modes distinguish a sum in the element type from a sum in a wider type.
func TestModesOfSums(t *testing.T) {
	t.Parallel()
	b := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if n.Op == op.Sum && err == nil && len(in[0].Desc.Shape) == 1 {
			sum := 0.0
			for _, f := range in[0].F {
				sum = ref.Round(in[0].Desc.DType, sum+f)
			}
			out[0].F[0] = sum
		}
		return out, err
	}))
	defer b.Close()
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	q, err := (&queue{dev: d, backend: b, seed: 1, options: &Options{}, made: new(atomic.Int64)}).another(context.Background())
	require.NoError(t, err)
	for of, want := range map[dtype.DType]string{dtype.F64: "more than 32 bits, such as f64", dtype.F32: "more than 14 bits, such as f32", dtype.BF16: "less than f32"} {
		got, err := sumWidth(context.Background(), q, of)
		require.NoError(t, err)
		require.Equal(t, want, got, of)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Example 9000\ncpu MHz\t\t: 2300.123\n\nprocessor\t: 1\nmodel name\t: Example 9000\ncpu MHz\t\t: 3100.9\n",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
		"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX  Kernel Module  570.1\nGCC version: 12\n"} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.Equal(t, Machine{Processor: "Example 9000", MHz: [2]int{2300, 3100}, MaxMHz: 3500, Governor: "performance",
		Drivers: map[string]string{"nvidia": "NVRM version: NVIDIA UNIX Kernel Module 570.1"}}, machineAt(root))
	require.Equal(t, Machine{Drivers: map[string]string{}}, machineAt(t.TempDir()))
}

// A package contains the cases that each profile leaves untested, the capability document of every device, the arithmetic modes and
// the accuracy of the ops.
func TestPackageDiscloses(t *testing.T) {
	t.Parallel()
	const lacks = "concat"
	open := func() (core.Backend, error) {
		return ref.New(ref.Claiming(func(c op.Code) bool { return op.Lookup(c).Class == op.Primitive && c.String() != lacks })), nil
	}
	r, err := Check(context.Background(), open, Options{Profile: InferenceF32, Sample: 30})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	_, err = r.WritePackage(path)
	require.NoError(t, err)
	files := untar(t, path)
	var m Manifest
	require.NoError(t, json.Unmarshal(files[ManifestFile], &m))
	d := m.Disclosure
	require.Equal(t, len(r.Results), d.Asked)
	require.Len(t, d.Devices, 1)
	require.Equal(t, "reference", d.Devices[0].Name)
	require.NotEmpty(t, d.Devices[0].Capabilities.Ops)
	require.NotEmpty(t, d.Modes)
	found := false
	for _, h := range d.Holes {
		found = found || h.Profile == InferenceF32 && h.Reason == "not claimed: concat on f32" && h.Cases > 1
		require.NotContains(t, h.Reason, "allows all that the op takes", "a case that is skipped for this reason leaves nothing untested")
	}
	require.True(t, found, "%+v", d.Holes)
	var accuracy []Accuracy
	require.NoError(t, json.Unmarshal(files[AccuracyFile], &accuracy))
	require.Greater(t, len(accuracy), 20)
	require.Regexp(t, `(?m)^profile inference-f32 .*\n(    \d+ not tested: .*\n)*    \d+ not tested: not claimed: concat on f32$`, string(files[SummaryFile]))
	require.Contains(t, string(files[PageFile]), "not tested: not claimed: concat on f32")
}

func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		files[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
}

// Reports count the cases that were asked for, so that an interrupted run does not look like a complete run of fewer cases.
func TestReportsCountWhatWasAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Check(ctx, func() (core.Backend, error) { return ref.New(), nil }, Options{Run: "^abs/f32/[^/]+/plain$", Progress: func(Result, int) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	ids, err := IDs(Options{Run: "^abs/f32/[^/]+/plain$"})
	require.NoError(t, err)
	require.Len(t, r.Results, 1)
	require.Greater(t, len(ids), 3)

	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b))
	var junit struct {
		Tests  int `xml:"tests,attr"`
		Errors int `xml:"errors,attr"`
		Suites []struct {
			Cases []struct {
				Error *struct {
					Message string `xml:"message,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &junit))
	require.Equal(t, []int{len(ids), len(ids) - 1}, []int{junit.Tests, junit.Errors})
	require.Len(t, junit.Suites[0].Cases, len(ids))
	require.Contains(t, junit.Suites[0].Cases[1].Error.Message, "not run")

	b.Reset()
	require.NoError(t, r.WriteHTML(&b))
	require.Contains(t, b.String(), ", "+number(len(ids)-1)+" not run</b> of "+number(len(ids))+" cases that were asked for")
	require.True(t, strings.Contains(b.String(), "The suite has "))
}
