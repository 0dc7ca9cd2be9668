package dialect

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// lanes holds the lengths of vectors, by number of the array: arrays are declared as arrays of vectors because hardware moves a vector in
// one access. Arrays without an entry consist of scalars.
type lanes struct{ buffers, shared map[int32]int }

// wgslLanes returns the lanes of the arrays of a kernel: the number of elements of the widest access to an array, at most 4. Arrays of
// atomics, and of elements that do not fill a word, have no vectors. The vectors of an array are not longer than the shortest store to it,
// unless components says that a store to a component of a vector does not write the other components: compilers of some languages read the
// vector, change one component and write the whole vector.
func wgslLanes(p *printer, components bool) lanes {
	l := lanes{map[int32]int{}, map[int32]int{}}
	least := map[bool]map[int32]int{false: {}, true: {}} // least width of stores, by whether the array is shared, then by array
	note := func(shared bool, ref, width int32, store bool) {
		w := min(max(int(width), 1), 4)
		all := l.buffers
		if shared {
			all = l.shared
		}
		all[ref] = max(all[ref], w)
		if n, ok := least[shared][ref]; store && (!ok || w < n) {
			least[shared][ref] = w
		}
	}
	var walk func(list []ir.Inst)
	walk = func(list []ir.Inst) {
		for i := range list {
			switch in := &list[i]; in.Op {
			case ir.Load, ir.Store:
				note(false, in.Ref, in.Width, in.Op == ir.Store)
			case ir.SharedLoad, ir.SharedStore:
				note(true, in.Ref, in.Width, in.Op == ir.SharedStore)
			case ir.AsyncCopy:
				note(true, in.Ref, in.Width, true)
				note(false, in.Ref2, in.Width, false)
			}
			walk(list[i].Head)
			walk(list[i].Body)
			walk(list[i].Else)
		}
	}
	walk(p.k.Body)
	keep := func(all map[int32]int, shared bool, words func(ref int32) bool) {
		for ref, n := range all {
			if w, ok := least[shared][ref]; ok && !components {
				n = min(n, w)
			}
			if all[ref] = n; n == 1 || !words(ref) {
				delete(all, ref)
			}
		}
	}
	keep(l.buffers, false, func(ref int32) bool { return p.k.Params[ref].Type.Size() == 4 && !p.atomicBuffers[ref] })
	keep(l.shared, true, func(ref int32) bool {
		x := p.k.Shared[ref]
		return x.Type.Size() == 4 && !p.atomicShared[ref] && x.Len%l.shared[ref] == 0
	})
	return l
}

// wgslArray returns the element type with which an array is declared.
func wgslArray(word string, lanes int) string {
	if lanes < 2 {
		return word
	}
	return fmt.Sprintf("vec%d<%s>", lanes, word)
}

// wgslVector returns the expression of the vector that contains element k of an access. The access moves whole vectors of an array and begins
// at element v.
func (p *printer) wgslVector(array string, v ir.Value, lanes, k int) string {
	at := p.quotients.spell(v, lanes)
	if k >= lanes {
		at += fmt.Sprintf(" + %di", k/lanes)
	}
	return array + "[" + at + "]"
}

// wgslLane returns the expression of element k of an access to fewer elements than a vector has.
func wgslLane(array, i string, lanes, k int) string {
	return fmt.Sprintf("%s[(u32(%s) >> %du)][(%s) & %du]", array, i, bits.TrailingZeros(uint(lanes)), plus("u32("+i+")", k), lanes-1)
}

// wgslLoadLanes prints a load from an array of vectors.
func (p *printer) wgslLoadLanes(in *ir.Inst, array string, lanes int) {
	i := p.arg(in, 0)
	if len(in.Out) < lanes {
		for k, out := range in.Out {
			p.define(out, wgslLane(array, i, lanes, k))
		}
		return
	}
	for k, out := range in.Out {
		if k%lanes == 0 {
			p.line("let w%d = %s;", out, p.wgslVector(array, in.Args[0], lanes, k))
		}
		p.define(out, fmt.Sprintf("w%d.%c", in.Out[k-k%lanes], "xyzw"[k%lanes]))
	}
}

// wgslStoreLanes prints a store to an array of vectors.
func (p *printer) wgslStoreLanes(in *ir.Inst, array string, lanes int) {
	i, values := p.arg(in, 0), in.Args[1:]
	if len(values) < lanes {
		for k, v := range values {
			p.line("%s = %s;", wgslLane(array, i, lanes, k), p.spelled[v])
		}
		return
	}
	for k := 0; k < len(values); k += lanes {
		var list []string
		for _, v := range values[k : k+lanes] {
			list = append(list, p.spelled[v])
		}
		p.line("%s = %s(%s);", p.wgslVector(array, in.Args[0], lanes, k), wgslArray(p.typ(in.Type), lanes), strings.Join(list, ", "))
	}
}
