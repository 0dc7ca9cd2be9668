package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// testCase is one case. run has a separate stream; if the case does not apply, it returns a skip error with the reason.
type testCase struct {
	id  string
	run func(ctx context.Context, q *queue) error
	// op is the op under test; NoOp for cases of the contract.
	op op.Code
	// types contains every element type that the case needs.
	types dtype.Set
	// member lists the profiles that the case belongs to. The method memberships computes it.
	member []Profile
	// spec and body are set for cases that can be shrunk. A call of body with spec does the same as run.
	spec *spec
	body body
	// training: the case belongs to the profile of that name.
	training bool
	// storage: the case belongs to the profile of that name, whichever op it tests.
	storage bool
	// level, if set, is the only profile that the case belongs to: the case checks a requirement of only that profile.
	level Profile
	// redraws: the body draws values for the spec's shapes itself and ignores the values of the spec.
	redraws bool
	// fresh: the seed determines structure and shapes, not only values.
	fresh bool
	// large: the case takes as long as about a hundred others, so a sample contains fewer large cases.
	large bool
	// checks, if set, is the number of checks in the case. The case has the time limit of that many cases.
	checks int
	// rule says what the case checks; set for cases of the contract.
	rule string
}

// body runs a case of a spec. id seeds the values that it draws.
type body func(ctx context.Context, q *queue, s spec, id string) error

// testCase returns a case of a spec.
func (s spec) testCase(id string, b body) testCase {
	c := testCase{id: id, op: s.op, spec: &s, body: b, run: func(ctx context.Context, q *queue) error { return b(ctx, q, s, id) }}
	for _, d := range s.in {
		c.types |= dtype.SetOf(d.DType)
	}
	if n, err := s.node(s.in); err == nil {
		c.types |= typesOf(&n, nil)
	}
	return c
}

// drawn reports whether a case depends on its seed.
func (c testCase) drawn() bool { return c.fresh || c.spec != nil && c.spec.fixed == nil }

// contract returns a case that tests no particular op.
func contract(id string, run func(ctx context.Context, q *queue) error) testCase {
	return testCase{id: id, run: run}
}

// ruled returns a case of the contract with its rule.
func ruled(id, rule string, run func(ctx context.Context, q *queue) error) testCase {
	return testCase{id: id, rule: rule, run: run}
}

// allCases is the suite, in the order of the op table. It is the same for every backend: a case that a backend does not support
// is skipped when it runs.
var allCases = sync.OnceValue(generate)

func generate() []testCase {
	cases := append(claimCases(), levelCases()...)
	for _, c := range op.All() {
		row := op.Lookup(c)
		p, ok := planOf(c)
		if !ok {
			continue // custom ops have no plan
		}
		for _, first := range firstTypes(row).List() {
			cases = append(cases, opCases(c, p, first)...)
		}
	}
	cases = append(cases, emptyIndexCases()...)
	cases = append(cases, zeroTieCases()...)
	cases = append(cases, streamCases()...)
	cases = append(cases, lifecycleCases()...)
	for _, more := range []func() []testCase{ownershipCases, eventCases, donationCases, ticketCases, blameCases, refusedCases, wordCases, extensionCases, profilingCases, hostMemoryCases,
		peerCases, collectiveCases, protocolCases, freshCases} {
		cases = append(cases, more()...)
	}
	for i := range cases {
		cases[i].member = cases[i].memberships()
	}
	return cases
}

// firstTypes returns the types of the first operand, or of the result of a creation op.
func firstTypes(row *op.Row) dtype.Set {
	if len(row.Operands) > 0 {
		return row.Operands[0].Types
	}
	if t, ok := createdTypes[row.Name]; ok {
		return t
	}
	return dtype.Any // the plan of the op excludes types
}

// spec describes a node to test: its op, operands and attributes, and the values of the operands if they are fixed.
type spec struct {
	op      op.Code
	in      []op.Desc
	variant variant
	special specialness
	fixed   []ref.Tensor // the values of the operands; nil: they are drawn
}

