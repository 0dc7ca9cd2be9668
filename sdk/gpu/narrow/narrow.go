package narrow

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// wide is the set of types that are represented by two words.
var wide = dtype.SetOf(dtype.I64, dtype.U64)

// Widen returns the target for which templates build kernels on hardware t. If the memory of t consists of words, the target includes the
// integers of 64 bits that Launch emulates with two words.
func Widen(t template.Target) template.Target {
	if t.Words {
		t.Types, t.Math, t.Atomics = t.Types|wide, t.Math|wide, t.Atomics&^wide
	}
	return t
}

// Emulated returns the types that hardware t lacks, in memory or in arithmetic, and that are emulated by words.
func Emulated(t template.Target) dtype.Set {
	if !t.Words {
		return 0
	}
	return (Widen(t).Types & (dtype.Ints | wide)) &^ dtype.SetOf(dtype.I32, dtype.U32)
}

// Launch rewrites launch l, which was built for Widen(t), for hardware t. Slots are unchanged. The offsets of arguments are relative to
// memory that is aligned to t.Align. The error wraps core.ErrUnsupported if words cannot emulate an instruction of the kernel.
func Launch(t template.Target, l ir.Launch) (out ir.Launch, err error) {
	if !t.Words {
		return l, nil
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *ir.BuildError:
			err = e
		case refusal:
			err = fmt.Errorf("kernel %s: %s: %w", l.Kernel.Name, string(e), core.ErrUnsupported)
		default:
			panic(e)
		}
	}()
	return rewrite(t, l), nil
}

// refusal is the value of a panic. It names the part of a kernel that cannot be rewritten.
type refusal string

func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

// pair represents a value of the old kernel. For integers of 64 bits, lo is the low word, a u32, and hi is the high word, an i32 for signed
// and a u32 for unsigned integers. For other types, lo is the value.
type pair struct{ lo, hi ir.Value }

// rewriter builds the rewritten kernel.
type rewriter struct {
	*ir.Builder
	t       template.Target
	old     *ir.Kernel
	args    []ir.Arg
	values  []pair // new values by value of the old kernel
	defs    map[ir.Value]*ir.Inst
	buffers []ir.Buf
	bases   []ir.Value     // by parameter: the offset that is added to indices; 0 if nothing is added
	parts   map[int32]bool // by parameter: whether kernels store parts of words to the buffer
	scalars []pair
	shared  []ir.Mem
	locals  [][2]ir.Var
}

func rewrite(t template.Target, l ir.Launch) ir.Launch {
	k := l.Kernel
	switch {
	case k.Members > 0:
		refuse("a batched kernel")
	case len(k.Frags) > 0:
		refuse("matrix fragments")
	case len(l.Args) != len(k.Params):
		refuse("%d arguments, want %d", len(l.Args), len(k.Params))
	}
	r := &rewriter{Builder: ir.New(k.Name, k.Threads), t: t, old: k, values: make([]pair, len(k.Types)), defs: map[ir.Value]*ir.Inst{}}
	if k.Subgroup > 0 {
		r.SetSubgroup(k.Subgroup)
	}
	r.SetBlocks(k.Blocks)
	r.parameters(l.Args)
	r.arrays()
	r.body(k.Body)
	n := r.Kernel()
	for i, p := range k.Params {
		if p.IsBuffer() {
			n.Params[r.buffers[i]].Aliased = p.Aliased
		}
	}
	return ir.Launch{Kernel: n, Grid: l.Grid, Args: r.args}
}

// parameters declares the parameters and sets their arguments.
func (r *rewriter) parameters(args []ir.Arg) {
	n := len(r.old.Params)
	r.buffers, r.scalars, r.bases = make([]ir.Buf, n), make([]pair, n), make([]ir.Value, n)
	r.parts = map[int32]bool{}
	partial(r.old.Body, r.parts)
	align := int64(max(r.t.Align, 4))
	rest := make([]int64, n)
	for i, p := range r.old.Params {
		a := args[i]
		switch {
		case p.Type == dtype.F64:
			refuse("%s is %v", p.Name, p.Type)
		case p.IsBuffer():
			access := p.Access
			if r.parts[int32(i)] {
				access |= ir.Atomic
			}
			rest[i] = a.Offset % align
			r.args = append(r.args, ir.Arg{Slot: a.Slot, Offset: a.Offset - rest[i]})
			r.buffers[i] = r.Buffer(p.Name, inMemory(p.Type), access)
		case wide.Has(p.Type):
			r.args = append(r.args, ir.Arg{Bits: uint64(uint32(a.Bits))}, ir.Arg{Bits: a.Bits >> 32})
			r.scalars[i].lo = r.Scalar(p.Name+"_lo", dtype.U32)
			if p.Type == dtype.I64 {
				r.args[len(r.args)-1].Bits = uint64(int64(a.Bits) >> 32)
			}
			r.scalars[i].hi = r.Scalar(p.Name+"_hi", high(p.Type))
		default:
			r.args = append(r.args, a)
			r.scalars[i].lo = r.Scalar(p.Name, p.Type)
		}
	}
	for i, p := range r.old.Params {
		if rest[i] > 0 {
			r.args = append(r.args, ir.Arg{Bits: uint64(rest[i] / int64(p.Type.Size()))})
			r.bases[i] = r.Scalar(p.Name+"_at", dtype.I32)
		}
	}
}

// partial records the buffers to which a body stores parts of words.
func partial(body []ir.Inst, parts map[int32]bool) {
	for i := range body {
		in := &body[i]
		if in.Op == ir.Store && int(in.Width)*in.Type.Size() < 4 {
			parts[in.Ref] = true
		}
		for _, b := range [][]ir.Inst{in.Head, in.Body, in.Else} {
			partial(b, parts)
		}
	}
}

// inMemory returns the type of the words that contain elements.
func inMemory(d dtype.DType) dtype.DType {
	if d.Size() == 4 {
		return d
	}
	return dtype.U32
}

// high returns the type of the high word.
func high(d dtype.DType) dtype.DType {
	if d == dtype.I64 {
		return dtype.I32
	}
	return dtype.U32
}

// arrays declares the shared and the local arrays.
func (r *rewriter) arrays() {
	for _, a := range r.old.Shared {
		n := a.Len
		if wide.Has(a.Type) {
			n *= 2
		}
		if a.Type == dtype.F64 {
			refuse("%s is %v", a.Name, a.Type)
		}
		r.shared = append(r.shared, r.Shared(a.Name, inMemory(a.Type), n))
	}
	for _, a := range r.old.Locals {
		switch {
		case a.Type == dtype.F64:
			refuse("%s is %v", a.Name, a.Type)
		case wide.Has(a.Type):
			r.locals = append(r.locals, [2]ir.Var{r.Local(a.Name+"_lo", dtype.U32, a.Len), r.Local(a.Name+"_hi", high(a.Type), a.Len)})
		default:
			r.locals = append(r.locals, [2]ir.Var{r.Local(a.Name, a.Type, a.Len)})
		}
	}
}
