package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// The memory of a small GPT-2 on a device that computes nothing: steps that are programs reserve no more than those before, and the
// table names what a program keeps.
func TestMemory(t *testing.T) {
	c, err := find("gpt2_tiny")
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, memory(context.Background(), &b, c, settings{device: "builtin:dry", threads: 1, narrow: dtype.BF16, fusion: true}))
	text := b.String()
	require.Regexp(t, `(?m)^\| step 8 \| \d+ \| \d+ \| \d+ \|$`, text)
	require.Regexp(t, `(?m)^\| 40 steps with one wait \| \d+ \| \d+ \| \d+ \|$`, text)
	require.Regexp(t, `(?m)^program adamw: `, text)
	require.Regexp(t, `(?m)^program fused 1: .* scratch `, text)
	b.Reset()
	require.NoError(t, memory(context.Background(), &b, c, here))
	require.Contains(t, b.String(), "| step 8 |")
	require.NotContains(t, b.String(), "program")
}