// opCases returns all cases of an op for one type of its first operand.
func opCases(c op.Code, p plan, first dtype.DType) []testCase {
	row := op.Lookup(c)
	vs := p.variants
	if p.typed != nil {
		vs = append(vs[:len(vs):len(vs)], p.typed(first, dtype.Any)...)
	}
	main, hasMain := primary(vs)
	vs = append(vs[:len(vs):len(vs)], largeVariants[c]...)
	var cases []testCase
	for _, x := range vs {
		if x.types != 0 && !x.types.Has(first) {
			continue
		}
		isMain := hasMain && x.name == main.name
		usual := assignments(row, first, dtype.Any)[0]
		for k, types := range assignments(row, first, dtype.Any) {
			if k > 0 && !isMain && !x.grid {
				break // only the primary variant tests other types of further operands
			}
			if k > 0 && slices.Equal(types[:len(x.in)], usual[:len(x.in)]) {
				continue // the variant omits the operand that has the other type
			}
			s := spec{op: c, variant: x, special: p.special}
			id := row.Name + "/"
			for i, t := range types[:len(x.in)] {
				if i == 0 || k > 0 {
					id += t.String() + "-"
				}
				s.in = append(s.in, op.Desc{DType: t, Shape: x.in[i]})
			}
			if len(x.in) == 0 {
				id += first.String() + "-"
			}
			id = id[:len(id)-1] + "/" + x.name
			if x.large {
				cases = append(cases, s.largeCases(id)...)
				continue
			}
			if x.grid {
				s.gridded()
				cases = append(cases, s.testCase(id, values(plain)))
				cases = append(cases, s.decomposed(id)...)
				continue
			}
			cases = append(cases, s.valueCase(id, plain))
			cases = append(cases, s.decomposed(id)...)
			cases = append(cases, s.gradients(id, isMain && k == 0)...)
			if !isMain || k > 0 {
				continue
			}
			if p.special != noSpecial {
				cases = append(cases, s.valueCase(id, special))
				if first.IsFloat() {
					cases = append(cases, s.valueCase(id, withNaN))
				}
			}
			cases = append(cases, s.layouts(id)...)
			cases = append(cases, s.program(id)...)
			cases = append(cases, s.hygiene(id)...)
			cases = append(cases, s.outside(id)...)
		}
	}
	return cases
}

// assignments returns lists of types for all operands, given the type of the first. The first list has a usual type, such as f32, for each
// operand whose type is independent of the first operand's. Each further list replaces the type of one such operand by another type in types.
func assignments(row *op.Row, first dtype.DType, types dtype.Set) [][]dtype.DType {
	const most = 8 // greatest number of variadic operands in a variant
	usual := make([]dtype.DType, max(most, len(row.Operands)))
	choose := func(out []dtype.DType, at int, to dtype.DType) []dtype.DType {
		l := append([]dtype.DType(nil), out...)
		for i := range l {
			o := operand(row, i)
			switch {
			case i == at || i == 0 && at < 0:
				l[i] = to
			case o.SameAs > 0:
				l[i] = l[o.SameAs-1]
			case o.Variadic:
				l[i] = l[0]
			case l[i] == dtype.Invalid:
				l[i] = preferred(o.Types & types)
			}
		}
		return l
	}
	if len(row.Operands) == 0 {
		return [][]dtype.DType{usual}
	}
	base := choose(usual, -1, first)
	all := [][]dtype.DType{base}
	for i, o := range row.Operands {
		if i == 0 || o.SameAs > 0 {
			continue
		}
		for _, t := range (o.Types & types).List() {
			if t != base[i] {
				all = append(all, choose(base, i, t))
			}
		}
	}
	return all
}

// operand returns the row's operand i. The last operand of a row describes all further ones.
func operand(row *op.Row, i int) op.Operand { return row.Operands[min(i, len(row.Operands)-1)] }

func preferred(types dtype.Set) dtype.DType {
	for _, d := range []dtype.DType{dtype.F32, dtype.I64, dtype.U8, dtype.I32} {
		if types.Has(d) {
			return d
		}
	}
	if l := types.List(); len(l) > 0 {
		return l[0]
	}
	return dtype.Invalid
}

func (s spec) valueCase(id string, k kind) testCase {
	return s.testCase(id+"/"+string(k), values(k))
}

// node returns the spec's node for operands in.
func (s spec) node(in []op.Desc) (op.Node, error) {
	n, err := op.New(s.op, in, s.variant.attrs...)
	if err != nil {
		return n, fmt.Errorf("the suite made a faulty node: %w", err)
	}
	return n, nil
}
