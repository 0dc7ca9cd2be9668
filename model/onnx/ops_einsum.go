package onnx

import (
	"slices"
	"strings"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() { register("Einsum", 12, einsumNode) }

// einsumNode contracts the operands from left to right, two at a time; each contraction is one batched matrix product.
func einsumNode(t *tracer, n *node) []value {
	terms, out := t.equation(n)
	e := einsum{calc: calc{t}, size: map[rune]int{}}
	operands := make([]labelled, len(terms))
	for i, labels := range terms {
		operands[i] = e.diagonal(labelled{n.input(i), labels})
		for k, l := range operands[i].labels {
			d := operands[i].v.shape()[k]
			if old, ok := e.size[l]; ok && old != d && old != 1 && d != 1 {
				t.fail("index %q is %d and %d long", name(l), old, d)
			} else if !ok || old == 1 {
				e.size[l] = d
			}
		}
	}
	acc := operands[0]
	for i, next := range operands[1:] {
		later := slices.Clone(out)
		for _, o := range operands[i+2:] {
			later = append(later, o.labels...)
		}
		acc = e.contract(e.sumOut(acc, append(slices.Clone(later), next.labels...)), e.sumOut(next, append(slices.Clone(later), acc.labels...)), later)
	}
	acc = e.stretch(e.sumOut(acc, out), out)
	return []value{e.order(acc, out)}
}

// labelled is a tensor with one label per dimension. The dimensions of an ellipsis are labelled with negative runes; -1 is the innermost.
type labelled struct {
	v      value
	labels []rune
}

type einsum struct {
	calc
	size map[rune]int
}

// name returns a label for errors.
func name(l rune) string {
	if l < 0 {
		return "..."
	}
	return string(l)
}

// equation returns the labels of each operand and of the result.
func (t *tracer) equation(n *node) (terms [][]rune, out []rune) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(n.str("equation", ""), " ", ""), "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(n.in) {
		t.fail("equation %q has %d terms, want %d", n.str("equation", ""), len(parts), len(n.in))
	}
	widest := 0
	for i, p := range parts {
		t.need(n, i)
		dots := n.input(i).rank() - len([]rune(strings.Replace(p, "...", "", 1)))
		terms = append(terms, t.labels(p, dots))
		if strings.Contains(p, "...") {
			widest = max(widest, dots)
		} else if dots != 0 {
			t.fail("term %q for an operand of rank %d", p, n.input(i).rank())
		}
	}
	if explicit {
		out = t.labels(right, widest)
	} else {
		out = t.labels("...", widest)
		var single []rune
		all := slices.Concat(terms...)
		for _, l := range all {
			if l >= 0 && count(all, l) == 1 {
				single = append(single, l)
			}
		}
		slices.Sort(single)
		out = append(out, single...)
	}
	known := slices.Concat(terms...)
	for i, l := range out {
		if !slices.Contains(known, l) || slices.Contains(out[:i], l) {
			t.fail("index %q of the result, want it once there and among the operands", name(l))
		}
	}
	return terms, out
}

func count(all []rune, l rune) (k int) {
	for _, r := range all {
		if r == l {
			k++
		}
	}
	return k
}

func (t *tracer) labels(term string, dots int) []rune {
	before, after, has := strings.Cut(term, "...")
	l := []rune(before)
	if has {
		if dots < 0 {
			t.fail("term %q has more indices than its operand has dimensions", term)
		}
		for i := range dots {
			l = append(l, rune(i-dots))
		}
		l = append(l, []rune(after)...)
	}
	return l
}

// diagonal merges dimensions with the same label by taking the diagonal.
func (e einsum) diagonal(x labelled) labelled {
	for i := 0; i < len(x.labels); i++ {
		k := i + 1 + slices.Index(x.labels[i+1:], x.labels[i])
		if k == i {
			continue
		}
		s := x.v.shape()
		d := s[i]
		if s[k] != d {
			e.fail("index %q is %d and %d long in one operand", name(x.labels[i]), d, s[k])
		}
		rest := slices.Delete(slices.Delete(span(0, len(s)), k, k+1), i, i+1)
		v := e.permute(x.v, append(slices.Clone(rest), i, k)...)
		var dims []int
		var labels []rune
		for _, r := range rest {
			dims, labels = append(dims, s[r]), append(labels, x.labels[r])
		}
		v = e.reshape(v, append(slices.Clone(dims), d*d)...)
		start, step := make([]int, len(dims)+1), ones(len(dims)+1)
		step[len(dims)] = d + 1
		x = labelled{e.slice(v, start, append(dims, d), step), append(labels, x.labels[i])}
		i = -1
	}
	return x
}

// sumOut sums over the labels that no later step needs.
func (e einsum) sumOut(x labelled, needed []rune) labelled {
	var axes []int
	var labels []rune
	for i, l := range x.labels {
		if slices.Contains(needed, l) {
			labels = append(labels, l)
		} else {
			axes = append(axes, i)
		}
	}
	if axes == nil {
		return x
	}
	return labelled{e.calc.sum(x.v, false, axes...), labels}
}

// stretch expands dimensions of length 1 of the given labels to their full length.
func (e einsum) stretch(x labelled, labels []rune) labelled {
	to := x.v.shape().Clone()
	for i, l := range x.labels {
		if slices.Contains(labels, l) {
			to[i] = e.size[l]
		}
	}
	return labelled{e.expand(x.v, to), x.labels}
}

// order permutes x into the order of labels, which are all in x.
func (e einsum) order(x labelled, labels []rune) value {
	axes := make([]int, len(labels))
	for i, l := range labels {
		axes[i] = slices.Index(x.labels, l)
	}
	return e.permute(x.v, axes...)
}

func (e einsum) contract(a, b labelled, later []rune) labelled {
	var batch, joined, left, right []rune
	for _, l := range a.labels {
		switch {
		case !slices.Contains(b.labels, l):
			left = append(left, l)
		case slices.Contains(later, l):
			batch = append(batch, l)
		default:
			joined = append(joined, l)
		}
	}
	for _, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			right = append(right, l)
		}
	}
	labels := slices.Concat(batch, left, right)
	if joined == nil { // an outer product
		x, y := e.order(a, slices.Concat(batch, left)), e.order(b, slices.Concat(batch, right))
		x = e.reshape(x, append(x.shape().Clone(), ones(len(right))...)...)
		y = e.reshape(y, slices.Concat(y.shape()[:len(batch)], ones(len(left)), y.shape()[len(batch):])...)
		return labelled{e.mul(x, y), labels}
	}
	shared := slices.Concat(batch, joined)
	x, y := e.stretch(a, shared), e.stretch(b, shared)
	size := func(z labelled, of []rune) (s shape.Shape) {
		for _, l := range of {
			s = append(s, z.v.shape()[slices.Index(z.labels, l)])
		}
		return s
	}
	nb, nj := size(x, batch), size(x, joined)
	nl, nr := size(x, left), size(y, right)
	p := e.reshape(e.order(x, slices.Concat(batch, left, joined)), nb.Size(), nl.Size(), nj.Size())
	q := e.reshape(e.order(y, slices.Concat(batch, right, joined)), nb.Size(), nr.Size(), nj.Size())
	r := e.do(op.MatMul, []value{p, q}, op.Flag("transpose_a", false), op.Flag("transpose_b", true))
	return labelled{e.reshape(r, slices.Concat(nb, nl, nr)...), labels}
}
