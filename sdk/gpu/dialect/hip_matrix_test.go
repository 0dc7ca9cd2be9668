package dialect

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// evaluate returns the value of an expression of C over l and i, whose parentheses make Go's precedence the same.
func evaluate(t *testing.T, expression string, l, i int) int {
	text := regexp.MustCompile(`\b[li]\b`).ReplaceAllStringFunc(expression, func(name string) string {
		return strconv.Itoa(map[string]int{"l": l, "i": i}[name])
	})
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	require.NoError(t, err, text)
	n, err := strconv.Atoi(v.Value.String())
	require.NoError(t, err)
	return n
}

// TestMatrixUnits checks that threads hold the elements of matrices as in testdata/amd_fragments.txt, which AMD's calculator of matrix instructions
// (github.com/ROCm/amd_matrix_instruction_calculator) wrote: for instructions with the same registers, each element of A, B and C with the
// lanes that hold it and its place among the lane's elements.
func TestMatrixUnits(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "amd_fragments.txt"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, lines, 3*(1+3*17))
	for n, u := range matrixUnits {
		part := lines[n*52:][:52]
		family := map[string]string{"MFMA": "cdna2 v_mfma_f32_16x16x16f16; ", "WMMA of gfx11": "rdna3 ", "WMMA of gfx12": "rdna4 "}[u.name]
		require.True(t, strings.HasPrefix(part[0], family), part[0])
		wave := HIPMatrices(u.architectures[0])
		require.Len(t, wave, 2)
		lanes := 256 / u.results
		for m, name := range []string{"A", "B", "C"} {
			want := part[1+17*m:][:17]
			require.Equal(t, name, want[0])
			got := make([][]string, 256)
			for l := range lanes {
				count := u.factors
				if name == "C" {
					count = u.results
				}
				for i := range count {
					row, column := evaluate(t, u.row, l, i), l&15
					switch line, depth := evaluate(t, u.line, l, i), evaluate(t, u.depth, l, i); name {
					case "A":
						row, column = line, depth
					case "B":
						row, column = depth, line
					default:
						r, c := wave[0].Accumulator(lanes, l, i)
						require.Equal(t, [2]int{row, column}, [2]int{r, c}, "templates know the same order")
					}
					got[row*16+column] = append(got[row*16+column], fmt.Sprintf("%d.%d", l, i))
				}
			}
			for r := range 16 {
				for c, cell := range strings.Fields(want[1+r]) {
					require.ElementsMatch(t, strings.Split(cell, "/"), got[r*16+c], "%s: %s[%d][%d]", u.name, name, r, c)
				}
			}
		}
	}
}

// TestMatrixRuns checks that the elements along the depth that are loaded in runs of 4 are consecutive.
func TestMatrixRuns(t *testing.T) {
	for _, u := range matrixUnits {
		for l := range 256 / u.results {
			for i := range u.factors {
				first := i &^ 3
				require.Equal(t, evaluate(t, u.depth, l, first)+i-first, evaluate(t, u.depth, l, i), u.name)
				require.Equal(t, evaluate(t, u.line, l, first), evaluate(t, u.line, l, i), u.name)
				require.Zero(t, evaluate(t, u.depth, l, first)%4, u.name)
			}
		}
	}
}

// TestHIPMatrices checks which architectures have matrix instructions for both types, also with features after their names.
func TestHIPMatrices(t *testing.T) {
	for name, order := range map[string]ir.Order{"gfx90a:sramecc+:xnack-": ir.Runs, "gfx942": ir.Runs, "gfx950": ir.Runs, "gfx1100": ir.Strided, "gfx1151": ir.Strided, "gfx1201": ir.Runs} {
		m := HIPMatrices(name)
		require.Len(t, m, 2, name)
		require.Equal(t, order, m[0].Order, name)
	}
	for _, name := range []string{"gfx900", "gfx906", "gfx908", "gfx1030", "gfx110", "gfx1250", ""} {
		require.Empty(t, HIPMatrices(name), name)
	}
}
