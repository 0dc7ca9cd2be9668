package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// checkDocument checks the capability document of a backend of coreLevel: types, limits, and every op that it claims. It runs no node.
func checkDocument(c *core.Capabilities) error {
	if err := checkLevel(c, coreLevel); err != nil {
		return err
	}
	return checkSense(c)
}

// checkSense checks that a document is consistent, regardless of the levels that it meets.
func checkSense(c *core.Capabilities) error {
	if wrong := c.Emulated &^ c.Types; wrong != 0 {
		return fmt.Errorf("types %v are declared as emulated, but are not types of the device", wrong)
	}
	if wrong := c.Flushes &^ (c.Types & dtype.Floats); wrong != 0 {
		return fmt.Errorf("types %v are declared to flush subnormal numbers, but are not float types of the device", wrong)
	}
	if err := checkLimits(c.Limits); err != nil {
		return err
	}
	for name, claim := range c.Ops {
		code, ok := op.ByName(name)
		if !ok {
			return fmt.Errorf("op %s is not in the table", name)
		}
		if err := checkClaim(op.Lookup(code), claim); err != nil {
			return fmt.Errorf("op %s: %w", name, err)
		}
	}
	return nil
}

func checkLimits(l core.Limits) error {
	if l.Rank < 0 || l.Bytes < 0 || l.Elements < 0 || l.Buffers < 0 {
		return fmt.Errorf("limits are negative: %+v", l)
	}
	return nil
}

// checkClaim checks a claim against the op's row: the version must be the same, limits must not be negative, and for each operand the claim
// must contain a type that the row accepts.
func checkClaim(row *op.Row, claim core.OpCapability) error {
	if claim.Version != row.Version {
		return fmt.Errorf("version is %d, want %d", claim.Version, row.Version)
	}
	if err := checkLimits(claim.Limits); err != nil {
		return err
	}
	switch n := len(row.Operands); {
	case n == 0 && len(claim.Operands) > 0:
		return fmt.Errorf("the claim lists types of operands, but the op has no operands")
	case n > 0 && len(claim.Operands) == 0:
		return fmt.Errorf("the claim lists no types of operands, but the number of operands is %d", n)
	}
	for i, set := range claim.Operands {
		o := operand(row, i)
		if set&o.Types == 0 {
			return fmt.Errorf("operand %d is claimed for %v, but the row accepts %v", i, set, o.Types)
		}
	}
	return nil
}

// createdTypes are the result types of ops without operands.
var createdTypes = map[string]dtype.Set{
	op.Full.String(): dtype.Any, op.Iota.String(): dtype.Numbers, op.RandomBits.String(): dtype.SetOf(dtype.I32, dtype.U32),
}

// checkPrimitive checks that a primitive is claimed for every required type that its row allows.
func checkPrimitive(c *core.Capabilities, row *op.Row, required dtype.Set) error {
	claim, ok := c.Ops[row.Name]
	if !ok {
		return fmt.Errorf("primitive %s is not claimed", row.Name)
	}
	for i, o := range row.Operands {
		if o.SameAs > 0 { // it has the type of that operand
			o = row.Operands[o.SameAs-1]
		}
		need := o.Types & required
		if missing := need &^ allowed(claim.Operands, i); missing != 0 {
			return fmt.Errorf("primitive %s is not claimed for %v as operand %d", row.Name, missing, i)
		}
	}
	if len(row.Operands) == 0 {
		if missing := firstTypes(row) & required &^ allowed(claim.Results, 0); missing != 0 {
			return fmt.Errorf("primitive %s is not claimed for results of %v", row.Name, missing)
		}
	}
	return nil
}

// allowed returns the types that a claim allows for operand or result i. The last set applies to all further ones; without sets, any type is
// allowed.
func allowed(sets []dtype.Set, i int) dtype.Set {
	if len(sets) == 0 {
		return dtype.Any | dtype.Smalls
	}
	return sets[min(i, len(sets)-1)]
}

// documentCases check, for every op, that the document and the device agree. The cases of the op run nodes that the document allows; these
// cases run nodes that it does not allow, and look for claims that no node can satisfy.
func documentCases() []testCase {
	cases := []testCase{contract("claims/met", func(_ context.Context, q *queue) error { return claimsAreMet(q.dev.Capabilities()) })}
	for _, c := range op.All() {
		if _, ok := plans[c]; !ok {
			continue
		}
		cases = append(cases, contract("document/"+c.String(), func(ctx context.Context, q *queue) error { return deniedNodes(ctx, q, c) }))
	}
	return cases
}

