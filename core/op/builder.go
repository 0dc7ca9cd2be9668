package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Builder records nodes one after the other and assigns ids to their outputs. Decompositions and model import use it. After the first
// error, later calls record nothing and return zero Descs, and Err returns that error. A Builder must be used by one goroutine at a time.
type Builder struct {
	Nodes []Node
	next  func() TensorID
	err   error
}

// NewBuilder returns a Builder whose outputs are numbered by next.
func NewBuilder(next func() TensorID) *Builder { return &Builder{next: next} }

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail records an error, unless there is one already.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// All records a node and returns all of its outputs.
func (b *Builder) All(c Code, in []Desc, attrs ...Attr) []Desc {
	row := Lookup(c)
	if b.err != nil {
		return make([]Desc, max(1, len(row.Results)))
	}
	n, err := New(c, in, attrs...)
	if err != nil {
		b.err = err
		return make([]Desc, max(1, len(row.Results)))
	}
	for i := range n.Outputs {
		n.Outputs[i].ID = b.next()
	}
	b.Nodes = append(b.Nodes, n)
	return n.Outputs
}

// Do records a node without attributes and returns its first output.
func (b *Builder) Do(c Code, in ...Desc) Desc { return b.All(c, in)[0] }

// With records a node with attributes and returns its first output.
func (b *Builder) With(c Code, in []Desc, attrs ...Attr) Desc { return b.All(c, in, attrs...)[0] }

// Un records a node of one operand, with attributes, and returns its first output.
func (b *Builder) Un(c Code, x Desc, attrs ...Attr) Desc { return b.All(c, []Desc{x}, attrs...)[0] }

// Scalar records and returns a rank-0 tensor of type d that contains v.
func (b *Builder) Scalar(d dtype.DType, v float64) Desc {
	return b.All(Full, nil, ScalarFloat("value", v), Type("dtype", d), Ints("shape"))[0]
}

// Like records and returns a rank-0 tensor of x's type that contains v.
func (b *Builder) Like(x Desc, v float64) Desc { return b.Scalar(x.DType, v) }

// FullInt records and returns a tensor of type d and shape s filled with v.
func (b *Builder) FullInt(d dtype.DType, v int64, s shape.Shape) Desc {
	return b.All(Full, nil, ScalarInt("value", v), Type("dtype", d), Dims("shape", s))[0]
}

// Bound returns a rank-0 tensor that contains the identity of max (with Lowest) or of min (with Highest).
func (b *Builder) Bound(d dtype.DType, v Attr) Desc {
	return b.All(Full, nil, v, Type("dtype", d), Ints("shape"))[0]
}

// Reshape returns x in another shape. For x's own shape it records nothing and returns x.
func (b *Builder) Reshape(x Desc, s shape.Shape) Desc {
	if x.Shape.Equal(s) {
		return x
	}
	return b.Un(Reshape, x, Dims("shape", s))
}

// Permute reorders dimensions; the identity records nothing.
func (b *Builder) Permute(x Desc, axes ...int) Desc {
	for i, a := range axes {
		if i != a {
			return b.Un(Permute, x, Ints("axes", axes...))
		}
	}
	return x
}

// Expand broadcasts x to s; the same shape records nothing.
func (b *Builder) Expand(x Desc, s shape.Shape) Desc {
	if x.Shape.Equal(s) {
		return x
	}
	return b.Un(Expand, x, Dims("shape", s))
}

// Cast converts x to d; the same type records nothing.
func (b *Builder) Cast(x Desc, d dtype.DType) Desc {
	if x.DType == d {
		return x
	}
	return b.Un(Cast, x, Type("dtype", d))
}

// Narrow returns n elements of x along axis, beginning with start. For the whole axis it records nothing and returns x.
func (b *Builder) Narrow(x Desc, axis, start, n int) Desc {
	inside := axis >= 0 && axis < len(x.Shape) // after an error, x may be a zero Desc
	if start == 0 && inside && n == x.Shape[axis] {
		return x
	}
	starts, steps, size := make([]int, len(x.Shape)), make([]int, len(x.Shape)), x.Shape.Clone()
	for i := range steps {
		steps[i] = 1
	}
	if inside {
		starts[axis], size[axis] = start, n
	}
	return b.Un(Slice, x, Ints("start", starts...), Dims("size", size), Ints("step", steps...))
}

// Reduce records reduction c of x over axes, which remain with length 1 if keep is set.
func (b *Builder) Reduce(c Code, x Desc, keep bool, axes ...int) Desc {
	return b.Un(c, x, Ints("axes", axes...), Flag("keep_dims", keep))
}

// Concat concatenates xs along axis. For a single tensor it records nothing and returns the tensor.
func (b *Builder) Concat(axis int, xs ...Desc) Desc {
	if len(xs) == 1 {
		return xs[0]
	}
	return b.All(Concat, xs, Int("axis", axis))[0]
}
