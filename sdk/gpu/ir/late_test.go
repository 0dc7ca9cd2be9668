package ir_test

import (
	"strings"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// order lists the loads and stores of a kernel with the names of their buffers, and the beginnings of control flow.
func order(k *ir.Kernel) string {
	var words []string
	var walk func(list []ir.Inst)
	walk = func(list []ir.Inst) {
		for _, in := range list {
			switch in.Op {
			case ir.Load:
				words = append(words, "load "+k.Params[in.Ref].Name)
			case ir.Store:
				words = append(words, "store "+k.Params[in.Ref].Name)
			case ir.If, ir.For, ir.While:
				words = append(words, in.Op.String())
			}
			for _, l := range [][]ir.Inst{in.Head, in.Body, in.Else} {
				walk(l)
			}
		}
	}
	walk(k.Body)
	return strings.Join(words, ", ")
}

func TestLate(t *testing.T) {
	kernel := func() *ir.Kernel {
		b := ir.New("late", 32)
		x, z := b.Buffer("x", dtype.I32, ir.Read), b.Buffer("z", dtype.I32, ir.Read)
		y, w := b.Buffer("y", dtype.I32, ir.Read|ir.Write), b.Buffer("w", dtype.I32, ir.Write)
		i := b.Thread()
		a, c, d := b.Load(x, i), b.Load(z, i), b.Load(y, i)
		later := b.Add(a, b.Int(1))
		b.Store(y, i, b.Add(c, d))
		b.If(b.Lt(c, d), func() { b.Store(y, i, b.Int(0)); b.Store(w, i, later) })
		b.While(func() ir.Value { return b.Lt(b.Load(z, d), b.Load(y, i)) }, func() { b.Store(y, i, b.Int(0)) })
		return b.Kernel()
	}
	k := kernel()
	require.Equal(t, "load x, load z, load y, store y, if, store y, store w, while, load z, load y, store y", order(k))
	require.Equal(t, "load y, load z, store y, load x, if, store y, store w, while, load y, load z, store y", order(k.Late()))
	require.NoError(t, k.Late().Verify())
	k.Params[0].Aliased = true
	require.Equal(t, "load x, load y, load z, store y, if, store y, store w, while, load y, load z, store y", order(k.Late()))
	require.NotEqual(t, kernel().String(), k.String(), "kernels are named by their texts")
}

func TestCheckAliases(t *testing.T) {
	launch := func(results int, aliased bool) error {
		b := ir.New("alias", 32)
		x := b.Buffer("x", dtype.I32, ir.Read)
		for range results {
			b.Store(b.Buffer("y", dtype.I32, ir.Write), b.Thread(), b.Load(x, b.Thread()))
		}
		k := b.Kernel()
		k.Params[0].Aliased = aliased
		l := ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{}, {}, {Offset: 128}}[:results+1]}
		return ir.Check(l, []int64{256}, ir.Limits{})
	}
	require.NoError(t, launch(1, false))
	require.ErrorContains(t, launch(2, false), "argument x: it is y too, and not aliased")
	require.NoError(t, launch(2, true))
}
