package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Timing is the speed of one op on one type.
type Timing struct {
	Op     string
	Type   dtype.DType
	Node   string // its operands and attributes
	Median time.Duration
	Bytes  int64 // of operands and results
	Flops  int64 // multiplications and additions of a contraction; 0 for ops that move more than they compute
	Err    error // why there is no time
}

// Times of Perf for one op.
const (
	perfTime = 150 * time.Millisecond
	perfRuns = 5
)

// Perf times the ops that the backend claims on f32, or on the first type of their row: each on one node, derived from the
// row's primary variant by making it greater. The median is of repeated submissions of a few nodes and one wait for them,
// divided by their number. o.Run selects by "op/type".
func Perf(ctx context.Context, open func() (core.Backend, error), o Options, tell func(Timing)) error {
	pattern, err := regexp.Compile(o.Run)
	if err != nil {
		return fmt.Errorf("conformance: pattern of ops: %w", err)
	}
	s := &session{options: o, open: open, seed: max(1, o.Seed), report: &Report{}}
	if err := s.ensure(ctx); err != nil {
		return err
	}
	defer s.close()
	for _, c := range op.All() {
		row := op.Lookup(c)
		caps := s.device.Capabilities()
		claim, ok := caps.Ops[row.Name]
		if !ok || !o.Profile.valid() {
			continue
		}
		types := firstTypes(row) & caps.Types & allowed(claim.Operands, 0)
		if len(row.Operands) == 0 {
			types &= allowed(claim.Results, 0)
		}
		d := dtype.F32
		if !types.Has(d) {
			if l := types.List(); len(l) > 0 {
				d = l[0]
			} else {
				continue
			}
		}
		if !pattern.MatchString(row.Name + "/" + d.String()) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		sp, ok := perfSpec(c, d)
		if !ok {
			continue
		}
		t := Timing{Op: row.Name, Type: d}
		if err := s.ensure(ctx); err != nil {
			return err
		}
		err := s.attempt(ctx, contract("perf/"+row.Name, func(ctx context.Context, q *queue) error { return q.time(ctx, sp, &t) }))
		var sk skip
		if errors.As(err, &sk) {
			continue
		}
		t.Err = err
		tell(t)
	}
	return nil
}

// perfSpec makes a node that takes long enough to be timed.
func perfSpec(c op.Code, d dtype.DType) (spec, bool) {
	p, ok := planOf(c)
	if !ok {
		return spec{}, false
	}
	vs := p.variants
	if p.typed != nil {
		vs = append(slices.Clone(vs), p.typed(d, dtype.Any)...)
	}
	x, ok := primary(slices.DeleteFunc(slices.Clone(vs), func(x variant) bool { return x.types != 0 && !x.types.Has(d) }))
	if big, has := perfVariants[c]; has {
		x, ok = big, true
	}
	if !ok {
		return spec{}, false
	}
	row := op.Lookup(c)
	s := spec{op: c, variant: x}
	for i, t := range assignments(row, d, dtype.Any)[0][:len(x.in)] {
		s.in = append(s.in, op.Desc{DType: t, Shape: x.in[i]})
	}
	if _, has := perfVariants[c]; !has {
		s = s.grown()
	}
	return s, true
}

// perfVariants are the nodes of ops whose shapes do not grow by themselves.
var perfVariants = map[op.Code]variant{
	op.MatMul: v("perf", shapes(dims(512, 512), dims(512, 512))), op.Linear: v("perf", shapes(dims(256, 512), dims(512, 512), dims(512))),
	op.Conv:         v("perf", shapes(dims(1, 64, 56, 56), dims(64, 64, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 1)...),
	op.WindowReduce: v("perf", shapes(dims(1, 64, 112, 112)), sliding(l(3, 3), l(2, 2), l(1, 1), l(1, 1), l(1, 1), op.Str("reduce", "max"))...),
	op.AvgPool:      v("perf", shapes(dims(1, 64, 112, 112)), pool(l(3, 3), l(2, 2), l(1, 1), l(1, 1), l(0, 0), l(1, 1))...),
}

// grown doubles the last axis that can be, in the operands and in attributes that name its length, while the node stays
// valid and its tensors small.
func (s spec) grown() spec {
	const enough = 4 << 20 // bytes
	for {
		if total(s.in) >= enough {
			return s
		}
		next, grew := s, false
		for axis := 7; axis >= 0 && !grew; axis-- {
			for _, attrs := range []bool{false, true} {
				if next = s.doubled(axis, attrs); len(next.in) > 0 {
					if n, err := next.node(next.in); err == nil && total(n.Outputs) <= 4*enough && total(next.in) > total(s.in) {
						grew = true
						break
					}
				}
			}
		}
		if !grew {
			return s
		}
		s = next
	}
}

func total(ds []op.Desc) int {
	n := 0
	for _, d := range ds {
		n += d.Bytes()
	}
	return n
}

// doubled doubles the length of one axis of the first operand, and every dimension of that length in the others.
func (s spec) doubled(axis int, attrs bool) spec {
	if len(s.in) == 0 || axis >= len(s.in[0].Shape) || s.in[0].Shape[axis] < 2 {
		return spec{}
	}
	old := s.in[0].Shape[axis]
	in := slices.Clone(s.in)
	for i := range in {
		shp := in[i].Shape.Clone()
		for a := range shp {
			if shp[a] == old && (i > 0 || a == axis) {
				shp[a] *= 2
			}
		}
		in[i].Shape = shp
	}
	s.in = in
	if attrs {
		s.variant.attrs = slices.Clone(s.variant.attrs)
		for i, a := range s.variant.attrs {
			if a.Value.Kind() == op.KindInts {
				l := slices.Clone(a.Value.Ints())
				for k := range l {
					if l[k] == old {
						l[k] *= 2
					}
				}
				s.variant.attrs[i] = op.Ints(a.Name, l...)
			}
		}
	}
	return s
}

// time fills t.
func (q *queue) time(ctx context.Context, s spec, t *Timing) error {
	r := q.random("perf/" + t.Op)
	var in []ref.Tensor
	for i := range s.in {
		in = append(in, s.draw(r, i))
	}
	descs, err := q.putAll(ctx, in)
	if err != nil {
		return err
	}
	n, err := s.supported(q, descs)
	if err != nil {
		return err
	}
	t.Bytes, t.Flops = int64(total(descs)+total(n.Outputs)), op.Flops(&n, descs)
	t.Node = n.String()
	round := func(count int) (time.Duration, error) {
		nodes := make([]op.Node, count)
		var outs []op.TensorID
		for i := range nodes {
			nodes[i] = n
			nodes[i].Outputs = slices.Clone(n.Outputs)
			for k := range nodes[i].Outputs {
				nodes[i].Outputs[k].ID = q.id()
				outs = append(outs, nodes[i].Outputs[k].ID)
			}
		}
		start := time.Now()
		if err := q.Submit(nodes, nil); err != nil {
			return 0, err
		}
		if err := q.sync(ctx); err != nil {
			return 0, err
		}
		took := time.Since(start)
		return took, q.free(outs)
	}
	one, err := round(1)
	if err != nil {
		return err
	}
	if one, err = round(1); err != nil { // warm
		return err
	}
	count := int(max(1, min(64, perfTime/perfRuns/max(one, time.Microsecond))))
	var times []time.Duration
	for range perfRuns {
		took, err := round(count)
		if err != nil {
			return err
		}
		times = append(times, took/time.Duration(count))
	}
	slices.Sort(times)
	t.Median = max(1, times[len(times)/2])
	return nil
}
