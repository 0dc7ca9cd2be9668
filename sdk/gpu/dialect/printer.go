package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// printer prints one kernel.
type printer struct {
	d *Dialect
	k *ir.Kernel
	w strings.Builder
	// depth is the number of open bodies.
	depth int
	// spelled is the text of each value: a name or a constant.
	spelled []string
	// plain says, by value, whether the value is computed only from positions and sizes, which do not overflow.
	plain []bool
	// prefix begins the names of declarations outside of the kernel's body.
	prefix string
	// literals are the constants. chosen holds the comparisons of f32, by result, if the dialect has its own test for NaN.
	literals map[ir.Value]bool
	chosen   map[ir.Value]comparison
	// atomicBuffers and atomicShared are arrays that a dialect declares to be of atomics.
	atomicBuffers, atomicShared map[int32]bool
	lanes                       lanes
	quotients                   *quotients // nil if no array is an array of vectors
	err                         error
}

func (p *printer) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *printer) line(format string, args ...any) {
	p.w.WriteString(strings.Repeat("\t", p.depth))
	fmt.Fprintf(&p.w, format, args...)
	p.w.WriteByte('\n')
}

// typ returns the name of a type. A type that the language lacks is an error.
func (p *printer) typ(t dtype.DType) string {
	s, ok := p.d.types[t]
	if !ok {
		p.fail("the language has no %v", t)
	}
	return s
}

// param and the following methods return the names of the declarations of a kernel.
func (p *printer) param(i int32) string { return p.prefix + p.field(i) }

func (p *printer) field(i int32) string {
	return fmt.Sprintf("p%d_%s", i, identifier(p.k.Params[i].Name))
}

func (p *printer) shared(i int32) string {
	return fmt.Sprintf("%ss%d_%s", p.prefix, i, identifier(p.k.Shared[i].Name))
}

func (p *printer) local(i int32) string {
	return fmt.Sprintf("l%d_%s", i, identifier(p.k.Locals[i].Name))
}
func (p *printer) frag(i int32) string {
	return fmt.Sprintf("f%d_%s", i, identifier(p.k.Frags[i].Name))
}

// arg returns the text of operand i.
func (p *printer) arg(in *ir.Inst, i int) string { return p.spelled[in.Args[i]] }

// kernel prints the whole kernel.
func (p *printer) kernel(symbol string) {
	p.spelled, p.plain = make([]string, len(p.k.Types)), make([]bool, len(p.k.Types))
	p.literals, p.chosen = map[ir.Value]bool{}, map[ir.Value]comparison{}
	if p.k.Threads > p.d.Threads {
		p.fail("blocks of %d threads, the language allows %d", p.k.Threads, p.d.Threads)
		return
	}
	for _, x := range p.k.Params {
		p.typ(x.Type)
	}
	for _, x := range p.k.Shared {
		p.typ(x.Type)
	}
	p.d.declare(p, symbol)
	p.depth++
	for i, x := range p.k.Locals {
		p.line(p.d.syntax.local, p.typ(x.Type), p.local(int32(i)), x.Len)
	}
	p.body(p.k.Body)
	p.depth--
	p.line("}")
}

func (p *printer) body(list []ir.Inst) {
	for i := range list {
		p.inst(&list[i])
	}
}

func (p *printer) nested(list []ir.Inst) {
	p.depth++
	p.body(list)
	p.depth--
}

func (p *printer) inst(in *ir.Inst) {
	p.mark(in)
	switch in.Op {
	case ir.Const:
		p.typ(in.Type)
		p.spelled[in.Out[0]] = p.d.literal(in.Type, in.Imm)
		p.literals[in.Out[0]] = true
	case ir.For:
		if in.Unroll && p.d.syntax.unroll != "" {
			p.line("%s", p.d.syntax.unroll)
		}
		v := p.name(in.Out[0])
		step := p.d.literal(in.Type, in.Imm)
		p.line(p.d.syntax.loop, p.typ(in.Type), v, p.arg(in, 0), p.arg(in, 1), step)
		p.nested(in.Body)
		p.line("}")
	case ir.If:
		p.line("if (%s) {", p.arg(in, 0))
		p.nested(in.Body)
		if len(in.Else) > 0 {
			p.line("} else {")
			p.nested(in.Else)
		}
		p.line("}")
	case ir.While:
		p.line("%s", p.d.syntax.always)
		p.depth++
		p.body(in.Head)
		p.line("if (!%s) { break; }", p.arg(in, 0))
		p.body(in.Body)
		p.depth--
		p.line("}")
	case ir.Cast:
		p.define(in.Out[0], p.cast(in.Type, p.k.Types[in.Args[0]], p.arg(in, 0)))
	case ir.LocalLoad:
		p.define(in.Out[0], fmt.Sprintf("%s[%s]", p.local(in.Ref), p.arg(in, 0)))
	case ir.LocalStore:
		p.line("%s[%s] = %s;", p.local(in.Ref), p.arg(in, 0), p.arg(in, 1))
	default:
		if p.d.memory(p, in) {
			return
		}
		form := p.form(in)
		if same := in.Op == ir.Eq || in.Op == ir.Ne; same && p.d.isNaN != "" && in.Args[0] == in.Args[1] && p.k.Types[in.Args[0]].IsFloat() {
			if form = p.d.isNaN; in.Op == ir.Eq {
				form = "!" + form
			}
		}
		if p.d.isNaN != "" {
			form = p.keepNaN(in, form)
		}
		s := p.expand(in, form)
		if len(in.Out) == 0 {
			p.line("%s;", s)
		} else {
			p.define(in.Out[0], s)
		}
	}
}