// everySpec yields the plain nodes of an op, in all types.
func everySpec(c op.Code, yield func(s spec) bool) {
	row, p := op.Lookup(c), plans[c]
	for _, first := range firstTypes(row).List() {
		vs := p.variants
		if p.typed != nil {
			vs = append(slices.Clone(vs), p.typed(first, dtype.Any)...)
		}
		for _, x := range vs {
			if x.types != 0 && !x.types.Has(first) || x.grid {
				continue
			}
			for _, types := range assignments(row, first, dtype.Any) {
				s := spec{op: c, variant: x, special: p.special}
				for i, t := range types[:len(x.in)] {
					s.in = append(s.in, op.Desc{DType: t, Shape: x.in[i]})
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// claimsAreMet checks that the document allows some node of every op that it claims.
func claimsAreMet(caps *core.Capabilities) error {
	for _, c := range op.All() {
		claim, ok := caps.Ops[c.String()]
		if _, planned := plans[c]; !ok || !planned {
			continue
		}
		met := false
		everySpec(c, func(s spec) bool {
			n, err := s.node(s.in)
			met = err == nil && caps.Check(&n, s.in) == nil
			return !met
		})
		if !met {
			return fmt.Errorf("%v is claimed, but the document allows no node of it: %+v", c, claim)
		}
	}
	return nil
}

// maxDenied is the greatest number of nodes per op that are tried although the document does not allow them.
const maxDenied = 6

// deniedNodes checks nodes that the document does not allow. Either Submit or a read of the results fails with ErrUnsupported, or the
// results are correct. In any case the stream stays usable.
func deniedNodes(ctx context.Context, q *queue, c op.Code) error {
	caps := q.dev.Capabilities()
	var denied []spec
	firsts := map[string]bool{}
	everySpec(c, func(s spec) bool {
		n, err := s.node(s.in)
		if err != nil || typesOf(&n, s.in)&^caps.Types != 0 || !written(caps, s.in) || caps.Check(&n, s.in) == nil || total(s.in)+total(n.Outputs) > 1<<16 {
			return true
		}
		types := fmt.Sprint(typesOf(&n, s.in))
		if !firsts[types] {
			firsts[types] = true
			denied = append(denied, s)
		}
		return len(denied) < maxDenied
	})
	if len(denied) == 0 {
		return moot{skip{"the document allows all that the op takes"}}
	}
	for _, s := range denied {
		if err := q.denied(ctx, s); err != nil {
			return err
		}
	}
	return q.stillGood(ctx)
}

// written reports whether the device accepts tensors of the ranks of ds.
func written(caps *core.Capabilities, ds []op.Desc) bool {
	for _, d := range ds {
		if caps.Limits.Rank > 0 && len(d.Shape) > caps.Limits.Rank {
			return false
		}
	}
	return true
}

// evaluated writes in, creates the node on it, and evaluates the node with the reference.
func (s spec) evaluated(ctx context.Context, q *queue, in []ref.Tensor) (descs []op.Desc, n op.Node, want []ref.Tensor, err error) {
	if descs, err = q.putAll(ctx, in); err != nil {
		return nil, n, nil, err
	}
	if n, err = s.node(descs); err != nil {
		return nil, n, nil, err
	}
	if want, err = ref.Eval(&n, in); err != nil {
		err = fmt.Errorf("the suite made a faulty case: %w", err)
	}
	return descs, n, want, err
}

func (q *queue) denied(ctx context.Context, s spec) error {
	in := s.inputs(q.random("denied/"+s.op.String()), plain)
	_, n, want, err := s.evaluated(ctx, q, in)
	if err != nil {
		return err
	}
	outs, err := q.submit(n)
	if err == nil {
		err = q.same(ctx, &n, in, outs, want)
		if e := q.sync(ctx); (e == nil) != (err == nil) {
			err = fmt.Errorf("read and event disagree: %v, %v", err, e)
		}
	}
	if err != nil && !errors.Is(err, core.ErrUnsupported) {
		return fmt.Errorf("%v on %v, which the document does not allow, is neither refused nor computed correctly: %w", s.op, descsOf(in), err)
	}
	return nil
}
