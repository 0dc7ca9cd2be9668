package template

import (
	"slices"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// epilogue computes the results from elements of C and writes them.
type epilogue struct {
	k          *productKernel
	number     ir.Value // number of the element of the batch
	extra, out []strided
	wide       []int    // elements of an access, for each operand of extra, then of out
	m, n       ir.Value // rows and columns of C
	body       Body
	// valid says whether the block or thread has any elements; 0 means that all have.
	valid ir.Value
	// at is the offset of an element of a matrix.
	at func(x strided, row, col ir.Value) ir.Value
	// every says that each group of columns is either complete or outside of the matrix.
	every bool
}

// epilogue adds the operands of the body and the results to the parameters. Elements are then passed to put in groups of width columns.
func (k *productKernel) epilogue(number ir.Value, batch []ir.Value, m, n ir.Value, width int) *epilogue {
	c := k.c
	last := c.n // columns that are contiguous
	if v := c.conv; v != nil && v.columns {
		last = v.places[len(v.places)-1]
	}
	e := &epilogue{k: k, number: number, m: m, n: n, body: c.body, every: last%width == 0, at: k.at}
	for i, x := range c.extra {
		e.extra = append(e.extra, k.region(numbered("extra", i), x, ir.Read, batch))
	}
	for i, x := range c.out {
		e.out = append(e.out, k.region(numbered("out", i), x, ir.Write, batch))
	}
	for _, x := range slices.Concat(c.extra, c.out) {
		e.wide = append(e.wide, min(width, x.aligned(false, last, c.t.Wide, c.batch)))
	}
	if c.conv != nil {
		e.at = c.conv.locate(k)
	}
	return e
}

// put computes and writes the results of those neighbouring elements of a row that are within the matrix.
func (e *epilogue) put(row, col ir.Value, sums []ir.Value) {
	k := e.k
	inside := k.Lt(row, e.m)
	if e.valid != 0 {
		inside = k.And(e.valid, inside)
	}
	if e.every {
		k.If(k.And(inside, k.Lt(col, e.n)), func() { e.write(row, col, sums) })
		return
	}
	k.If(inside, func() {
		for i, s := range sums {
			j := k.plus(col, i)
			k.If(k.Lt(j, e.n), func() { e.write(row, j, []ir.Value{s}) })
		}
	})
}

func (k *productKernel) plus(v ir.Value, n int) ir.Value {
	if n == 0 {
		return v
	}
	return k.Add(v, k.Int(n))
}

func (e *epilogue) write(row, col ir.Value, sums []ir.Value) {
	k := e.k
	in := make([][]ir.Value, len(e.extra))
	for i, x := range e.extra {
		in[i] = e.loads(x, row, col, len(sums), min(e.wide[i], len(sums)))
	}
	out := make([][]ir.Value, len(e.out))
	for j, s := range sums {
		args := []ir.Value{s}
		for i := range in {
			args = append(args, in[i][j])
		}
		for i, v := range e.body(k.Builder, args, e.axis(row, col, j)) {
			out[i] = append(out[i], v)
		}
	}
	for i, x := range e.out {
		w := min(e.wide[len(e.extra)+i], len(sums))
		for j := 0; j < len(sums); j += w {
			k.Store(x.buf, e.at(x, row, k.plus(col, j)), out[i][j:j+w]...)
		}
	}
}

// loads returns n neighbouring elements of a row, in accesses of width elements.
func (e *epilogue) loads(x strided, row, col ir.Value, n, width int) []ir.Value {
	k := e.k
	if x.col == 0 && len(x.outer) == 0 {
		return slices.Repeat([]ir.Value{k.Load(x.buf, e.at(x, row, col))}, n)
	}
	var v []ir.Value
	for j := 0; j < n; j += width {
		v = append(v, k.LoadWide(x.buf, e.at(x, row, k.plus(col, j)), width)...)
	}
	return v
}

// axis returns a function that computes the position of element (row, col+j) along an axis of the iteration space of the body.
func (e *epilogue) axis(row, col ir.Value, j int) func(int) ir.Value {
	k, c := e.k, e.k.c
	r := len(c.shape)
	if c.conv != nil {
		return c.conv.axis(k, e.number, row, k.plus(col, j))
	}
	return func(axis int) ir.Value {
		last, before := r-1, r-2
		if c.swapped {
			last, before = before, last
		}
		if axis == last {
			return k.plus(col, j)
		}
		// A batch dimension was folded into the rows: the row is a position in that dimension and the axis of rows.
		dims := append(slices.Clone(c.shape[:r-2]), c.shape[before])
		number := k.Add(k.Mul(e.number, k.Int(c.m)), row)
		if axis == before {
			axis = r - 2
		}
		for i := len(dims) - 1; i > axis; i-- {
			number = k.Div(number, k.Int(dims[i]))
		}
		if axis == 0 {
			return number
		}
		return k.Rem(number, k.Int(dims[axis]))
	}
}
