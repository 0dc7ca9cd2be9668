package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// TestMemory checks the table of the memory of a small GPT-2 after its steps.
func TestMemory(t *testing.T) {
	c, err := find("gpt2_tiny")
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, memory(context.Background(), &b, c, settings{device: "builtin:cpu", threads: 1, narrow: dtype.BF16, fusion: true}))
	text := b.String()
	require.Regexp(t, `(?m)^\| step 8 \| \d+ \| \d+ \| \d+ \|$`, text)
	require.Regexp(t, `(?m)^\| 40 steps with one wait \| \d+ \| \d+ \| \d+ \|$`, text)
}
