package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/stretchr/testify/require"
)

func device(t *testing.T) *core.Place {
	d, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// The timed op computes the right results.
func TestOpResults(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		x    Case
		want func(i int, in [][]float32) float64
	}{
		{of("t", "exp", op.Exp, in(f32(4, 5))), func(i int, in [][]float32) float64 { return math.Exp(float64(in[0][i])) }},
		{of("t", "add", op.Add, in(f32(4, 5), f32(5))), func(i int, in [][]float32) float64 { return float64(in[0][i]) + float64(in[1][i%5]) }},
		{Case{Name: "transpose", Op: op.Permute, In: in(f32(4, 5)), Attrs: []op.Attr{op.Ints("axes", 1, 0)}, Copied: true},
			func(i int, in [][]float32) float64 { return float64(in[0][i%4*5+i/4]) }},
		{of("t", "max_pool", op.MaxPool, in(f32(1, 1, 2, 4)), pool2()...), func(i int, in [][]float32) float64 {
			return float64(max(in[0][2*i], in[0][2*i+1], in[0][2*i+4], in[0][2*i+5]))
		}},
	} {
		o, err := OpenOp(t.Context(), d, c.x)
		require.NoError(t, err)
		descs, data, err := o.Results(t.Context())
		require.NoError(t, err)
		var inputs [][]float32
		for i, x := range c.x.In {
			b, err := x.Data(i)
			require.NoError(t, err)
			inputs = append(inputs, floats(b))
		}
		require.NotEmpty(t, data[0])
		for i, got := range floats(data[0]) {
			require.InDelta(t, c.want(i, inputs), float64(got), 1e-6, "%s of %v", c.x.Name, descs)
		}
		require.NoError(t, o.Turn(t.Context(), time.Millisecond))
		require.Positive(t, o.Stats().Median)
		require.NoError(t, o.Close())
	}
}

// lacking is a backend whose devices do not have an op.
type lacking struct {
	core.Backend
	op op.Code
}

func (l lacking) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := l.Backend.Open(ctx, index)
	return lackingDevice{d, l.op}, err
}

type lackingDevice struct {
	core.Device
	op op.Code
}

func (d lackingDevice) Capabilities() *core.Capabilities {
	c := *d.Device.Capabilities()
	c.Ops = maps.Clone(c.Ops)
	delete(c.Ops, d.op.String())
	return &c
}

// A case whose result is copied is decomposed too, if the device lacks its op.
func TestOpCopiedDecomposed(t *testing.T) {
	d := device(t).With(func(b core.Backend) core.Backend { return lacking{b, op.Square} })
	c := Case{Name: "t", Op: op.Square, In: in(f32(4, 5)), Copied: true}
	o, err := OpenOp(t.Context(), d, c)
	require.NoError(t, err)
	require.False(t, o.Native())
	nodes := &recording{Stream: o.stream}
	o.stream = nodes
	_, data, err := o.Results(t.Context())
	require.NoError(t, err)
	x, err := c.In[0].Data(0)
	require.NoError(t, err)
	for i, v := range floats(x) {
		require.InDelta(t, float64(v)*float64(v), float64(floats(data[0])[i]), 1e-6)
	}
	require.NotContains(t, nodes.ops, op.Square)
	require.Equal(t, op.Copy, nodes.ops[len(nodes.ops)-1])
	require.NoError(t, o.Close())
}

// recording is a stream that records the ops of submitted nodes.
type recording struct {
	core.Stream
	ops []op.Code
}

func (r *recording) Submit(nodes []op.Node, free []op.TensorID) error {
	for _, n := range nodes {
		r.ops = append(r.ops, n.Op)
	}
	return r.Stream.Submit(nodes, free)
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24)
	}
	return out
}

func pool2() []op.Attr {
	two, none := []int{2, 2}, []int{0, 0}
	return []op.Attr{op.Ints("window", two...), op.Ints("strides", two...), op.Ints("pad_lo", none...), op.Ints("pad_hi", none...),
		op.Ints("overhang", none...), op.Ints("dilation", 1, 1)}
}

// The first 2^24 values of mix are distinct, and the values of an operand are in their range.
func TestValues(t *testing.T) {
	seen := make([]bool, 1<<24)
	for i := range seen {
		m := mix(i, 3)
		if seen[m] {
			t.Fatalf("%d twice", m)
		}
		seen[m] = true
	}
	b, err := f32(1000).Data(0)
	require.NoError(t, err)
	v := floats(b)
	require.Greater(t, slices.Min(v), float32(-1))
	require.LessOrEqual(t, slices.Max(v), float32(1))
	require.Less(t, slices.Min(v), float32(-0.9))
	b, err = index(7, 100).Data(0)
	require.NoError(t, err)
	for i := 0; i < len(b); i += 8 {
		require.Less(t, b[i], byte(7))
	}
	_, err = tensor(dtype.I8, Signed, 3).Data(0)
	require.ErrorContains(t, err, "i8[3]")
}

func TestMeasureOp(t *testing.T) {
	d := device(t)
	c := of("t", "add", op.Add, in(f32(64, 64), f32(64, 64)))
	r, err := MeasureOp(t.Context(), d, c, 1, 4*time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, r.Error)
	require.EqualValues(t, 3*64*64*4, r.Bytes)
	require.Equal(t, "copy of 32 KiB", r.Limit)
	require.InDelta(t, float64(r.Bytes)/float64(r.Median.Nanoseconds()), r.GBps, 1e-9)
	require.InDelta(t, float64(r.Bytes)/float64(r.Best.Nanoseconds())/r.LimitRate, r.OfLimit, 1e-12)

	m := matmuls()[0]
	r, err = MeasureOp(t.Context(), d, m, 1, 4*time.Millisecond)
	require.NoError(t, err)
	require.EqualValues(t, 2*64*64*64, r.Flops)
	require.Equal(t, "f32 peak", r.Limit)

	wrong := of("t", "wrong", op.Add, in(f32(2), f32(3)))
	r, err = MeasureOp(t.Context(), d, wrong, 0, time.Millisecond)
	require.NoError(t, err)
	require.Contains(t, r.Error, "wrong")

	report := NewReport(d, 1)
	report.Ops = []Row{r}
	require.True(t, Host(d))
	var text bytes.Buffer
	require.NoError(t, report.Write(&text))
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text.Bytes(), &keys))
	require.EqualValues(t, Format, keys["format"])
	row := keys["ops"].([]any)[0].(map[string]any)
	for _, k := range []string{"name", "set", "op", "runs", "median_ns", "best_ns", "low_ns", "high_ns", "native", "bytes", "gbps", "error"} {
		require.Contains(t, row, k)
	}
	var back Report
	require.NoError(t, json.Unmarshal(text.Bytes(), &back))
	require.Equal(t, *report, back)
}
