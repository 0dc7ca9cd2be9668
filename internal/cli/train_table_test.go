package cli

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
)

// numbersTable writes a CSV file with the given head and 120 rows, and returns its path. row returns the text of row i.
func numbersTable(t *testing.T, head string, row func(i int) string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(head + "\n")
	for i := range 120 {
		b.WriteString(row(i) + "\n")
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// readTable separates columns of numbers from columns of words and leaves out rows with gaps or numbers that are not finite.
func TestReadTable(t *testing.T) {
	file := numbersTable(t, "\ufeffa,word,\"b, quoted\",y", func(i int) string {
		switch i {
		case 3:
			return "1,x,,2" // a gap
		case 5:
			return "1,x,inf,2"
		case 7:
			return "NaN,,1,2"
		case 9:
			return "1,x,2," // without a target
		}
		return fmt.Sprintf("%d,x%d,%d.5,%d", i, i, -i, 2*i)
	})
	table, err := readTable(file, "y")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b, quoted"}, table.names)
	require.Equal(t, []string{"word"}, table.texts)
	require.Equal(t, 4, table.gaps)
	require.Len(t, table.rows, 116)
	require.Equal(t, tableRow{in: []float32{4, -4.5}, out: 8}, table.rows[3])
	require.Equal(t, tableRow{in: []float32{119, -119.5}, out: 238}, table.rows[115])
	m, err := table.metadata("y")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"target": "y", "columns": `["a","b, quoted"]`, "columns_left_out": `["word"]`}, m)

	for name, c := range map[string]struct {
		head, target string
		row          func(i int) string
		err          string
	}{
		"no such column":     {"a,y", "z", func(int) string { return "1,2" }, `no column "z"`},
		"a target of words":  {"a,y", "y", func(i int) string { return fmt.Sprintf("%d,w", i) }, `column "y" is no column of numbers`},
		"nothing to go by":   {"a,y", "y", func(i int) string { return fmt.Sprintf("w,%d", i) }, "0 columns of numbers and 120 whole rows"},
		"a number beyond":    {"a,y", "y", func(i int) string { return fmt.Sprintf("1e39,%d", i) }, "0 columns of numbers"},
		"a row that is long": {"a,y", "y", func(i int) string { return strings.Repeat(",1", 1+i%2)[1:] + ",2" }, "wrong number of fields"},
		"an open quote":      {"a,y", "y", func(int) string { return `"1,2` }, "extraneous or missing"},
	} {
		_, err := readTable(numbersTable(t, c.head, c.row), c.target)
		require.ErrorContains(t, err, c.err, name)
	}
	empty := filepath.Join(t.TempDir(), "empty.csv")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = readTable(empty, "y")
	require.ErrorContains(t, err, "EOF")
}

// TestTableScales checks mean and standard deviation of columns whose values are large and close to each other, for which a sum of squares
// is too inexact. The expected values are moments of distributions in closed form.
func TestTableScales(t *testing.T) {
	d, err := tensor.Open(t.Context(), "cpu")
	require.NoError(t, err)
	defer d.Close()
	rows := data.Memory[tableRow]{}
	const n = 20000
	for i := range n {
		// 2^23 + 0 or 1; 2^20 + 0 to 7; a constant
		rows = append(rows, tableRow{in: []float32{1<<23 + float32(i%2), 1<<20 + float32(i%8), 12345678}, out: float32(i%2) * -1e6})
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	net, err := newTableNet(d, []int{2}, rows, 3)
	require.NoError(t, err)
	read := func(x *tensor.Tensor) []float32 {
		v, err := tensor.Data[float32](t.Context(), x)
		require.NoError(t, err)
		return v
	}
	mean, std := read(net.Mean.Value()), read(net.Std.Value())
	require.InDelta(t, 1<<23+0.5, float64(mean[0]), 0.6)
	require.InDelta(t, 0.5, float64(std[0]), 1e-6)
	require.InDelta(t, 1<<20+3.5, float64(mean[1]), 0.1)
	require.InDelta(t, math.Sqrt(63.0/12), float64(std[1]), 1e-6) // (k²-1)/12 for k equally frequent whole numbers
	require.InDelta(t, 1e-6, float64(std[2]), 1e-9, "a constant column is divided by the least deviation")
	require.InDelta(t, -5e5, float64(read(net.Goal.Value())[0]), 0.1)
	require.InDelta(t, 5e5, float64(read(net.Unit.Value())[0]), 0.1)
}
