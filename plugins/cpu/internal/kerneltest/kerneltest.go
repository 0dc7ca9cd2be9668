// Package kerneltest checks single kernels of the cpu backend, without a stream or a program. Only tests of packages that have a function
// Rules may import it. Each check runs a kernel on operands in every memory layout, on one thread and on several, with and without
// permission to overwrite operands, and compares the results with expected values from the test.
package kerneltest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Tensor is a tensor of the reference implementation. Bytes returns its elements, little endian, in row-major order.
type Tensor interface{ Bytes() []byte }

// Bench checks the kernels of a package against a reference implementation, whose tensors are of type T. Check, Expect and Fails report
// differences as errors of the test.
type Bench[T Tensor] struct {
	testing.TB
	rules  map[op.Code]kernel.Rule
	eval   func(n *op.Node, in []T) ([]T, error)
	decode func(d op.Desc, data []byte) (T, error)
	pools  []*par.Pool
}

// New returns a bench for kernels of rules. eval computes a node in the reference implementation, decode creates its tensors.
func New[T Tensor](t testing.TB, rules map[op.Code]kernel.Rule, eval func(*op.Node, []T) ([]T, error), decode func(op.Desc, []byte) (T, error)) *Bench[T] {
	b := &Bench[T]{TB: t, rules: rules, eval: eval, decode: decode}
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		t.Cleanup(pool.Close)
		b.pools = append(b.pools, pool)
	}
	return b
}

// Check compares the kernel of op c with the reference, within the tolerance of the op.
func (b *Bench[T]) Check(c op.Code, in []Operand, attrs ...op.Attr) {
	b.Helper()
	n := b.node(c, in, attrs)
	var tensors []T
	for _, o := range in {
		t, err := b.decode(o.Desc, o.Data)
		if err != nil {
			b.Fatal(err)
		}
		tensors = append(tensors, t)
	}
	outs, err := b.eval(&n, tensors)
	if err != nil {
		b.Fatalf("reference of %v: %v", &n, err)
	}
	var want []Operand
	for i, t := range outs {
		want = append(want, Operand{n.Outputs[i], t.Bytes()})
	}
	tolerance, terms := op.Lookup(c).Tolerance, 1
	if tolerance.PerTerm {
		terms = op.Terms(&n, descs(in))
	}
	b.compare(&n, in, want, func(d dtype.DType) closeness {
		rel, abs := tolerance.Bounds(d, terms)
		return closeness{rel, abs, tolerance.Exact}
	})
}

// Expect compares the kernel of c with given results, whose floats may differ by abs + rel·|want|.
func (b *Bench[T]) Expect(c op.Code, in, want []Operand, rel, abs float64, attrs ...op.Attr) {
	b.Helper()
	n := b.node(c, in, attrs)
	b.compare(&n, in, want, func(dtype.DType) closeness { return closeness{rel, abs, rel == 0 && abs == 0} })
}

// Fails checks that the kernel of op c returns an error that wraps target, and that it releases all memory.
func (b *Bench[T]) Fails(target error, c op.Code, in []Operand, attrs ...op.Attr) {
	b.Helper()
	n := b.node(c, in, attrs)
	for _, pool := range b.pools {
		r := b.run(&n, in, pool, layouts[0], 0)
		if !errors.Is(r.err, target) {
			b.Errorf("%v of %v: got error %v, want %v", &n, descs(in), r.err, target)
		}
	}
}

// Run returns the results of the kernel of c on contiguous operands and several threads.
func (b *Bench[T]) Run(c op.Code, in []Operand, attrs ...op.Attr) []Operand {
	b.Helper()
	n := b.node(c, in, attrs)
	r := b.run(&n, in, b.pools[len(b.pools)-1], layouts[0], 0)
	if r.err != nil {
		b.Fatalf("%v of %v: %v", &n, descs(in), r.err)
	}
	return r.outs
}

