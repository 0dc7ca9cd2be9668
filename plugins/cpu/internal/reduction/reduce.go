// Package reduction contains the kernels that reduce along axes: sums, products, extremes and their indices, scans, statistics. For given
// operands the results must have the same bits for every thread count. Package cpu selects the kernels through the rules of package kernel.
package reduction

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

type float interface{ float32 | float64 }

type number interface {
	float | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// reducer is an associative operation.
type reducer[T number] struct {
	none T                // identity: the result for no elements
	line func(x []T) T    // result for the elements of a line, which is not empty
	join func(a, b T) T   // result for two partial results
	rows func(acc, x []T) // combines x into acc, element by element

	// ofRows reduces each row of cols elements to one element of out. Rows begin row elements apart. ofColumns reduces all
	// rows to one row, out. Both are nil where there is no loop in assembly.
	ofRows    func(out, x []T, cols, row int)
	ofColumns func(out, x []T, rows, row int)

	// stack reduces vector.Stacked rows, which begin row elements apart, into acc. It is nil if there is no loop in assembly.
	stack func(acc, x []T, row int)
	start T // initial value of acc: the identity, which is -0 for sums so that the sum of zeros keeps its sign
}

const (
	block          = 512      // elements of a strided line that are copied to a buffer at a time
	chunk          = 64 << 10 // elements of a long line that form one partial result
	grain          = 32 << 10 // least number of elements for which another thread is used
	cols           = 2048     // columns that are reduced at a time
	stackedColumns = 64 << 10 // columns that are reduced at a time, vector.Stacked rows in one pass
	whole          = 256      // greatest number of columns for which whole rows are read in one pass
	cacheElements  = 64 << 10 // elements that fit a cache, so that strips may be read in any order
)

// form is a view split into the dimensions that are kept and those that are reduced.
type form struct {
	kept, joined shape.View // both with dimensions merged where possible; the offset of the view is in kept
}

func split(v shape.View, axes []int) form {
	r := len(v.Shape)
	ints := make([]int, 4*r) // of all four lists
	f := form{
		kept:   shape.View{Shape: ints[0:0:r], Strides: ints[r : r : 2*r], Offset: v.Offset},
		joined: shape.View{Shape: ints[2*r : 2*r : 3*r], Strides: ints[3*r : 3*r]},
	}
	for i, n := range v.Shape {
		if slices.Contains(axes, i) {
			extend(&f.joined, n, v.Strides[i])
		} else {
			extend(&f.kept, n, v.Strides[i]) // the result is contiguous, so kept dimensions merge like those of a single view
		}
	}
	return f
}

// extend appends a dimension of n elements to a view, or merges it with the last one where both are one dimension in memory.
func extend(v *shape.View, n, stride int) {
	last := len(v.Shape) - 1
	switch {
	case n == 1:
	case last >= 0 && v.Strides[last] == stride*n:
		v.Shape[last] *= n
		v.Strides[last] = stride
	default:
		v.Shape, v.Strides = append(v.Shape, n), append(v.Strides, stride)
	}
}

func size(stride int) int {
	if stride < 0 {
		return -stride
	}
	return stride
}

// byColumns reports whether adjacent elements in memory belong to different results.
func (f *form) byColumns() bool {
	k, j := len(f.kept.Strides)-1, len(f.joined.Strides)-1
	if k < 0 || f.kept.Shape[k] < 4 || f.kept.Strides[k] != 1 {
		return false
	}
	return j < 0 || size(f.joined.Strides[j]) > 1
}

// reduce returns a kernel that reduces with r, and then applies finish, unless it is nil, to the results.
func reduce[T number](n *op.Node, r *reducer[T], finish func(y []T)) kernel.Func {
	axes := n.Attrs.Ints("axes")
	return func(c *kernel.Call) error {
		y := kernel.Flat[T](c.Alloc(0))
		apply(c, c.In[0], axes, r, y)
		if finish != nil {
			finish(y)
		}
		return nil
	}
}

func apply[T number](c *kernel.Call, x kernel.Array, axes []int, r *reducer[T], y []T) {
	if len(y) == 0 {
		return
	}
	if x.Size() == 0 {
		for i := range y {
			y[i] = r.none
		}
		return
	}
	f := split(x.View, axes)
	data := kernel.Data[T](x)
	if f.byColumns() {
		columns(c, &f, data, r, y)
		return
	}
	lines(c, &f, data, r, y)
}

// lines reduces line by line.
func lines[T number](c *kernel.Call, f *form, data []T, r *reducer[T], y []T) {
	per, n, step := f.joined.Shape.Size(), 1, 1
	outer := shape.View{}
	if last := len(f.joined.Shape) - 1; last >= 0 {
		n, step = f.joined.Shape[last], f.joined.Strides[last]
		outer = shape.View{Shape: f.joined.Shape[:last], Strides: f.joined.Strides[:last]}
	}
	if n > 2*chunk && step == 1 && per == n {
		kept := kernel.NewWalk(f.kept.Shape, []int{f.kept.Offset}, f.kept.Strides)
		longLines(c, &kept, data, n, r, y)
		return
	}
	if row, ok := only(f.kept); ok && r.ofRows != nil && step == 1 && per == n && n <= vector.RowLimit && row >= 0 {
		rows(c, data[f.kept.Offset:], n, row, r, y)
		return
	}
	kept := kernel.NewWalk(f.kept.Shape, []int{f.kept.Offset}, f.kept.Strides)
	inner := kernel.NewWalk(outer.Shape, []int{0}, outer.Strides)
	c.Pool.For(len(y), grain/per+1, func(lo, hi int) {
		s := scratches.Get().(*scratch)
		tmp := unsafe.Slice((*T)(unsafe.Pointer(s)), block)
		at := kept.Start(lo)
		for i := lo; i < hi; i++ {
			in := inner.Start(0)
			acc := line(data, at.Pos[0]+in.Pos[0], step, n, tmp, r)
			for range inner.Count() - 1 {
				in.Next()
				acc = r.join(acc, line(data, at.Pos[0]+in.Pos[0], step, n, tmp, r))
			}
			y[i] = acc
			at.Next()
		}
		scratches.Put(s)
	})
}

// rows reduces rows of n adjacent elements, which begin row elements apart.
func rows[T number](c *kernel.Call, data []T, n, row int, r *reducer[T], y []T) {
	if len(y)*n <= grain {
		r.ofRows(y, data, n, row)
		return
	}
	c.Pool.For(len(y), grain/n+1, func(lo, hi int) { r.ofRows(y[lo:hi], data[lo*row:], n, row) })
}

// only returns the stride of a view of one dimension, or 0 for a view of none. ok is false for more dimensions.
func only(v shape.View) (step int, ok bool) {
	if len(v.Shape) == 1 {
		return v.Strides[0], true
	}
	return 0, len(v.Shape) == 0
}

type scratch [block]uint64

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func line[T number](data []T, pos, step, n int, tmp []T, r *reducer[T]) T {
	if step == 1 {
		return r.line(data[pos : pos+n])
	}
	var acc T
	for done := 0; done < n; {
		part := tmp[:min(n-done, len(tmp))]
		for i := range part {
			part[i] = data[pos]
			pos += step
		}
		if v := r.line(part); done == 0 {
			acc = v
		} else {
			acc = r.join(acc, v)
		}
		done += len(part)
	}
	return acc
}

// longLines reduces lines of n elements, each in parts of a fixed size, so that the result does not depend on the thread
// count.
func longLines[T number](c *kernel.Call, lines *kernel.Walk, data []T, n int, r *reducer[T], y []T) {
	each := (n + chunk - 1) / chunk
	parts := kernel.TempOf[T](c, len(y)*each)
	c.Pool.For(len(parts), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at, k := lines.Start(i/each), i%each
			parts[i] = r.line(data[at.Pos[0]:][k*chunk : min((k+1)*chunk, n)])
		}
	})
	for i := range y {
		y[i] = r.line(parts[i*each:][:each])
	}
}