// name assigns a name to a value and returns it.
func (p *printer) name(v ir.Value) string {
	p.spelled[v] = "v" + strconv.Itoa(int(v))
	return p.spelled[v]
}

// define prints the definition of a value.
func (p *printer) define(v ir.Value, expression string) {
	p.line(p.d.syntax.define, p.typ(p.k.Types[v]), p.name(v), expression)
	if p.quotients != nil {
		p.quotients.define(v)
	}
}

// form returns the form of an instruction, chosen by the type of its operands.
func (p *printer) form(in *ir.Inst) string {
	f, ok := p.d.ops[in.Op]
	if !ok {
		p.fail("the language has no %v", in.Op)
		return ""
	}
	t := in.Type
	if in.Op >= ir.Eq && in.Op <= ir.Le {
		t = p.k.Types[in.Args[0]]
	}
	if len(in.Out) > 0 && p.plain[in.Out[0]] && (in.Op == ir.Add || in.Op == ir.Sub || in.Op == ir.Mul) {
		t = dtype.Invalid
	}
	s, ok := f[t]
	if !ok {
		s, ok = f[dtype.Invalid]
	}
	if !ok {
		p.fail("the language has no %v of %v", in.Op, t)
	}
	return s
}

// comparison is the condition x < y or x ≤ y, or its negation.
type comparison struct {
	x, y    ir.Value
	negated bool
}

// keepNaN returns the form of an instruction. Some drivers replace a select of the lesser or the greater of two compared operands by their
// minimum or maximum, which drops NaN. So the form of such a select tests for NaN first, and then returns the operand that a false comparison
// selects.
func (p *printer) keepNaN(in *ir.Inst, form string) string {
	switch {
	case (in.Op == ir.Lt || in.Op == ir.Le) && p.k.Types[in.Args[0]] == dtype.F32:
		p.chosen[in.Out[0]] = comparison{x: in.Args[0], y: in.Args[1]}
	case in.Op == ir.Not:
		if c, ok := p.chosen[in.Args[0]]; ok {
			p.chosen[in.Out[0]] = comparison{x: c.x, y: c.y, negated: !c.negated}
		}
	case in.Op == ir.Select:
		c, ok := p.chosen[in.Args[0]]
		if !ok {
			return form
		}
		a, b, x, y := p.arg(in, 1), p.arg(in, 2), p.spelled[c.x], p.spelled[c.y]
		if !(a == x && b == y || a == y && b == x) {
			return form
		}
		var tests []string
		for _, v := range []ir.Value{c.x, c.y} {
			if !p.literals[v] {
				tests = append(tests, strings.ReplaceAll(p.d.isNaN, "$a", p.spelled[v]))
			}
		}
		if len(tests) == 0 {
			return form
		}
		kept := "$c" // the choice of a comparison that is false
		if c.negated {
			kept = "$b"
		}
		return strings.NewReplacer("$a", strings.Join(tests, " || "), "$b", kept, "$c", form).Replace(form)
	}
	return form
}

// expand returns a form with the operands of an instruction inserted.
func (p *printer) expand(in *ir.Inst, form string) string {
	var w strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] != '$' {
			w.WriteByte(form[i])
			continue
		}
		i++
		switch c := form[i]; c {
		case 'a', 'b', 'c':
			w.WriteString(p.arg(in, int(c-'a')))
		case 'T':
			w.WriteString(p.typ(in.Type))
		case 'F':
			w.WriteString(p.typ(p.k.Types[in.Args[0]]))
		case 'n':
			w.WriteString(strconv.FormatUint(in.Imm, 10))
		case 'p':
			w.WriteString(p.param(in.Ref))
		case 's':
			w.WriteString(p.shared(in.Ref))
		}
	}
	return w.String()
}

// mark sets plain for the results of an instruction: positions, sizes, and arithmetic on them.
func (p *printer) mark(in *ir.Inst) {
	if len(in.Out) != 1 || !in.Type.IsInt() {
		return
	}
	switch in.Op {
	case ir.Const, ir.Scalar, ir.Thread, ir.Block, ir.Blocks, ir.Lane:
		p.plain[in.Out[0]] = true
	case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Min, ir.Max, ir.And, ir.Or, ir.Shl, ir.Shr, ir.Select, ir.Cast, ir.For:
		all := true
		for _, a := range in.Args {
			all = all && (p.plain[a] || p.k.Types[a] == dtype.Bool)
		}
		p.plain[in.Out[0]] = all
	}
}