func (b *Bench[T]) node(c op.Code, in []Operand, attrs []op.Attr) op.Node {
	b.Helper()
	n, err := op.New(c, descs(in), attrs...)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// compare runs the kernel of n on operands in every layout. For contiguous operands, the results must have the same bits for each number of
// threads, with and without permission to overwrite the operands.
func (b *Bench[T]) compare(n *op.Node, in, want []Operand, within func(dtype.DType) closeness) {
	b.Helper()
	all := uint64(1)<<len(in) - 1
	var first []Operand
	for _, pool := range b.pools {
		for _, own := range []uint64{0, all} {
			outs := b.check(n, in, want, pool, layouts[0], own, within)
			if outs == nil {
				return
			}
			for i, got := range outs {
				if first != nil && !sameBits(first[i], got) {
					b.Errorf("%v of %v: output %d on %d threads with own %b differs from that on one thread", n, descs(in), i, pool.Threads(), own)
					return
				}
			}
			if first == nil {
				first = outs
			}
		}
	}
	for i, l := range layouts[1:] {
		if i > 0 && large(in) {
			break
		}
		if b.check(n, in, want, b.pools[i%len(b.pools)], l, all*uint64(i/2%2), within) == nil {
			return
		}
	}
}

// check runs the kernel of n once and returns its results, or nil if they are wrong.
func (b *Bench[T]) check(n *op.Node, in, want []Operand, pool *par.Pool, l layout, own uint64, within func(dtype.DType) closeness) []Operand {
	b.Helper()
	r := b.run(n, in, pool, l, own)
	err := r.err
	for i := 0; i < len(r.outs) && err == nil; i++ {
		if err = within(r.outs[i].Desc.DType).compare(want[i], r.outs[i]); err != nil {
			err = fmt.Errorf("output %d: %w", i, err)
		}
	}
	if err != nil {
		b.Errorf("%v of %v, layout %s, %d threads, own %b: %v", n, descs(in), l.name, pool.Threads(), own, err)
		return nil
	}
	return r.outs
}

// large reports whether operands are too large to be checked in every layout. Small tensors cover all edge cases.
func large(in []Operand) bool {
	n := 0
	for _, o := range in {
		n += len(o.Data)
	}
	return n > 1<<16
}

// result holds the outputs and the error of a kernel.
type result struct {
	outs []Operand
	err  error
}

// run computes n once. It checks that nothing was written beyond a tensor and that all memory was released. If own is zero, it also checks
// that operands are unchanged.
func (b *Bench[T]) run(n *op.Node, in []Operand, pool *par.Pool, l layout, own uint64) (r result) {
	b.Helper()
	rule, ok := b.rules[n.Op]
	if !ok || len(in) > 0 && !rule.Types.Has(in[0].Desc.DType) {
		b.Fatalf("no kernel of %v for %v", n, descs(in))
	}
	memory := mem.NewGuardedPool(1<<30, 1<<28, 128)
	env := &kernel.Env{Pool: pool, Account: memory.NewAccount()}
	b.fillPool(env, n)
	var arrays []kernel.Array
	for _, o := range in {
		arrays = append(arrays, l.place(b, env, o))
	}
	outs := make([]kernel.Array, len(n.Outputs))
	var c kernel.Call
	c.Begin(env, arrays, own, n.Outputs, outs)
	r.err = rule.Prepare(n, descs(in))(&c)
	c.End(r.err != nil)
	for i, a := range outs {
		if r.err == nil {
			r.outs = append(r.outs, Operand{n.Outputs[i], gather(a)})
			if !a.View.Shape.Equal(n.Outputs[i].Shape) {
				b.Errorf("%v of %v: output %d has shape %v", n, descs(in), i, a.View.Shape)
			}
			a.Buf.Release()
		}
	}
	for i, a := range arrays {
		if own == 0 && !bytes.Equal(gather(a), in[i].Data) {
			b.Errorf("%v of %v, layout %s: operand %d was written", n, descs(in), l.name, i)
		}
		a.Buf.Release()
	}
	if err := memory.CheckGuards(); err != nil {
		b.Errorf("%v of %v, layout %s: %v", n, descs(in), l.name, err)
	}
	if left := env.Account.InUse(); left != 0 {
		b.Errorf("%v of %v, layout %s: %d bytes are still in use", n, descs(in), l.name, left)
	}
	return r
}

// fillPool puts nonzero memory of the sizes of the outputs into the pool, so that compare finds elements that a kernel does not write.
func (b *Bench[T]) fillPool(env *kernel.Env, n *op.Node) {
	for _, d := range n.Outputs {
		buf, err := env.Account.New(d.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		fill(buf.Bytes())
		buf.Release()
	}
}

func fill(data []byte) {
	for i := range data {
		data[i] = 0xff
	}
}

// closeness bounds the difference of floats. Exact comparison distinguishes 0 from -0. Integers are always compared exactly.
type closeness struct {
	rel, abs float64
	exact    bool
}

func (c closeness) compare(want, got Operand) error {
	if !want.Desc.SameType(got.Desc) {
		return fmt.Errorf("got %v, want %v", got.Desc, want.Desc)
	}
	for i := range want.Desc.Shape.Size() {
		if want.Desc.DType.IsFloat() {
			if w, g := want.Float(i), got.Float(i); !c.near(w, g) {
				return fmt.Errorf("element %d is %v, want %v within %.3g·|want| + %.3g", i, g, w, c.rel, c.abs)
			}
		} else if w, g := want.Int(i), got.Int(i); w != g {
			return fmt.Errorf("element %d is %d, want %d", i, g, w)
		}
	}
	return nil
}

func (c closeness) near(want, got float64) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case c.exact:
		return math.Float64bits(want) == math.Float64bits(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return want == got
	}
	return math.Abs(got-want) <= c.rel*math.Abs(want)+c.abs
}

// sameBits reports whether two results are equal bit by bit. All NaN count as equal.
func sameBits(a, b Operand) bool {
	return bytes.Equal(a.Data, b.Data) || closeness{exact: true}.compare(a, b) == nil
}
