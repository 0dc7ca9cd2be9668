package template

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Product is a product of matrices, C = A·B for each element of a batch, with an elementwise epilogue that computes the results from C
// before they are written. Slots are A, B, Extra, Out, then temporaries. The memory of operands begins at multiples of 16 bytes.
type Product struct {
	Batch   []int
	M, N, K int
	// A has the shape Batch, M, K and B the shape Batch, K, N, with any strides.
	A, B Operand
	// Compute is the type of products and sums: f32, f64, i32, i64, u32 or u64. Factors are cast to this type.
	Compute dtype.DType
	// Extra and Out have the shape Batch, M, N.
	Extra, Out []Operand
	// Body computes the results from the element of C, of type Compute, and the elements of Extra. A nil Body casts C to the type
	// of Out[0].
	Body Body
	// Exact forbids matrix instructions, which may flush subnormal numbers and add in an unspecified order.
	Exact bool
}

// matrix is an operand of a product: element (i, j) of element (b0, b1, ...) of the batch is at off + Σ bk·batch[k] + i·row + j·col. All
// offsets and strides are in elements.
type matrix struct {
	typ      dtype.DType
	slot     int
	off      int
	batch    []int
	row, col int
	// outer holds the strides of all dimensions of pixels except the last, if the rows or columns of the matrix are the pixels of an image.
	outer []int
	// packed says that the depth is contiguous and padded with zeros to a multiple of 8.
	packed bool
}

func (m matrix) transposed() matrix {
	m.row, m.col = m.col, m.row
	return m
}

// product is a product in the form from which kernels are built: the batch has as few dimensions as possible, and rows and columns are
// exchanged where that is faster.
type product struct {
	t       Target
	index   dtype.DType
	compute dtype.DType
	batch   []int
	m, n, k int
	a, b    matrix
	extra   []matrix
	out     []matrix
	body    Body
	// shape is the iteration space of Body. swapped says that the columns of the product are the second-last axis of shape.
	shape   []int
	swapped bool
	temps   []int64
	// conv is set if the product is a convolution.
	conv *convolution
}

// Build returns the launches of the product.
func (p Product) Build(t Target) (ir.Work, error) {
	c, err := p.normal(t)
	if err != nil {
		return ir.Work{}, err
	}
	if c.m*c.n*c.batches() == 0 {
		return ir.Work{}, nil
	}
	var l []ir.Launch
	switch mma, ok := c.mma(); {
	case c.m <= fewRows && c.k > 0 && c.t.Subgroup >= minLanes && vectorThreads <= c.t.Threads:
		l = c.vector()
	case ok && !p.Exact:
		l, err = c.fragmented(mma)
	default:
		l, err = c.tiled()
	}
	return ir.Work{Launches: l, Temps: c.temps}, err
}

