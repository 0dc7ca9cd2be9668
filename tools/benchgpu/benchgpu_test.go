package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every case runs on the cpu at small sizes with the expected results.
func TestCases(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, runOps(context.Background(), []string{"-device", "builtin:cpu", "-small", "-python", "", "-tf32", "threads_per_stream=all",
		"-sample", "100us", "-repeats", "2"}, &out))
	for _, c := range cases(small) {
		require.Contains(t, out.String(), "| "+c.name+" | ")
	}
	for _, c := range plainCases(small) {
		require.Contains(t, out.String(), "| "+c.name+" | ")
	}
	require.NotContains(t, out.String(), "failed")
}

// A wrong result is detected in every case, because the expected value of another element differs.
func TestWrongResult(t *testing.T) {
	o := opFlags{device: "builtin:cpu", repeats: 1, atLeast: time.Microsecond, limit: time.Minute}
	var list []opCase
	for _, c := range cases(small) {
		if want := c.want; want != nil {
			c.want, c.tf32 = func(in [][]float32, i int) float64 { return 1.1*want(in, i) + c.scale/10 }, false
			list = append(list, c)
		}
	}
	var got []figure
	o.match = regexp.MustCompile("^$")
	require.NoError(t, o.burn(context.Background(), list, false, small, func(f figure) { got = append(got, f) }))
	require.Len(t, got, len(list))
	for _, f := range got {
		require.Contains(t, f.Error, "want", f.Name)
	}
}

func TestTable(t *testing.T) {
	text := table(cases(full), []figure{{Name: "softmax", Side: "burn", Millis: 0.15}, {Name: "softmax", Side: "eager", Millis: 0.3}, {Name: "softmax", Side: "compiled", Millis: 0.2},
		{Name: "matmul_f32", Side: "burn", Millis: 3}, {Name: "sum", Side: "burn", Error: "lost"}})
	require.Contains(t, text, "| softmax | 0.1500 | 0.3000 | 0.2000 | 1.33 |  | 3579 | 0.1600 | yes | 0.215 / 0.165 |  |")
	require.Contains(t, text, "| matmul_f32 | 3.0000 |  |  |  | 45.8 | 67 | 2.7488 | no | 2.700 /  |  |")
	require.Contains(t, text, "failed: lost")
}

func TestBF16(t *testing.T) {
	for v, want := range map[float32]float32{1: 1, 1.00390625: 1, 1.01171875: 1.015625, 1.005: 1.0078125, -1.00390625: -1} { // two halves, to even
		require.Equal(t, want, bf16(v), "%v", v)
	}
}

// Memory that grows is detected, memory that fills its pools at first is not.
func TestFlat(t *testing.T) {
	var out bytes.Buffer
	var list []memory
	for i := range 20 {
		list = append(list, memory{inUse: 100 << 20, reserved: int64(min(i, 4)) << 30})
	}
	require.NoError(t, flat(&out, list))
	for i := range list {
		list[i].inUse += int64(i) << 23
	}
	require.ErrorContains(t, flat(&out, list), "memory has grown: in use")
	require.Error(t, flat(&out, list[:3]))
}

func TestSoak(t *testing.T) {
	var out bytes.Buffer
	var err error
	for _, time := range []string{"2s", "8s", "30s"} { // a busy machine takes fewer samples in a time
		out.Reset()
		if err = runSoak(context.Background(), []string{"-device", "builtin:cpu", "-time", time, "-every", "100ms", "-unit", "8"}, &out); err == nil {
			break
		}
	}
	require.NoError(t, err)
	require.Contains(t, out.String(), "| in use | ")
	require.Error(t, run(context.Background(), []string{"dance"}))
}
