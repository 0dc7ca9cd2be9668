package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/long"
)

// The backend passes the core profile, which is required of every backend.
func TestConformance(t *testing.T) {
	o := conformance.Options{Profile: conformance.Core, Sample: 8}
	switch {
	case testing.Short():
		o.Sample = 20
	case long.Tests():
		o.Sample = 1
	}
	r, err := conformance.Check(t.Context(), func() (core.Backend, error) { return open(core.Config{}) }, o)
	require.NoError(t, err)
	t.Logf("%d passed, %d skipped", r.Passed, r.Skipped)
	if r.Err() != nil {
		require.NoError(t, r.Write(os.Stdout))
	}
	require.NoError(t, r.Err())
}

// The whole backend has at most 900 lines, including comments and blank lines.
func TestSize(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	lines := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		lines += bytes.Count(text, []byte("\n"))
	}
	t.Logf("%d lines", lines)
	require.LessOrEqual(t, lines, 900)
}