// columns reduces rows to one row, a strip of columns at a time.
func columns[T number](c *kernel.Call, f *form, data []T, r *reducer[T], y []T) {
	last := len(f.kept.Shape) - 1
	n := f.kept.Shape[last]
	kept := kernel.NewWalk(f.kept.Shape[:last], []int{f.kept.Offset}, f.kept.Strides[:last])
	joined := kernel.NewWalk(f.joined.Shape, []int{0}, f.joined.Strides)
	width := min(n, cols)
	if strips := (n + width - 1) / width * kept.Count(); strips < 2*c.Pool.Threads() { // narrower, so that all threads have strips
		width = max(min(n, 64), n*kept.Count()/(2*c.Pool.Threads())/max(1, kept.Count()))
	}
	if kept.Count() == 1 && joined.Count() >= 2*tall {
		byParts(c, at(&kept), f.joined, data, r, y)
		return
	}
	row, single := only(f.joined)
	kernels := r.ofColumns != nil && single && row >= 0 && (n <= whole && row == n || joined.Count()*row <= cacheElements)
	stacks := r.stack != nil && single && row >= 0
	strips := (n + width - 1) / width
	c.Pool.For(kept.Count()*strips, grain/(width*joined.Count())+1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at := kept.Start(i / strips)
			from := i % strips * width
			to := min(from+width, n)
			acc := y[i/strips*n+from : i/strips*n+to]
			switch {
			case kernels:
				r.ofColumns(acc, data[at.Pos[0]+from:], joined.Count(), row)
				continue
			case stacks:
				r.reduceRows(acc, data[at.Pos[0]+from:], joined.Count(), row)
				continue
			}
			in := joined.Start(0)
			copy(acc, data[at.Pos[0]+in.Pos[0]+from:])
			for range joined.Count() - 1 {
				in.Next()
				r.rows(acc, data[at.Pos[0]+in.Pos[0]+from:][:len(acc)])
			}
		}
	})
}

