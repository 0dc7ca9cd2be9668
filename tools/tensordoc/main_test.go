package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable fails if a row names no function, a row is empty, or a function of Burn has no counterpart.
func TestTable(t *testing.T) {
	funcs, err := exported("../../tensor")
	require.NoError(t, err)
	rows, err := parseRows(rowText)
	require.NoError(t, err)
	require.NoError(t, check(funcs, rows))
}

func TestDocumentIsUpToDate(t *testing.T) {
	out := t.TempDir() + "/TENSOR.md"
	require.NoError(t, run("../../tensor", out))
	want, err := os.ReadFile(out)
	require.NoError(t, err)
	got, err := os.ReadFile("../../docs/TENSOR.md")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "docs/TENSOR.md is out of date: run go generate ./tools/tensordoc")
}

func TestCheckFinds(t *testing.T) {
	funcs, err := exported("../../tensor")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(rows map[string]row)
		fault  string
	}{
		"a row for nothing":  {func(rows map[string]row) { rows["Tensor.Nothing"] = row{torch: "nothing"} }, "Tensor.Nothing names no function"},
		"an empty row":       {func(rows map[string]row) { rows["Tensor.Erfc"] = row{} }, "Tensor.Erfc has neither"},
		"a name of nobody":   {func(rows map[string]row) { rows["Tensor.Erfc"] = row{burn: []string{"erfz"}} }, "Burn has no function erfz"},
		"a lost counterpart": {func(rows map[string]row) { rows["Tensor.Hypot"] = row{} }, "hypot of api/float.rs has no counterpart"},
	} {
		rows, err := parseRows(rowText)
		require.NoError(t, err)
		c.change(rows)
		require.ErrorContains(t, check(funcs, rows), c.fault, name)
	}
	_, err = parseRows("A | b")
	require.ErrorContains(t, err, "rows.txt:1: 2 columns, want 3")
	_, err = parseRows("A | |\nA | |")
	require.ErrorContains(t, err, "rows.txt:2: a second row for A")
	_, err = exported(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
