package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// counts adds the number of instructions of each operation in a list, with those of nested lists, to n. It returns the number of loops
// marked for unrolling.
func counts(list []ir.Inst, n map[ir.Op]int) (unroll int) {
	for _, in := range list {
		n[in.Op]++
		if in.Unroll {
			unroll++
		}
		unroll += counts(in.Head, n) + counts(in.Body, n) + counts(in.Else, n)
	}
	return unroll
}

// TestUnrolled checks that unrolled kernels compute the same bits and contain no loop marked for unrolling. They load and store only
// those local arrays that a remaining loop or a condition may change.
func TestUnrolled(t *testing.T) {
	const threads = 8
	type kit struct {
		*ir.Builder
		x, y ir.Buf
		n    ir.Value
		l, m ir.Var
	}
	load := func(k kit, i ir.Value) ir.Value { return k.Load(k.x, k.Rem(k.Add(k.Thread(), i), k.Int(threads))) }
	for _, c := range []struct {
		name          string
		build         func(k kit)
		loads, stores int // of local arrays
		loops         int
	}{
		{"sum", func(k kit) {
			k.Put(k.l, k.Int(0))
			k.Unroll(4, func(i ir.Value) { k.Put(k.l, k.Add(k.At(k.l), load(k, i))) })
			k.Store(k.y, k.Thread(), k.At(k.l))
		}, 0, 0, 0},
		{"two dimensions", func(k kit) {
			k.Unroll(2, func(i ir.Value) {
				k.Unroll(2, func(j ir.Value) { k.Set(k.l, k.Add(k.Mul(i, k.Int(2)), j), load(k, k.Mul(i, j))) })
			})
			k.Unroll(4, func(i ir.Value) {
				k.Store(k.y, k.Thread(), k.Add(k.Load(k.y, k.Thread()), k.Mul(k.Get(k.l, i), i)))
			})
		}, 0, 0, 0},
		{"carried by a loop", func(k kit) {
			k.Unroll(2, func(i ir.Value) { k.Set(k.l, i, i) })
			k.For(k.Int(0), k.n, 1, func(j ir.Value) {
				k.Unroll(3, func(d ir.Value) {
					k.Unroll(2, func(i ir.Value) { k.Set(k.l, i, k.Add(k.Mul(k.Get(k.l, i), k.Int(3)), load(k, k.Add(j, d)))) })
				})
			})
			k.Store(k.y, k.Thread(), k.Add(k.Get(k.l, k.Int(0)), k.Get(k.l, k.Int(1))))
		}, 4, 4, 1},
		{"changed under a condition", func(k kit) {
			k.Put(k.l, k.Int(7))
			k.IfElse(k.Lt(k.Thread(), k.n), func() { k.Put(k.l, k.Add(k.At(k.l), k.Int(1))) }, func() { k.Set(k.m, k.Int(1), k.At(k.l)) })
			k.Store(k.y, k.Thread(), k.At(k.l))
		}, 1, 2, 0},
		{"changed by a loop without known rounds", func(k kit) {
			k.Put(k.l, k.Int(0))
			k.Put(k.m, k.n)
			k.While(func() ir.Value { return k.Lt(k.At(k.l), k.At(k.m)) }, func() {
				k.Unroll(2, func(i ir.Value) { k.Put(k.l, k.Add(k.At(k.l), k.Add(i, k.Int(1)))) })
			})
			k.Store(k.y, k.Thread(), k.At(k.l))
		}, 3, 2, 0},
		{"shared memory", func(k kit) {
			m := k.Shared("m", dtype.I32, 2*threads)
			k.Unroll(2, func(i ir.Value) { k.SharedStore(m, k.Add(k.Mul(i, k.Int(threads)), k.Thread()), load(k, i)) })
			k.Barrier()
			k.Unroll(2, func(i ir.Value) {
				k.Set(k.l, i, k.SharedLoad(m, k.Sub(k.Int(2*threads-1), k.Add(k.Mul(i, k.Int(threads)), k.Thread()))))
			})
			k.Store(k.y, k.Thread(), k.Sub(k.Get(k.l, k.Int(0)), k.Get(k.l, k.Int(1))))
		}, 0, 0, 0},
		{"one round and none", func(k kit) {
			k.Put(k.l, k.Int(5))
			k.Unroll(1, func(i ir.Value) { k.Put(k.l, k.Add(k.At(k.l), load(k, i))) })
			k.Unroll(0, func(ir.Value) { k.Put(k.l, k.Int(0)) })
			k.Store(k.y, k.Thread(), k.At(k.l))
		}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kit{Builder: ir.New("test", threads)}
			k.x, k.y = k.Buffer("x", dtype.I32, ir.Read), k.Buffer("y", dtype.I32, ir.Read|ir.Write)
			k.n = k.Scalar("n", dtype.I32)
			k.l, k.m = k.Local("l", dtype.I32, 4), k.Local("m", dtype.I32, 4)
			c.build(k)
			kernel := k.Kernel()
			before := kernel.String()
			unrolled := kernel.Unrolled()
			require.Equal(t, before, kernel.String(), "the kernel itself changed")
			seen := map[ir.Op]int{}
			require.Zero(t, counts(unrolled.Body, seen))
			require.Equal(t, []int{c.loads, c.stores, c.loops}, []int{seen[ir.LocalLoad], seen[ir.LocalStore], seen[ir.For]}, unrolled.String())
			if c.loads == 0 {
				require.Empty(t, unrolled.Locals)
			}
			for _, n := range []uint64{0, 1, 5} {
				var results [2][]int32
				for i, k := range []*ir.Kernel{kernel, unrolled} {
					x, y := []int32{3, 1, 4, 1, 5, 9, 2, 6}, make([]int32, threads)
					l := ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Bits: n}}}
					require.NoError(t, ir.Check(l, []int64{4 * threads, 4 * threads}, ir.Limits{}))
					require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(x), dtype.Bytes(y)}, interp.Options{Races: true}))
					results[i] = y
				}
				require.Equal(t, results[0], results[1])
			}
		})
	}
}
