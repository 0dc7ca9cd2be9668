package template_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// random returns a repeatable source of random numbers.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 17)) }

// dense returns memory for a contiguous tensor that begins at element offset, with some elements after it.
func dense(d dtype.DType, offset int, dims ...int) tensor {
	v := shape.Contiguous(shape.Of(dims...))
	v.Offset = offset
	return tensor{template.Operand{Type: d, View: v}, make([]byte, wholeWords((offset+v.Shape.Size()+3)*d.Size()))}
}

// strewn returns memory for a tensor with randomly permuted axes, gaps between its elements, and reversed axes. Axes in fixed are
// broadcast.
func strewn(r *rand.Rand, d dtype.DType, dims []int, fixed ...int) tensor {
	strides, step, offset := make([]int, len(dims)), 1+r.IntN(2), r.IntN(4)
	single := map[int]bool{}
	for _, a := range fixed {
		single[a] = true
	}
	for _, a := range r.Perm(len(dims)) {
		if single[a] {
			continue
		}
		if strides[a] = step; r.IntN(3) == 0 {
			strides[a], offset = -step, offset+step*max(dims[a]-1, 0)
		}
		step *= max(dims[a], 1) + r.IntN(2)
	}
	elements := offset + step + 3
	return tensor{template.Operand{Type: d, View: shape.View{Shape: shape.Of(dims...), Strides: strides, Offset: offset}}, make([]byte, wholeWords(elements*d.Size()))}
}

func wholeWords(bytes int) int { return (bytes + 15) &^ 15 }

// numbered sets the slots of operands, and of the results after them, and returns both for templates.
func numbered(operands, results []tensor) (in, out []template.Operand) {
	for i := range operands {
		operands[i].operand.Slot = i
		in = append(in, operands[i].operand)
	}
	for i := range results {
		results[i].operand.Slot = len(operands) + i
		out = append(out, results[i].operand)
	}
	return in, out
}

// execute checks work, runs it with race detection, and requires that it writes nothing but the elements of results. It reports whether
// the work set its fault.
func execute(t testing.TB, w ir.Work, target template.Target, operands, results []tensor) (fault bool) {
	t.Helper()
	var slots [][]byte
	var sizes []int64
	var before []string
	for _, x := range operands {
		slots, before = append(slots, x.bytes), append(before, string(x.bytes))
	}
	for _, x := range results {
		poison(x.bytes)
		slots = append(slots, x.bytes)
	}
	for _, n := range w.Temps {
		b := make([]byte, n)
		poison(b)
		slots = append(slots, b)
	}
	if w.Fault {
		clear(slots[len(operands)+len(results)])
	}
	for _, b := range slots {
		sizes = append(sizes, int64(len(b)))
	}
	for i, l := range w.Launches {
		require.NoError(t, ir.Check(l, sizes, limitsOf(target)))
		require.NoError(t, interp.Run(l, slots, interp.Options{Order: interp.Shuffled, Seed: uint64(i), Races: true, Subgroup: target.Subgroup}), "%v", l.Kernel)
	}
	for i, x := range operands {
		require.Equal(t, before[i], string(x.bytes), "operand %d was written", i)
	}
	for i, x := range results {
		require.Empty(t, written(x), "result %d: bytes outside of it were written", i)
	}
	return w.Fault && slots[len(operands)+len(results)][0] != 0
}

// written returns the positions of the bytes of x that belong to none of its elements and lost their poison.
func written(x tensor) (places []int) {
	mine := make([]bool, len(x.bytes))
	size := x.operand.Type.Size()
	each(x.operand.View.Shape, func(at []int) {
		for k := range size {
			mine[x.index(at)*size+k] = true
		}
	})
	for i, b := range x.bytes {
		if !mine[i] && b != 0xfe {
			places = append(places, i)
		}
	}
	return places
}

// equal requires that each element of x equals the result of want, rounded to the type of x.
func equal(t testing.TB, x tensor, want func(at []int) float64, note ...any) {
	t.Helper()
	one := dense(x.operand.Type, 0)
	bad := 0
	each(x.operand.View.Shape, func(at []int) {
		one.set(nil, want(at))
		if got, want := x.get(at), one.get(nil); !(got == want || got != got && want != want) {
			if bad++; bad < 4 {
				t.Errorf("element %v is %v, want %v %v", at, got, want, fmt.Sprint(note...))
			}
		}
	})
}

func dimsOf(x tensor) []int { return x.operand.View.Shape }