// normal checks a product and converts it to its best form.
func (p Product) normal(t Target) (*product, error) {
	c := &product{t: t, compute: p.Compute, m: p.M, n: p.N, k: p.K, body: p.Body, shape: append(slices.Clone(p.Batch), p.M, p.N)}
	if p.M < 0 || p.N < 0 || p.K < 0 {
		return nil, fmt.Errorf("product: %d×%d×%d", p.M, p.N, p.K)
	}
	if !dtype.SetOf(dtype.F32, dtype.F64, dtype.I32, dtype.I64, dtype.U32, dtype.U64).Has(p.Compute) {
		return nil, fmt.Errorf("product: sums of %v", p.Compute)
	}
	if len(p.Out) == 0 || p.Body == nil && (len(p.Out) > 1 || len(p.Extra) > 0) {
		return nil, fmt.Errorf("product: %d results of %d operands without a body", len(p.Out), len(p.Extra))
	}
	if c.body == nil {
		to := p.Out[0].Type
		c.body = func(b *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value {
			return []ir.Value{b.Cast(to, in[0])}
		}
	}
	rows, cols := append(slices.Clone(p.Batch), p.M, p.K), append(slices.Clone(p.Batch), p.K, p.N)
	operands, shapes := []Operand{p.A, p.B}, [][]int{rows, cols}
	for _, o := range slices.Concat(p.Extra, p.Out) {
		operands, shapes = append(operands, o), append(shapes, c.shape)
	}
	views := make([]shape.View, len(operands))
	list := make([]matrix, len(operands))
	r := len(p.Batch)
	for i, o := range operands {
		if !slices.Equal(o.View.Shape, shapes[i]) {
			return nil, fmt.Errorf("product: operand %d has shape %v, want %v", i, o.View.Shape, shapes[i])
		}
		views[i] = shape.View{Shape: o.View.Shape[:r], Strides: o.View.Strides[:r]}
		list[i] = matrix{typ: o.Type, slot: i, off: o.View.Offset, row: o.View.Strides[r], col: o.View.Strides[r+1]}
	}
	c.batch = nil
	for i, v := range shape.Collapse(views...) {
		c.batch, list[i].batch = v.Shape, v.Strides
	}
	c.index = dtype.I32
	for i, m := range list {
		if m.reach(c.batch, shapes[i][r], shapes[i][r+1]) > indexLimit {
			c.index = dtype.I64
		}
	}
	c.a, c.b, c.extra, c.out = list[0], list[1], list[2:2+len(p.Extra)], list[2+len(p.Extra):]
	if out := c.out[0]; c.n < c.m && c.n <= fewRows || c.n > 1 && c.m > 1 && out.row == 1 && out.col != 1 {
		c.swap()
	}
	c.fold()
	return c, nil
}

// indexLimit bounds indices of 32 bits. It leaves room for tiles that extend beyond the edge.
const indexLimit = 1<<31 - 1<<20

// reach returns the greatest index of an element of a matrix, or the number of elements if that is greater.
func (m matrix) reach(batch []int, rows, cols int) int {
	n, size := m.off+max(m.row, 0)*max(rows-1, 0)+max(m.col, 0)*max(cols-1, 0), rows*cols
	for i, d := range batch {
		n += max(m.batch[i], 0) * max(d-1, 0)
		size *= d
	}
	return max(n, size)
}

// swap turns c into the product of the transposes: Cᵀ = Bᵀ·Aᵀ.
func (c *product) swap() {
	c.m, c.n, c.a, c.b, c.swapped = c.n, c.m, c.b.transposed(), c.a.transposed(), !c.swapped
	for i := range c.extra {
		c.extra[i] = c.extra[i].transposed()
	}
	for i := range c.out {
		c.out[i] = c.out[i].transposed()
	}
}

// fold joins the innermost dimensions of the batch to the rows, as long as B does not depend on them and the strides of the other
// operands allow it.
func (c *product) fold() {
	for last := len(c.batch) - 1; last >= 0; last-- {
		rest := append([]*matrix{&c.a}, pointersTo(c.extra)...)
		rest = append(rest, pointersTo(c.out)...)
		if c.b.batch[last] != 0 || slices.ContainsFunc(rest, func(m *matrix) bool { return c.m > 1 && m.batch[last] != m.row*c.m }) {
			return
		}
		for _, m := range append(rest, &c.b) {
			if c.m == 1 && m != &c.b {
				m.row = m.batch[last]
			}
			m.batch = m.batch[:last]
		}
		c.m *= c.batch[last]
		c.batch = c.batch[:last]
	}
}

func pointersTo(list []matrix) []*matrix {
	out := make([]*matrix, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// batches returns the number of elements of the batch.
func (c *product) batches() int {
	n := 1
	for _, d := range c.batch {
		n *= d
	}
	return n
}

// temporary adds a temporary of the given size and returns its slot.
func (c *product) temporary(bytes int) int {
	c.temps = append(c.temps, int64(bytes))
	return 2 + len(c.extra) + len(c.out) + len(c.temps) - 1
}
