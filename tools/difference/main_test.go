package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
)

var few = conformance.Options{Run: "^(add|matmul|softmax)/f32/", Profile: conformance.Core, Shrink: -1}

// A device does not differ from itself.
func TestNoDifference(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, run(t.Context(), &b, "builtin:cpu", "builtin:cpu", few, 3))
	require.Regexp(t, `^[1-9]\d* nodes of [1-9]\d* cases compared, 0 of 0 ops not computed by builtin:cpu, 0 differences\n$`, b.String())
}

func TestUnknownDevice(t *testing.T) {
	var b bytes.Buffer
	require.ErrorIs(t, run(t.Context(), &b, "builtin:cpu", "builtin:nobody", few, 3), core.ErrNotFound)
	require.Error(t, run(t.Context(), &b, "builtin:nobody", "builtin:cpu", few, 3))
	require.Empty(t, b.String())
}

// Differences are grouped by the name of the command and carry the case; faults of other kinds are none.
func TestFound(t *testing.T) {
	f := &found{skipped: map[string]int{}, differ: map[string][]string{}, current: "add/f32/odd/plain"}
	f.fault(&verify.Fault{Kind: verify.Difference, Command: "add of [f32[3]]", Err: errors.New("off by one")})
	f.fault(&verify.Fault{Kind: verify.Difference, Command: "add of [f32[4]]", Err: errors.New("off by two")})
	f.fault(&verify.Fault{Kind: verify.Difference + 1, Command: "neg of [f32[3]]", Err: errors.New("late")})
	require.Equal(t, map[string][]string{"add": {"after add/f32/odd/plain: off by one", "after add/f32/odd/plain: off by two"}}, f.differ)
	f.note("add", nil)
	f.note("lu", core.ErrUnsupported)
	f.note("lu", core.ErrUnsupported)
	require.Equal(t, 1, f.compared)
	require.Equal(t, map[string]int{"lu": 2}, f.skipped)
}
