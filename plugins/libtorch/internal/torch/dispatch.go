package torch

import (
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// maxArguments is the greatest number of arguments, and of results, of an operator.
const maxArguments = 32

// abiVersion is the version of the ABI that calls of operators use: 2.10.0.
const abiVersion = 2<<56 | 10<<48

// Operator names an overload of an operator of torch.
type Operator struct {
	name, overload *byte
	text           string
}

// NewOperator names an overload, such as aten::add.Tensor.
func NewOperator(text string) *Operator {
	namespace, rest, ok := strings.Cut(text, "::")
	if !ok {
		panic("torch: operator without a namespace: " + text)
	}
	name, overload, _ := strings.Cut(rest, ".")
	return &Operator{cString(namespace + "::" + name), cString(overload), text}
}

// String returns the name with the overload.
func (o *Operator) String() string { return o.text }

// slot is an argument that must be freed if the operator is not called.
type slot struct {
	at   uintptr // address of the handle of the argument
	free uintptr // address of the function that frees the argument
}

// Begin begins a call of an operator. The caller then appends all arguments in the order of the operator's schema, and calls Call.
// Meanwhile, the Thread must not be used for anything else.
func (t *Thread) Begin(o *Operator) {
	t.reset()
	t.op, t.args = o, t.args[:0]
}

// word appends an argument, and returns the word in which it is stored.
func (t *Thread) word(v uint64) *uint64 {
	i := len(t.args)
	t.args = append(t.args, slot{})
	t.stack[i] = v
	return &t.stack[i]
}

// Tensor appends a tensor.
func (t *Thread) Tensor(h Handle) { t.tensor(h, t.word(0)) }

func (t *Thread) tensor(h Handle, at *uint64) {
	t.frame(t.lib.procs.NewHandle).args = [16]uintptr{uintptr(h), addressOf(at)}
	t.args[len(t.args)-1] = slot{addressOf(at), t.lib.procs.Delete}
}

// Int appends an integer, or an element type.
func (t *Thread) Int(v int) { t.word(uint64(v)) }

// Bool appends a truth value.
func (t *Thread) Bool(v bool) {
	if v {
		t.word(1)
	} else {
		t.word(0)
	}
}

// Float appends a float.
func (t *Thread) Float(v float64) { t.word(math.Float64bits(v)) }

// None appends an optional argument without a value.
func (t *Thread) None() { t.word(0) }

// some appends an optional argument, and returns the word in which its value is stored.
func (t *Thread) some() *uint64 {
	if len(t.cells) == 0 {
		t.refill()
	}
	if len(t.cells) == 0 {
		t.failed = ErrOutOfMemory
		return t.word(0)
	}
	cell := t.cells[len(t.cells)-1]
	t.cells = t.cells[:len(t.cells)-1]
	t.word(uint64(cell))
	return *(**uint64)(unsafe.Pointer(&cell))
}

// refill allocates memory for optional arguments, which torch frees.
func (t *Thread) refill() {
	for range 32 {
		var cell uintptr
		if fn := t.lib.procs.NewValue; fn != 0 {
			t.cell = 0
			t.call(fn, addressOf(&t.cell))
			cell = t.cell
		} else if fn := t.lib.Symbol("malloc"); fn != 0 {
			cell = uintptr(t.call(fn, 8))
		}
		if cell == 0 {
			break
		}
		t.cells = append(t.cells, cell)
	}
}

// SomeInt appends an optional integer or element type with a value.
func (t *Thread) SomeInt(v int) { *t.some() = uint64(v) }

// SomeFloat appends an optional float with a value.
func (t *Thread) SomeFloat(v float64) { *t.some() = math.Float64bits(v) }

// SomeBool appends an optional truth value with a value.
func (t *Thread) SomeBool(v bool) {
	n := 0
	if v {
		n = 1
	}
	t.SomeInt(n)
}

// SomeTensor appends an optional tensor; 0 means none.
func (t *Thread) SomeTensor(h Handle) {
	if h == 0 {
		t.None()
		return
	}
	t.tensor(h, t.some())
}

// list appends calls that create a list of n words, and store its handle at at.
func (t *Thread) list(n int, at *uint64) {
	if !t.lib.Lists() {
		t.failed = fmt.Errorf("%w: this torch takes no lists in calls of operators, 2.10 does", ErrMissing)
		return
	}
	t.frame(t.lib.procs.NewList).args = [16]uintptr{uintptr(n), addressOf(at)}
	t.args[len(t.args)-1] = slot{addressOf(at), t.lib.procs.DeleteList}
}

func (t *Thread) push(at *uint64, v uint64) {
	f := t.frame(t.lib.procs.PushBack)
	f.args = [16]uintptr{addressOf(at), uintptr(v)}
	f.load = 1
}

// Ints appends a list of integers.
func (t *Thread) Ints(v ...int) { t.intsAt(t.word(0), v) }

// SomeInts appends an optional list of integers with a value.
func (t *Thread) SomeInts(v ...int) { t.intsAt(t.some(), v) }

func (t *Thread) intsAt(at *uint64, v []int) {
	t.list(len(v), at)
	for _, x := range v {
		t.push(at, uint64(x))
	}
}

// Tensors appends a list of tensors.
func (t *Thread) Tensors(hs ...Handle) {
	at := t.word(0)
	t.list(len(hs), at)
	for _, h := range hs {
		w := &t.take(1)[0]
		t.frame(t.lib.procs.NewHandle).args = [16]uintptr{uintptr(h), addressOf(w)}
		f := t.frame(t.lib.procs.PushBack)
		f.args = [16]uintptr{addressOf(at), addressOf(w)}
		f.load = 3
	}
}

// Text appends a string.
func (t *Thread) Text(s string) { t.textAt(t.word(0), s) }

// SomeText appends an optional string with a value.
func (t *Thread) SomeText(s string) { t.textAt(t.some(), s) }

func (t *Thread) textAt(at *uint64, s string) {
	if t.lib.procs.NewString == 0 {
		t.failed = fmt.Errorf("%w: this torch takes no strings in calls of operators, 2.10 does", ErrMissing)
		return
	}
	w := t.take(len(s)/8 + 1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8)
	b[copy(b, s)] = 0
	t.frame(t.lib.procs.NewString).args = [16]uintptr{addressOf(&w[0]), uintptr(len(s)), addressOf(at)}
	t.args[len(t.args)-1] = slot{addressOf(at), t.lib.procs.DeleteString}
}

// Call calls the operator and stores its results, which are tensors, in out.
func (t *Thread) Call(out ...*Handle) error {
	for i := range out {
		*out[i] = 0
	}
	for i := len(t.args); i < len(out); i++ {
		t.stack[i] = 0
	}
	var f *frame
	if t.lib.procs.CallDispatcher != 0 {
		f = t.frame(t.lib.procs.CallDispatcher)
		f.args = [16]uintptr{addressOf(t.op.name), addressOf(t.op.overload), addressOf(&t.stack[0]), abiVersion}
	} else {
		f = t.frame(t.lib.procs.CallDispatcherOld)
		f.args = [16]uintptr{addressOf(t.op.name), addressOf(t.op.overload), addressOf(&t.stack[0])}
	}
	t.batch.left = maxFrames
	if err := t.flush(); err != nil {
		if t.batch.left != 1 { // the operator was not called, and its arguments are still owned here
			for _, a := range t.args {
				if a.free != 0 {
					if v := *(*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&a.at))); v != 0 {
						t.call(a.free, uintptr(v))
					}
				}
			}
		}
		return fmt.Errorf("%v: %w", t.op, err)
	}
	for i := range out {
		*out[i] = Handle(t.stack[i])
	}
	return nil
}
