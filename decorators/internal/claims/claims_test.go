package claims_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/internal/claims"
)

func caps(limits core.Limits, types dtype.Set, ops map[string]core.OpCapability, features ...string) *core.Capabilities {
	return &core.Capabilities{Types: types, Ops: ops, Limits: limits, Deterministic: true, Features: features}
}

func device(c *core.Capabilities) claims.Device {
	return claims.Device{Caps: c, Target: program.Target{Supports: c.Check}}
}

// The union claims the ops, types and features that any of the devices claims, with the loosest limits.
func TestUnion(t *testing.T) {
	f32, both := dtype.SetOf(dtype.F32), dtype.SetOf(dtype.F32, dtype.F16)
	a := caps(core.Limits{Rank: 4, Bytes: 100}, f32, map[string]core.OpCapability{"add": {Version: 1}, "neg": {Version: 1, Operands: []dtype.Set{f32}}}, "x")
	b := caps(core.Limits{Rank: 6}, both, map[string]core.OpCapability{"neg": {Version: 1}, "exp": {Version: 2}, "add": {Version: 2}}, "x", "y")
	b.Deterministic = false
	s := claims.New(device(a), device(b))
	require.False(t, s.Uniform())
	u := s.Union()
	require.Equal(t, core.Limits{Rank: 6}, u.Limits, "0 bytes are no limit")
	require.Equal(t, both, u.Types)
	require.Equal(t, []string{"x", "y"}, u.Features)
	require.False(t, u.Deterministic)
	require.Equal(t, core.OpCapability{Version: 1}, u.Ops["add"], "of two versions, the first device's")
	require.Equal(t, core.OpCapability{Version: 2}, u.Ops["exp"])
	require.Equal(t, []dtype.Set{both}, u.Ops["neg"].Operands)
	require.Len(t, u.Ops, 3)
	require.Equal(t, []string{"x"}, a.Features, "the documents of the devices are as before")
	require.Len(t, a.Ops, 2)
	require.True(t, claims.New(device(a), device(a)).Uniform())
	selective := device(a)
	selective.Selective = true
	require.False(t, claims.New(selective, selective).Uniform())
}

// Each device is asked only once about equal nodes, and again if the op, a shape or an attribute differs. Tensor ids do not matter.
func TestAsk(t *testing.T) {
	asked, no := 0, errors.New("no")
	c := caps(core.Limits{}, dtype.SetOf(dtype.F32), map[string]core.OpCapability{})
	s := claims.New(claims.Device{Caps: c, Selective: true, Target: program.Target{Supports: func(*op.Node, []op.Desc) error { asked++; return nil }}},
		claims.Device{Caps: c, Selective: true, Target: program.Target{Supports: func(*op.Node, []op.Desc) error { return no }}})
	node := func(c op.Code, n int, axis int) (*op.Node, []op.Desc) {
		in := []op.Desc{{ID: 1, DType: dtype.F32, Shape: []int{n, n}}}
		x, err := op.New(c, in, op.Int("axis", axis))
		require.NoError(t, err)
		return &x, in
	}
	for range 3 {
		n, in := node(op.CumSum, 3, 0)
		a := s.Ask(n, in)
		require.Equal(t, []error{nil, no}, a.Refusals)
		require.Equal(t, "cumsum of f32 2^4", a.Class)
		require.True(t, s.Has(0, n, in))
		require.False(t, s.Has(1, n, in))
		in[0].ID = 7 // another tensor, the same question
		s.Ask(n, in)
	}
	require.Equal(t, 1, asked)
	for i, f := range []func() (*op.Node, []op.Desc){
		func() (*op.Node, []op.Desc) { return node(op.CumProd, 3, 0) },
		func() (*op.Node, []op.Desc) { return node(op.CumSum, 4, 0) },
		func() (*op.Node, []op.Desc) { return node(op.CumSum, 3, 1) },
	} {
		n, in := f()
		s.Ask(n, in)
		require.Equal(t, i+2, asked)
	}
}

// First returns true once per class of nodes, for whichever node of the class comes first.
func TestFirst(t *testing.T) {
	c := caps(core.Limits{}, dtype.SetOf(dtype.F32), map[string]core.OpCapability{})
	s := claims.New(device(c))
	first := func(n int) bool {
		in := []op.Desc{{ID: 1, DType: dtype.F32, Shape: []int{n}}}
		x, err := op.New(op.Neg, in)
		require.NoError(t, err)
		return s.First(s.Ask(&x, in))
	}
	require.True(t, first(9))
	require.False(t, first(9))
	require.False(t, first(16), "of the same power of two")
	require.True(t, first(17))
}
