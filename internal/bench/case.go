package bench

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Case is one op on operands of given types and shapes.
type Case struct {
	Name  string // unique: "matmul/1024x1024x1024"
	Set   string // group of the table
	Op    op.Code
	In    []Operand
	Attrs []op.Attr
	Terms int64 // multiplications of a contraction; 0 for ops that are bound by memory
	// Copied tells that a copy brings the result into row-major order, as a permutation alone may be a view.
	Copied bool
	// Memory tells that the op makes one pass over memory with few instructions per element, so that beyond the cache sizes a
	// copy of as many bytes is its limit.
	Memory bool
}

// Operand describes an operand: type, shape and values.
type Operand struct {
	DType dtype.DType
	Shape shape.Shape
	Fill  Fill
	Below int // exclusive bound of Index
}

// Fill selects the values of an operand.
type Fill uint8

// The fills. All are equal on every machine. The first 2^24 numbers of an f32 or f64 operand differ from each other, so that the
// maximum is unique.
const (
	Signed   Fill = iota // in (-1, 1]
	Positive             // in (0, 1]
	Index                // in [0, Below)
	Truth                // true and false
)

// Node builds the node of the case; in describes its operands, with ids.
func (c Case) Node(in []op.Desc) (op.Node, error) {
	n, err := op.New(c.Op, in, c.Attrs...)
	if err != nil {
		return n, fmt.Errorf("bench: case %s: %w", c.Name, err)
	}
	return n, nil
}

// Descs returns the type and shape of each operand.
func (c Case) Descs() []op.Desc {
	ds := make([]op.Desc, len(c.In))
	for i, x := range c.In {
		ds[i] = op.Desc{DType: x.DType, Shape: x.Shape}
	}
	return ds
}

// Bytes returns the size of all operands and results: the least number of bytes to read and write. Of the operand of a gather, it counts
// only as many bytes as the result has.
func (c Case) Bytes() (int64, error) {
	ds := c.Descs()
	n, err := c.Node(ds)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for i, d := range slices.Concat(ds, n.Outputs) {
		size := int64(d.Bytes())
		if c.Op == op.Gather && i == 0 {
			size = min(size, int64(n.Outputs[0].Bytes()))
		}
		total += size
	}
	return total, nil
}

// Flops returns the number of floating-point operations: two per multiplication.
func (c Case) Flops() int64 { return 2 * c.Terms }

// Attributes returns the attributes as JSON values: numbers, booleans, strings and lists.
func (c Case) Attributes() map[string]any {
	m := map[string]any{}
	for _, a := range c.Attrs {
		switch v := a.Value; v.Kind() {
		case op.KindInt:
			m[a.Name] = v.Int()
		case op.KindFloat, op.KindScalar:
			m[a.Name] = v.Float()
		case op.KindBool:
			m[a.Name] = v.Bool()
		case op.KindString:
			m[a.Name] = v.Str()
		case op.KindDType:
			m[a.Name] = v.DType().String()
		case op.KindInts:
			m[a.Name] = v.Ints()
		case op.KindFloats:
			m[a.Name] = v.Floats()
		}
	}
	return m
}

// Size formats a number of bytes: "64 KiB".
func Size(n int) string {
	for _, u := range []struct {
		name string
		size int
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
