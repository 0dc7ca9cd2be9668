package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// interrupter is a standard output that interrupts the command after left writes that begin with begin.
type interrupter struct {
	bytes.Buffer
	begin string
	left  int
	stop  func()
}

func (s *interrupter) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), s.begin) {
		if s.left--; s.left == 0 {
			s.stop()
		}
	}
	return s.Buffer.Write(p)
}

// interrupted runs a command and interrupts it after the given number of lines that begin with begin.
func interrupted(t *testing.T, begin string, lines int, args ...string) result {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &interrupter{begin: begin, left: lines, stop: stop}
	var errOut bytes.Buffer
	code := run(ctx, func(string) string { return "" }, args, strings.NewReader(""), out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// TestConformanceInterrupted checks that, after an interrupt, the reports contain all results so far.
func TestConformanceInterrupted(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	r := interrupted(t, "passed", 3, "conformance", "run", "builtin:cpu", "--run", "^add/f32/", "-v", "--report", report)
	require.Equal(t, exitCanceled, r.code, r.err)
	require.Regexp(t, `\n3 passed, 0 failed, 0 skipped\n$`, r.out)
	require.Regexp(t, `(?m)^stopped after 3 of \d+ cases$`, r.err)
	require.Contains(t, r.err, "burn: interrupted\n")
	m, err := conformance.Verify(report)
	require.ErrorIs(t, err, conformance.ErrIncomplete, "%+v", m)

	var doc conformanceReport
	file := filepath.Join(t.TempDir(), "r.json")
	cases := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		dir := filepath.Join(cases, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		model, err := os.ReadFile(digits + "digits.onnx")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "model.onnx"), model, 0o600))
	}
	r = interrupted(t, "pass", 2, "conformance", "onnx", cases, "-v", "--json", file)
	require.Equal(t, exitCanceled, r.code, r.err)
	require.Regexp(t, `\n2 passed, 0 failed, 0 skipped\n$`, r.out)
	require.Contains(t, r.err, "stopped after 2 of 4 cases\n")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Len(t, doc.Cases, 2)
}
