package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
)

func init() {
	register("SequenceConstruct", 11, sequenceConstruct)
	register("SequenceEmpty", 11, func(t *tracer, n *node) []value {
		return []value{sequenceOf(t.elementType(n.int("dtype", 1)), nil)}
	})
	register("SequenceLength", 11, func(t *tracer, n *node) []value {
		return []value{t.scalarInt(dtype.I64, int64(len(t.sequence(n))))}
	})
	register("SequenceAt", 11, func(t *tracer, n *node) []value {
		items := t.sequence(n)
		t.need(n, 1)
		return []value{items[t.position(n.input(1), len(items), len(items)-1)]}
	})
	register("SequenceInsert", 11, func(t *tracer, n *node) []value {
		items := t.sequence(n)
		t.need(n, 1)
		at := len(items)
		if n.input(2).present() {
			at = t.position(n.input(2), len(items), len(items))
		}
		return []value{sequenceOf(n.input(1).dtype(), slices.Insert(slices.Clone(items), at, n.input(1)))}
	})
	register("SequenceErase", 11, func(t *tracer, n *node) []value {
		items := t.sequence(n)
		at := len(items) - 1
		if n.input(1).present() {
			at = t.position(n.input(1), len(items), len(items)-1)
		}
		if at < 0 {
			t.fail("the sequence is empty")
		}
		return []value{sequenceOf(n.input(0).dtype(), slices.Delete(slices.Clone(items), at, at+1))}
	})
	register("ConcatFromSequence", 11, concatFromSequence)
	register("SplitToSequence", 11, splitToSequence)
	register("Optional", 15, func(t *tracer, n *node) []value {
		if !n.input(0).present() {
			return []value{optionalNone()}
		}
		return []value{optionalOf(n.input(0))}
	})
	register("OptionalHasElement", 15, func(t *tracer, n *node) []value {
		has := 0
		if _, ok := n.input(0).inner(); ok {
			has = 1
		}
		return []value{t.scalarInt(dtype.Bool, int64(has))}
	})
	register("OptionalGetElement", 15, func(t *tracer, n *node) []value {
		v, ok := n.input(0).inner()
		if !ok {
			t.fail("the optional is empty")
		}
		return []value{v}
	})
}

// sequence returns the elements of input 0.
func (t *tracer) sequence(n *node) []value {
	if !n.input(0).isSequence() {
		t.fail("input 0 is %v, want a sequence", n.input(0).kind)
	}
	return n.input(0).elems()
}

// position reads an index into a sequence of n elements and checks that it is in [-n, last].
func (t *tracer) position(v value, n, last int) int {
	at := t.hostInt(v)
	if at < -n || at > last {
		t.fail("position %d, want one in [%d,%d]", at, -n, last)
	}
	if at < 0 {
		at += n
	}
	return at
}

func sequenceConstruct(t *tracer, n *node) []value {
	t.need(n, 0)
	for i := range n.in {
		t.need(n, i)
		if n.input(i).dtype() != n.input(0).dtype() {
			t.fail("input %d is %v, want %v", i, n.input(i).dtype(), n.input(0).dtype())
		}
	}
	return []value{sequenceOf(n.input(0).dtype(), slices.Clone(n.in))}
}

func concatFromSequence(t *tracer, n *node) []value {
	items := slices.Clone(t.sequence(n))
	if len(items) == 0 {
		t.fail("the sequence is empty")
	}
	if !n.has("axis") {
		t.fail("axis is missing")
	}
	rank := items[0].rank()
	if n.int("new_axis", 0) == 0 {
		return []value{t.concat(t.axis(n.int("axis", 0), rank), items...)}
	}
	axis := t.axis(n.int("axis", 0), rank+1)
	for i, v := range items {
		items[i] = t.unsqueeze(v, axis)
	}
	return []value{t.concat(axis, items...)}
}

func splitToSequence(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	axis := t.axis(n.int("axis", 0), x.rank())
	d, by := x.shape()[axis], n.input(1)
	var sizes []int
	switch {
	case !by.present():
		t.scratch(nodeBytes, d)
		sizes = ones(d)
	case by.rank() == 0:
		each := t.hostInt(by)
		if each < 1 {
			t.fail("split is %d, want 1 or more", each)
		}
		each = min(each, max(d, 1))
		t.scratch(nodeBytes, (d+each-1)/each)
		sizes = evenly(d, each, (d+each-1)/each)
	default:
		t.scratch(nodeBytes, by.shape()...)
		sizes = t.hostInts(by)
	}
	parts := cut(t, x, axis, sizes)
	if !by.present() && n.int("keepdims", 1) == 0 {
		for i, p := range parts {
			parts[i] = t.squeeze(p, axis)
		}
	}
	return []value{sequenceOf(x.dtype(), parts)}
}
