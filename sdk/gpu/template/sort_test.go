package template_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/template"
)

// special are numbers whose order is easily wrong.
var special = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 2, -2, 0.5, -0.5, math.NaN()}

// fillSpecial sets floats to special numbers and others to few different numbers, among them the ends of the type.
func fillSpecial(x tensor, seed uint64) tensor {
	r := random(seed)
	each(x.operand.View.Shape, func(at []int) {
		if x.operand.Type.IsFloat() {
			x.set(at, special[r.IntN(len(special))])
			return
		}
		size := x.operand.Type.Size()
		b := x.bytes[x.index(at)*size:][:size]
		switch r.IntN(4) {
		case 0: // the sign bit alone
			clear(b)
			b[size-1] = 0x80
		case 1: // all bits but the sign
			for i := range b {
				b[i] = 0xff
			}
			b[size-1] = 0x7f
		default:
			x.set(at, float64(r.IntN(7)-3))
		}
	})
	return x
}

// compare orders two elements: NaN is greatest, and both zeros are equal.
func compare(x tensor, a, b []int) int {
	switch d := x.operand.Type; {
	case d.IsFloat():
		u, v := x.get(a), x.get(b)
		if u != u || v != v {
			return truth(u != u) - truth(v != v)
		}
		return cmp.Compare(u, v)
	case d == dtype.U64: // float64 does not represent all numbers
		return cmp.Compare(binary.LittleEndian.Uint64(x.bytes[8*x.index(a):]), binary.LittleEndian.Uint64(x.bytes[8*x.index(b):]))
	case d == dtype.I64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(x.bytes[8*x.index(a):])), int64(binary.LittleEndian.Uint64(x.bytes[8*x.index(b):])))
	}
	return cmp.Compare(x.get(a), x.get(b))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// testSort sorts lines, and compares positions with Go's stable sort and values bit by bit with the elements at these positions.
func testSort(t *testing.T, target template.Target, d dtype.DType, o template.Order, offset int, kernel string) {
	t.Helper()
	x := fillSpecial(dense(d, offset, o.Outer, o.N, o.Inner), uint64(o.N))
	keep := min(o.Keep, o.N)
	values, places, alone := dense(d, 1, o.Outer, keep, o.Inner), dense(dtype.I64, 0, o.Outer, keep, o.Inner), dense(dtype.I64, 1, o.Outer, keep, o.Inner)
	w := template.Sort(target, o, x.operand, values.operand, places.operand)
	execute(t, w, target, []tensor{x}, []tensor{values, places})
	execute(t, template.ArgSort(target, o, x.operand, alone.operand), target, []tensor{x}, []tensor{alone})
	if len(w.Launches) > 0 {
		require.Equal(t, kernel, w.Launches[0].Kernel.Name)
	}
	size := d.Size()
	for line := range o.Outer * o.Inner {
		at := func(k int) []int { return []int{line / max(o.Inner, 1), k, line % max(o.Inner, 1)} }
		want := make([]int, o.N)
		for k := range want {
			want[k] = k
		}
		slices.SortStableFunc(want, func(a, b int) int {
			if o.Descending {
				a, b = b, a
			}
			return compare(x, at(a), at(b))
		})
		for k := range keep {
			if places.get(at(k)) != float64(want[k]) || alone.get(at(k)) != float64(want[k]) {
				t.Fatalf("%v %v line %d: place %d is %v and %v, want %d", d, o, line, k, places.get(at(k)), alone.get(at(k)), want[k])
			}
			from, to := x.bytes[x.index(at(want[k]))*size:][:size], values.bytes[values.index(at(k))*size:][:size]
			if !bytes.Equal(from, to) {
				t.Fatalf("%v %v line %d: value %d is %x, want %x", d, o, line, k, to, from)
			}
		}
	}
}

// TestSort sorts lines of each type in shared memory.
func TestSort(t *testing.T) {
	for i, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.I32, dtype.I8, dtype.U64, dtype.U32, dtype.U8} {
		for k, o := range []template.Order{{Outer: 3, N: 37, Inner: 1}, {Outer: 2, N: 9, Inner: 3}, {Outer: 1, N: 64, Inner: 1}} {
			o.Keep, o.Descending = o.N, (i+k)%2 == 0
			testSort(t, hopper(4), d, o, i%3, "sort_block")
		}
	}
	for _, o := range []template.Order{
		{Outer: 5, N: 1, Inner: 1, Keep: 1}, {Outer: 1, N: 2, Inner: 300, Keep: 1}, {Outer: 2, N: 33, Inner: 2, Keep: 7, Descending: true}, {Outer: 1, N: 20, Inner: 1, Keep: 90},
		{Outer: 0, N: 4, Inner: 1, Keep: 4}, {Outer: 2, N: 4, Inner: 0, Keep: 4}, {Outer: 2, N: 4, Inner: 2, Keep: 0}, {Outer: 2, N: 0, Inner: 2, Keep: 3},
	} {
		testSort(t, hopper(4), dtype.F32, o, 0, "sort_block")
	}
}

// TestSortRadix sorts lines that are too long for the shared memory of a block, which is small here: by ballots of subgroups, or by
// counters of threads if ballots have no room or the target has no subgroups.
func TestSortRadix(t *testing.T) {
	for i, c := range []struct {
		d              dtype.DType
		o              template.Order
		shared         int
		subgroup, grid int
	}{
		{dtype.F32, template.Order{Outer: 1, N: 1030, Inner: 1, Keep: 1030}, 14 << 10, 32, 1 << 20},
		{dtype.I8, template.Order{Outer: 2, N: 1100, Inner: 2, Keep: 50, Descending: true}, 14 << 10, 32, 1 << 20},
		{dtype.F16, template.Order{Outer: 1, N: 600, Inner: 1, Keep: 600}, 6 << 10, 32, 2},
		{dtype.BF16, template.Order{Outer: 2, N: 300, Inner: 1, Keep: 300, Descending: true}, 3 << 10, 1, 1 << 20},
	} {
		target := hopper(2)
		target.Shared, target.Subgroup, target.Grid[0] = c.shared, c.subgroup, c.grid
		testSort(t, target, c.d, c.o, i%3, "radix_count")
	}
}
