package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

func cpu(ctx context.Context) (*core.Place, error) {
	return host.Open(ctx, "builtin:cpu", host.Options{})
}

// The rows of the table add up to the line above it.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, table(t.Context(), &b, cpu))
	classes := map[op.Class]int{}
	for _, c := range op.All() {
		classes[op.Lookup(c).Class]++
	}
	require.Contains(t, b.String(), fmt.Sprintf("%d primitives, of which the device computes %d; %d composites,",
		classes[op.Primitive], classes[op.Primitive], classes[op.Composite]), "the cpu computes every primitive")
	rows, sums := 0, [2]int{}
	row := regexp.MustCompile(`(?m)^\| (.+) \| (\d+) \| (\d+) \| (\d+) \|$`)
	for _, cells := range row.FindAllStringSubmatch(b.String(), -1) {
		var n [3]int // primitives, composites, native
		for i := range n {
			var err error
			n[i], err = strconv.Atoi(cells[2+i])
			require.NoError(t, err)
		}
		rows, sums[0], sums[1] = rows+1, sums[0]+n[0], sums[1]+n[1]
		require.LessOrEqual(t, n[2], n[0]+n[1])
	}
	require.Greater(t, rows, 10)
	require.Equal(t, [2]int{classes[op.Primitive], classes[op.Composite]}, sums)
}

func TestTableWithoutADevice(t *testing.T) {
	broken := func(context.Context) (*core.Place, error) { return nil, core.ErrNotFound }
	require.ErrorIs(t, table(t.Context(), &bytes.Buffer{}, broken), core.ErrNotFound)
	require.ErrorIs(t, suite(t.Context(), &bytes.Buffer{}, broken), core.ErrNotFound)
}

func TestCell(t *testing.T) {
	dir := filepath.Join("cases", "node")
	failed := onnxtest.Result{Case: onnxtest.Case{Name: "test_x", Dir: filepath.Join(dir, "test_x")}, Status: onnxtest.Failed}
	failed.Reason = "read " + filepath.Join(failed.Case.Dir, "model.onnx") + ": a|b <c>\nend"
	require.Equal(t, `read model.onnx: a\|b &lt;c> end`, cell(failed, dir))
	failed.Group = "no a|b"
	require.Equal(t, `no a\|b`, cell(failed, dir), "a group goes first")
}

// Without folders nothing is written, and a folder without cases is an error or an empty table, never a panic.
func TestFolders(t *testing.T) {
	var b bytes.Buffer
	require.ErrorContains(t, write(t.Context(), &b, "", "x", "builtin:cpu", 1), "-cases and -models")
	require.Empty(t, b.String())
	require.Error(t, operators(t.Context(), &b, cpu, filepath.Join(t.TempDir(), "missing"), 1))
	broken := filepath.Join(t.TempDir(), "test_broken")
	require.NoError(t, os.MkdirAll(filepath.Join(broken, "test_data_set_0"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(broken, "model.onnx"), []byte("no model"), 0o644))
	b.Reset()
	require.NoError(t, operators(t.Context(), &b, cpu, filepath.Dir(broken), 1))
	require.Contains(t, b.String(), "| test_broken | ")
	require.NotContains(t, b.String(), filepath.Dir(broken))
	b.Reset()
	require.NoError(t, trained(t.Context(), &b, cpu, filepath.Dir(broken)))
	require.Contains(t, b.String(), "| test_broken | - | - | - | - | ")
}
