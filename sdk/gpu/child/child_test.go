package child

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// libraries replace a vendor's: the search tries a, b, which ends the process, and c. The compiler turns texts to upper case.
var libraries = Libraries{
	Find: func(s vendor.Search) vendor.Report {
		row := vendor.Row{Key: "x", Library: "X", Version: "1"}
		for _, candidate := range []string{"a", "b", "c"} {
			if why := s.Trying(candidate); why != "" {
				row.Refused = append(row.Refused, candidate+": "+why)
			} else if candidate == "b" {
				os.Exit(7)
			}
		}
		return vendor.Report{row, {Key: "y", Library: "Y", Err: vendor.ErrMissing}}
	},
	Load: func(file string) (func(string, []string) ([]byte, string, error), error) {
		if file != "compiler" {
			return nil, errors.New("no such file")
		}
		return func(text string, options []string) ([]byte, string, error) {
			switch text {
			case "wrong":
				return nil, "line 1", errors.New("refused")
			case "abort":
				os.Stderr.WriteString("the last words\n")
				os.Exit(9)
			}
			return []byte(strings.ToUpper(text) + strings.Join(options, "")), "", nil
		}, nil
	},
}

// TestMain makes the test binary the program of the child processes too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Flag {
		os.Exit(libraries.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// TestProbe checks that a library that ends its process is skipped, and that the others are tried.
func TestProbe(t *testing.T) {
	found, err := Probe(Program(), Question{})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "1", found.Row("x").Version)
	require.Equal(t, []string{"b: it ended the process that tried it: exit status 7"}, found.Row("x").Refused)
	require.EqualError(t, found.Row("y").Err, vendor.ErrMissing.Error())
	_, err = Probe("/no/program", Question{})
	require.Error(t, err)
}

// TestCompilers checks that a compiler that ends its process fails only one text.
func TestCompilers(t *testing.T) {
	c := Compilers{Program: Program(), Name: "the compiler", Library: "compiler", Hint: "try another"}
	defer c.Close()
	for range 2 {
		code, err := c.Compile(t.Context(), "text", []string{"-O"})
		require.NoError(t, err)
		require.Equal(t, "TEXT-O", string(code))
		_, err = c.Compile(t.Context(), "wrong", nil)
		require.ErrorIs(t, err, core.ErrKernel)
		require.ErrorContains(t, err, "refused\nline 1")
		_, err = c.Compile(t.Context(), "abort", nil)
		require.ErrorIs(t, err, core.ErrKernel)
		require.ErrorContains(t, err, "the compiler of compiler ended the process that it compiled in (exit status 9); try another")
		require.ErrorContains(t, err, "the last words")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Compile(canceled, "text", nil)
	require.ErrorIs(t, err, core.ErrCanceled)
	none := Compilers{Program: Program(), Library: "other"}
	defer none.Close()
	_, err = none.Compile(t.Context(), "text", nil)
	require.ErrorContains(t, err, "no such file")
}
