package dialect

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// pointers prints loads and stores in languages where arrays are pointers to elements: neighbouring elements are moved by vector
// types of 2 to 16 bytes.
type pointers struct {
	// buffer and shared qualify the pointed-to type of a vector access: "" or an address space.
	buffer, shared string
	// vectors holds the names of vector types by element type, without the length; smaller types are moved in words of u32.
	vectors map[dtype.DType]string
	// vector is the format of a vector expression: name, elements.
	vector string
	// async says that the language has asynchronous copies. Otherwise copies are synchronous.
	async bool
}

var components = [4]string{"x", "y", "z", "w"}

// element returns the expression that converts an element of memory to a value.
func element(t dtype.DType, x string) string {
	if t == dtype.Bool {
		return x + " != 0"
	}
	return x
}

// moved returns the type that carries n elements of type t, the number of elements in one of its components, and the number of components.
func (m pointers) moved(t dtype.DType, n int) (carrier string, each, parts int) {
	if t.Size() >= 4 {
		return fmt.Sprintf("%s%d", m.vectors[t], n), 1, n
	}
	switch bytes := t.Size() * n; bytes {
	case 2:
		return "u16", n, 1
	case 4:
		return "u32", n, 1
	default:
		return fmt.Sprintf("%s%d", m.vectors[dtype.U32], bytes/4), 4 / t.Size(), bytes / 4
	}
}

func (m pointers) print(p *printer, in *ir.Inst) bool {
	switch in.Op {
	case ir.Scalar:
		p.spelled[in.Out[0]] = p.param(in.Ref)
		if in.Type == dtype.Bool {
			p.spelled[in.Out[0]] = "(" + p.param(in.Ref) + " != 0)"
		}
	case ir.Load:
		access := ""
		if p.k.Params[in.Ref].Access == ir.Read {
			access = "const "
		}
		m.load(p, in, p.param(in.Ref), access+m.buffer)
	case ir.SharedLoad:
		m.load(p, in, p.shared(in.Ref), m.shared)
	case ir.Store:
		m.store(p, in, p.param(in.Ref), m.buffer)
	case ir.SharedStore:
		m.store(p, in, p.shared(in.Ref), m.shared)
	case ir.AsyncCopy:
		m.copy(p, in)
	case ir.AsyncCommit, ir.AsyncWait:
		return !m.async
	default:
		return false
	}
	return true
}

func (m pointers) load(p *printer, in *ir.Inst, array, space string) {
	t, i := in.Type, p.arg(in, 0)
	if in.Width == 1 {
		p.define(in.Out[0], element(t, fmt.Sprintf("%s[%s]", array, i)))
		return
	}
	carrier, each, parts := m.moved(t, len(in.Out))
	v := fmt.Sprintf("w%d", in.Out[0])
	p.line("const %s %s = *(%s%s*)(%s + %s);", carrier, v, space, carrier, array, i)
	for k, out := range in.Out {
		x := v
		if parts > 1 {
			x += "." + components[k/each]
		}
		if each > 1 {
			x = part(t, x, k%each)
		}
		p.define(out, x)
	}
}

// part returns element k of a word.
func part(t dtype.DType, word string, k int) string {
	if k > 0 {
		word = fmt.Sprintf("%s >> %d", word, 8*t.Size()*k)
	}
	if t == dtype.Bool {
		return fmt.Sprintf("((%s) & 255) != 0", word)
	}
	return fmt.Sprintf("%v(%s)", memoryType(t), word)
}

// memoryType returns the name of the type in memory of elements of type t, which has less than 32 bits.
func memoryType(t dtype.DType) string {
	switch {
	case t == dtype.I16 || t == dtype.I8:
		return t.String()
	case t.Size() == 2:
		return "u16"
	}
	return "u8"
}

func (m pointers) store(p *printer, in *ir.Inst, array, space string) {
	t, i, v := in.Type, p.arg(in, 0), in.Args[1:]
	if len(v) == 1 {
		p.line("%s[%s] = %s;", array, i, p.spelled[v[0]])
		return
	}
	carrier, each, parts := m.moved(t, len(v))
	list := make([]string, parts)
	for k := range v {
		x := p.spelled[v[k]]
		if each > 1 {
			x = fmt.Sprintf("u32(u%d(%s))", 8*t.Size(), x)
		}
		if k%each > 0 {
			x = fmt.Sprintf(" | %s << %d", x, 8*t.Size()*(k%each))
		}
		list[k/each] += x
	}
	x := list[0]
	if parts > 1 {
		x = fmt.Sprintf(m.vector, carrier, strings.Join(list, ", "))
	}
	p.line("*(%s%s*)(%s + %s) = %s;", space, carrier, array, i, x)
}

func (m pointers) copy(p *printer, in *ir.Inst) {
	to := fmt.Sprintf("%s + %s", p.shared(in.Ref), p.arg(in, 0))
	from := fmt.Sprintf("%s + %s", p.param(in.Ref2), p.arg(in, 1))
	bytes := int(in.Width) * in.Type.Size()
	if m.async {
		p.line("copy_async<%d>(%s, %s);", bytes, to, from)
		return
	}
	carrier := "u32"
	if bytes > 4 {
		carrier = fmt.Sprintf("%s%d", m.vectors[dtype.U32], bytes/4)
	}
	access := ""
	if p.k.Params[in.Ref2].Access == ir.Read {
		access = "const "
	}
	p.line("*(%s%s*)(%s) = *(%s%s%s*)(%s);", m.shared, carrier, to, access, m.buffer, carrier, from)
}
