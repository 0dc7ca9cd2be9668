package dialect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Dialect is a GPU language. It is immutable and may be used by several goroutines.
type Dialect struct {
	Name string
	// Options are the compiler options that results depend on; they are part of the dialect.
	Options []string
	// Threads is the greatest number of threads of a block that the language allows.
	Threads int
	// Static is the greatest total size of the shared arrays that a kernel may declare, in bytes. If it is exceeded, the arrays are parts
	// of one array whose size the launch sets.
	Static int
	// Components says that a store to a component of a vector in memory does not write the other components. WGSL may then declare arrays
	// as arrays of vectors although some stores write single elements.
	Components bool

	types  map[dtype.DType]string // names of types of values; the language lacks types without a name
	ops    map[ir.Op]forms
	casts  map[[2]dtype.DType]string // from, to
	syntax syntax
	// literal returns the text of a constant.
	literal func(t dtype.DType, bits uint64) string
	// declare prints the head of a kernel, including the opening brace of its body.
	declare func(p *printer, symbol string)
	// memory prints loads and stores of buffers and shared arrays, and all instructions that depend on the declarations of these.
	memory func(p *printer, in *ir.Inst) (handled bool)
	// isNaN, if set, is the form that replaces the comparison of a value with itself.
	isNaN string
	// header is printed first.
	header  string
	helpers []helper
	// shapes are the M, N and K of matrix instructions; orders are the orders of their results.
	shapes [][3]int
	orders []ir.Order
	// pairs says that there are helpers that load two neighbouring fragments of B at once.
	pairs bool
}

// forms holds the text of an operation for each type of its operands; Invalid means all other types. In a form, $a, $b and $c are the
// operands, $T is the type of the result, $n the immediate number, $p the buffer and $s the shared array.
type forms map[dtype.DType]string

// helper is a function in the language that forms call. It is printed if the text contains its name.
type helper struct{ name, text string }

// syntax holds the formats of statements, for package fmt.
type syntax struct {
	define string // type, name, expression
	loop   string // type, variable, from, to, step
	unroll string // before a loop
	always string // head of an endless loop
	local  string // type, name, length

}

// Symbol returns the name of kernel k in the text that Print returns, if k is kernels[i].
func Symbol(i int, k *ir.Kernel) string { return fmt.Sprintf("k%d_%s", i, identifier(k.Name)) }

// Print returns one text with all kernels, under the names that Symbol returns. The text depends only on the kernels. The error joins one
// error for each kernel that cannot be printed: the first that was found.
func (d *Dialect) Print(kernels []*ir.Kernel) (string, error) {
	var body strings.Builder
	var errs []error
	for i, k := range kernels {
		p := &printer{d: d, k: k}
		p.kernel(Symbol(i, k))
		if p.err != nil {
			errs = append(errs, fmt.Errorf("%s: kernel %s: %w", d.Name, k.Name, p.err))
		}
		body.WriteString("\n" + p.w.String())
	}
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	return d.header + d.prelude(body.String()) + body.String(), nil
}

// prelude returns the helpers that text uses, and the helpers that these use.
func (d *Dialect) prelude(text string) string {
	need := make([]bool, len(d.helpers))
	for changed := true; changed; {
		changed = false
		for i, h := range d.helpers {
			if !need[i] && strings.Contains(text, h.name) {
				need[i], changed = true, true
				text += h.text
			}
		}
	}
	var w strings.Builder
	for i, h := range d.helpers {
		if need[i] {
			w.WriteString(strings.TrimLeft(h.text, "\n"))
		}
	}
	return w.String()
}

// Dynamic returns the bytes of shared memory that a launch of k has to request, beyond the arrays that the text declares.
func (d *Dialect) Dynamic(k *ir.Kernel) int {
	if n := k.SharedBytes(); n > d.Static {
		return n
	}
	return 0
}

// identifier converts s to a name of letters, digits and underscores.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}