// reduceRows reduces rows, which begin row elements apart, into acc, one cache-sized strip of columns at a time.
func (r *reducer[T]) reduceRows(acc, x []T, rows, row int) {
	for at := 0; at < len(acc); at += stackedColumns {
		some, k := acc[at:min(at+stackedColumns, len(acc))], 0
		for i := range some {
			some[i] = r.start
		}
		for ; rows-k >= vector.Stacked; k += vector.Stacked {
			r.stack(some, x[at+k*row:], row)
		}
		for ; k < rows; k++ {
			r.rows(some, x[at+k*row:][:len(some)])
		}
	}
}

// tall is the least number of rows that form one partial result; parts bounds the number of partial results.
const (
	tall  = 64
	parts = 32
)

func at(w *kernel.Walk) int {
	first := w.Start(0)
	return first.Pos[0]
}

// byParts reduces many rows to one on all threads. Each part is a fixed range of rows, so that the result does not depend on
// the thread count.
func byParts[T number](c *kernel.Call, from int, view shape.View, data []T, r *reducer[T], y []T) {
	joined := kernel.NewWalk(view.Shape, []int{0}, view.Strides)
	rows, n := joined.Count(), len(y)
	row, single := only(view)
	kernels := r.ofColumns != nil && single && row >= 0 && n <= whole
	stacks := r.stack != nil && single && row >= 0
	count := min(parts, rows/tall)
	partial := kernel.TempOf[T](c, count*n)
	c.Pool.For(count, grain/(rows/count*n)+1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			first, last := rows*i/count, rows*(i+1)/count
			switch {
			case kernels:
				r.ofColumns(partial[i*n:][:n], data[from+first*row:], last-first, row)
				continue
			case stacks:
				r.reduceRows(partial[i*n:][:n], data[from+first*row:], last-first, row)
				continue
			}
			in := joined.Start(first)
			for k := first; k < last; k++ {
				for at := 0; at < n; at += cols { // a strip of acc stays in the L1 cache
					acc := partial[i*n+at : i*n+min(at+cols, n)]
					if k == first {
						copy(acc, data[from+in.Pos[0]+at:])
					} else {
						r.rows(acc, data[from+in.Pos[0]+at:][:len(acc)])
					}
				}
				in.Next()
			}
		}
	})
	copy(y, partial)
	for i := 1; i < count; i++ {
		r.rows(y, partial[i*n:][:n])
	}
}
