package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
)

// String returns the kernel as text, for people and golden tests: its parameters and arrays, then its instructions, one on each line. It
// also accepts kernels that Check rejects.
func (k *Kernel) String() string {
	p := printer{k: k}
	p.printf("kernel %s threads %d", k.Name, k.Threads)
	if k.Subgroup != 0 {
		p.printf(" subgroup %d", k.Subgroup)
	}
	if k.Blocks != 0 {
		p.printf(" blocks %d", k.Blocks)
	}
	if k.Members != 0 {
		p.printf(" members %d", k.Members)
	}
	p.printf("\n")
	for _, q := range k.Params {
		if q.IsBuffer() {
			p.printf("buffer %s %v %v", q.Name, q.Type, q.Access)
			if q.Aliased {
				p.printf(" aliased")
			}
		} else {
			p.printf("scalar %s %v", q.Name, q.Type)
		}
		if q.Each {
			p.printf(" each")
		}
		p.printf("\n")
	}
	for _, a := range k.Shared {
		p.printf("shared %s %v[%d]\n", a.Name, a.Type, a.Len)
	}
	for _, a := range k.Locals {
		p.printf("local %s %v[%d]\n", a.Name, a.Type, a.Len)
	}
	for _, f := range k.Frags {
		p.printf("fragments %s %v %v[%d]\n", f.Name, f.MMA, f.Role, f.Len)
	}
	p.printf("{\n")
	p.body(k.Body, "  ")
	p.printf("}\n")
	return p.String()
}

// Line returns instruction in of the kernel as text, without the bodies of control flow.
func (k *Kernel) Line(in *Inst) string {
	p := printer{k: k}
	p.line(in)
	return p.String()
}

type printer struct {
	k *Kernel
	strings.Builder
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *printer) body(body []Inst, indent string) {
	for i := range body {
		in := &body[i]
		p.printf("%s", indent)
		p.line(in)
		switch in.Op {
		case For, If:
			p.printf(" {\n")
			p.body(in.Body, indent+"  ")
			if len(in.Else) > 0 {
				p.printf("%s} else {\n", indent)
				p.body(in.Else, indent+"  ")
			}
			p.printf("%s}", indent)
		case While:
			p.printf(" {\n")
			p.body(in.Head, indent+"  ")
			p.printf("%s} %s {\n", indent, p.arg(in, 0))
			p.body(in.Body, indent+"  ")
			p.printf("%s}", indent)
		}
		p.printf("\n")
	}
}

func (p *printer) line(in *Inst) {
	if len(in.Out) > 0 && in.Op != For {
		p.values(in.Out)
		p.printf(" = ")
	}
	p.printf("%v", in.Op)
	if len(in.Out) > 0 {
		p.printf(".%v", in.Type)
	}
	switch in.Op {
	case Const:
		p.printf(" %s", constant(in.Type, in.Imm))
	case Scalar:
		p.printf(" %s", p.param(in.Ref))
	case Block, Blocks:
		p.printf(" %d", in.Imm)
	case Load, AtomicAdd, AtomicMin, AtomicMax, AtomicSwap, Store:
		p.memory(p.param(in.Ref), in)
	case SharedLoad, SharedStore, SharedAdd:
		p.memory(p.shared(in.Ref), in)
	case LocalLoad, LocalStore:
		p.memory(at(p.k.Locals, in.Ref, "local", func(a Array) string { return a.Name }), in)
	case AsyncCopy:
		p.printf(" %s[%s], %s[%s], %d", p.shared(in.Ref), p.arg(in, 0), p.param(in.Ref2), p.arg(in, 1), in.Width)
	case AsyncWait:
		p.printf(" %d", in.Imm)
	case ShuffleXor, ShuffleUp:
		p.printf(" %s, %d", p.arg(in, 0), in.Imm)
	case For:
		p.printf(" ")
		p.values(in.Out)
		p.printf(" = %s to %s step %d", p.arg(in, 0), p.arg(in, 1), in.Imm)
		if in.Unroll {
			p.printf(" unroll")
		}
	case If:
		p.printf(" %s", p.arg(in, 0))
	case While:
	case FragFill:
		p.printf(" %s[%s], %s", p.frag(in.Ref), p.arg(in, 0), p.arg(in, 1))
	case FragLoad, FragStore:
		p.printf(" %s[%s], %s[%s], stride %s", p.frag(in.Ref), p.arg(in, 0), p.shared(in.Ref2), p.arg(in, 1), p.arg(in, 2))
		if in.Imm != 0 {
			p.printf(", transposed")
		}
		if in.Width > 1 {
			p.printf(", %d of them", in.Width)
		}
	case FragMMA:
		p.printf(" %s[%s], %s[%s], %s[%s]", p.frag(in.Ref), p.arg(in, 0), p.frag(in.Ref2), p.arg(in, 1), p.frag(int32(in.Imm)), p.arg(in, 2))
	case FragPack:
		p.printf(" %s[%s], %s[%s]", p.frag(in.Ref), p.arg(in, 0), p.frag(in.Ref2), p.arg(in, 1))
	case FragGet, FragSet:
		p.printf(" %s[%s].%d", p.frag(in.Ref), p.arg(in, 0), in.Imm)
		if len(in.Args) > 1 {
			p.printf(", %s", p.arg(in, 1))
		}
	default:
		if len(in.Args) > 0 {
			p.printf(" ")
			p.values(in.Args)
		}
	}
}

// memory prints name[index], values.
func (p *printer) memory(name string, in *Inst) {
	p.printf(" %s[%s]", name, p.arg(in, 0))
	if len(in.Args) > 1 {
		p.printf(", ")
		p.values(in.Args[1:])
	}
}

func (p *printer) values(vs []Value) {
	for i, v := range vs {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%%%d", v)
	}
}

func (p *printer) arg(in *Inst, i int) string {
	if i < len(in.Args) {
		return fmt.Sprintf("%%%d", in.Args[i])
	}
	return "%none"
}

func (p *printer) param(i int32) string {
	return at(p.k.Params, i, "param", func(q Param) string { return q.Name })
}

func (p *printer) shared(i int32) string {
	return at(p.k.Shared, i, "shared", func(a Array) string { return a.Name })
}

func (p *printer) frag(i int32) string {
	return at(p.k.Frags, i, "fragments", func(f Fragments) string { return f.Name })
}

func at[T any](list []T, i int32, kind string, name func(T) string) string {
	if i < 0 || int(i) >= len(list) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return name(list[i])
}

// constant returns the text of a constant. Different bits have different texts.
func constant(t dtype.DType, bits uint64) string {
	switch t {
	case dtype.F64:
		return float(math.Float64frombits(bits), 64, bits)
	case dtype.F32:
		return float(float64(math.Float32frombits(uint32(bits))), 32, bits)
	case dtype.F16:
		return float(float64(dtype.Float16(bits).Float32()), 32, bits)
	case dtype.BF16:
		return float(float64(dtype.BFloat16(bits).Float32()), 32, bits)
	case dtype.U64, dtype.U32, dtype.U16, dtype.U8:
		return strconv.FormatUint(bits, 10)
	case dtype.Bool:
		return strconv.FormatBool(bits != 0)
	}
	return strconv.FormatInt(int64(bits), 10)
}

func float(f float64, size int, bits uint64) string {
	if f != f {
		return fmt.Sprintf("nan(%#x)", bits)
	}
	return strconv.FormatFloat(f, 'g', -1, size)
}
