package op

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
)

// Statement is one application of an op in the body of a fused node. Values are numbered: the operands of the fused node
// first, then the results of the statements in order. Attrs are complete.
type Statement struct {
	Op    Code
	Args  []int
	Attrs Attrs
}

// String prints the statement as bodies are written: sum(2){axes=[1]}. Attributes equal to their defaults are left out, and
// so is version 1 of the op; another is written sum@2(2).
func (s Statement) String() string {
	var b strings.Builder
	row := Lookup(s.Op)
	b.WriteString(row.Name)
	if row.Version != 1 {
		fmt.Fprintf(&b, "@%d", row.Version)
	}
	b.WriteString("(" + numbers(s.Args) + ")")
	sep := "{"
	for i, a := range s.Attrs {
		if d := row.Attrs[i].Default; d.kind != 0 && d.Equal(a.Value) {
			continue
		}
		b.WriteString(sep + a.Name + "=" + written(a.Value))
		sep = ","
	}
	if sep == "," {
		b.WriteByte('}')
	}
	return b.String()
}

func numbers(l []int) string {
	parts := make([]string, len(l))
	for i, v := range l {
		parts[i] = strconv.Itoa(v)
	}
	return strings.Join(parts, ",")
}

// written is a value as bodies have it: like Value.String, but a float never looks like an integer.
func written(v Value) string {
	switch v.kind {
	case KindInts:
		return "[" + numbers(v.ints) + "]"
	case KindFloats:
		parts := make([]string, len(v.floats))
		for i, f := range v.floats {
			parts[i] = writtenFloat(f)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case KindFloat:
		return writtenFloat(v.Float())
	case KindScalar:
		if !v.isInt {
			return writtenFloat(v.Float())
		}
	}
	return v.String()
}

func writtenFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Trim(s, "-0123456789") == "" {
		s += ".0"
	}
	return s
}

// FormatBody prints statements as the body attribute of a fused node: separated by semicolons.
func FormatBody(l []Statement) string {
	parts := make([]string, len(l))
	for i, s := range l {
		parts[i] = s.String()
	}
	return strings.Join(parts, ";")
}

// ParseBody is the inverse of FormatBody. Only what FormatBody prints is a body, so that equal bodies are equal strings:
// anything else is ErrAttr, and an op or version that the table lacks is ErrUnsupported.
func ParseBody(text string) ([]Statement, error) {
	p := &bodyParser{rest: text}
	var l []Statement
	for p.err == nil {
		l = append(l, p.statement())
		if p.err != nil || p.rest == "" {
			break
		}
		p.expect(";")
	}
	if p.err == nil && FormatBody(l) != text {
		p.fail(ErrAttr, "body %q, want %q", text, FormatBody(l))
	}
	if p.err != nil {
		return nil, p.err
	}
	return l, nil
}

type bodyParser struct {
	rest string
	err  error
}

func (p *bodyParser) fail(sentinel error, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format+": %w", append(args, sentinel)...)
		p.rest = ""
	}
}

func (p *bodyParser) expect(s string) {
	if !p.skip(s) {
		p.fail(ErrAttr, "body has %q, want %q", p.rest[:min(len(p.rest), 16)], s)
	}
}

func (p *bodyParser) skip(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

// word is all up to the first of the given characters.
func (p *bodyParser) word(until string) string {
	i := strings.IndexAny(p.rest, until)
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *bodyParser) integer() int {
	w := p.word(",)]};")
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		p.fail(ErrAttr, "body has %q, want an integer", w)
	}
	return int(n)
}

func (p *bodyParser) float() float64 {
	w := p.word(",]};")
	f, err := strconv.ParseFloat(w, 64)
	if err != nil {
		p.fail(ErrAttr, "body has %q, want a number", w)
	}
	return f
}

// list reads items up to a closing bracket.
func (p *bodyParser) list(end string, item func()) {
	for n := 0; p.err == nil && !p.skip(end); n++ {
		if n > 0 {
			p.expect(",")
		}
		item()
	}
}

func (p *bodyParser) statement() (s Statement) {
	name, version, versioned := strings.Cut(p.word("("), "@")
	c, ok := ByName(name)
	if !ok {
		p.fail(ErrUnsupported, "body has op %q", name)
		return s
	}
	row := Lookup(c)
	want := ""
	if row.Version != 1 {
		want = strconv.Itoa(int(row.Version))
	}
	if version != want || versioned != (want != "") {
		p.fail(ErrUnsupported, "body has version %q of %s, this build has %d", version, name, row.Version)
		return s
	}
	s.Op = c
	p.expect("(")
	p.list(")", func() { s.Args = append(s.Args, p.integer()) })
	var attrs []Attr
	if p.skip("{") {
		p.list("}", func() {
			name := p.word("=")
			p.expect("=")
			i := slices.IndexFunc(row.Attrs, func(a AttrSpec) bool { return a.Name == name })
			if i < 0 {
				p.fail(ErrAttr, "%s has no attribute %q", row.Name, name)
				return
			}
			attrs = append(attrs, p.attr(name, row.Attrs[i].Kind))
		})
	}
	if p.err == nil {
		full, err := row.complete(attrs)
		if err != nil {
			p.fail(ErrAttr, "%s: %v", row.Name, err)
		}
		s.Attrs = full
	}
	return s
}

func (p *bodyParser) attr(name string, k Kind) Attr {
	switch k {
	case KindInt:
		return Int(name, p.integer())
	case KindFloat:
		return Float(name, p.float())
	case KindBool:
		w := p.word(",}")
		if w != "true" && w != "false" {
			p.fail(ErrAttr, "%s is %q, want a bool", name, w)
		}
		return Flag(name, w == "true")
	case KindString:
		q, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			p.fail(ErrAttr, "%s is no quoted string", name)
			return Attr{}
		}
		p.rest = p.rest[len(q):]
		s, err := strconv.Unquote(q)
		if err != nil {
			p.fail(ErrAttr, "%s is no quoted string", name)
		}
		return Str(name, s)
	case KindDType:
		w := p.word(",}")
		d, err := dtype.Parse(w)
		if err != nil {
			p.fail(ErrAttr, "%s is %q, want an element type", name, w)
		}
		return Type(name, d)
	case KindInts:
		var l []int
		p.expect("[")
		p.list("]", func() { l = append(l, p.integer()) })
		return Ints(name, l...)
	case KindFloats:
		var l []float64
		p.expect("[")
		p.list("]", func() { l = append(l, p.float()) })
		return Floats(name, l...)
	}
	// A scalar that looks like an integer is one.
	if i := strings.IndexAny(p.rest, ",}"); i >= 0 && strings.Trim(p.rest[:i], "-0123456789") == "" {
		return ScalarInt(name, int64(p.integer()))
	}
	f := p.float()
	if math.IsNaN(f) {
		f = math.NaN()
	}
	return ScalarFloat(name, f)
}
