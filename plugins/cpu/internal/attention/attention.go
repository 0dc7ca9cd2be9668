// Package attention contains the kernel of scaled dot-product attention. It processes blocks of query rows against tiles of keys with a
// running maximum and sum (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022). A
// thread thus stores one tile of the scores at a time, except for blocks whose result is not finite: these are computed again from all
// their scores. The package stands between the rules of the backend and packages gemm and vecmath. Products must be computed by package
// gemm.
package attention

import (
	"math"
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

type float interface{ float32 | float64 }

const (
	// tileRows is the approximate number of query rows of a block. tileElements is the approximate number of scores of a tile. valueBytes
	// bounds the bytes of a tile's values, which are multiplied without packing, if the keys are packed.
	tileRows     = 56
	tileElements = 28 << 10
	valueBytes   = 96 << 10
	// The keys of a head are packed once for all blocks if the head has at least fewestPacked query rows.
	fewestPacked = 16
	// minWork is the least number of multiply-adds for which another thread is used.
	minWork   = 256 << 10
	packGrain = 16 << 10
)

// layer contains the sizes and settings of a node. The rows of a key head are the rows of all query heads that share it.
type layer struct {
	batch, heads, shared, queries, keys, depth, width int
	rows                                              int // of a key head: heads/shared*queries
	scale, softcap                                    float64
	causal                                            bool
	past, window                                      int
}

// Rules returns the kernel of this package.
func Rules() map[op.Code]kernel.Rule {
	return map[op.Code]kernel.Rule{op.Attention: kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
		if in[0].DType == dtype.F64 {
			return prepare[float64](n, in)
		}
		return prepare[float32](n, in)
	}})}
}

func prepare[T float](n *op.Node, in []op.Desc) kernel.Func {
	q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
	l := &layer{batch: q[0], heads: q[1], shared: k[1], queries: q[2], keys: k[2], depth: q[3], width: v[3], rows: q[1] / k[1] * q[2],
		scale: n.Attrs.Float("scale"), softcap: n.Attrs.Float("softcap"), causal: n.Attrs.Bool("causal"),
		past: n.Attrs.Int("past"), window: min(n.Attrs.Int("window"), 1<<50)}
	if l.scale == 0 {
		l.scale = 1 / math.Sqrt(float64(max(1, l.depth)))
	}
	return func(c *kernel.Call) error {
		out := kernel.Flat[T](c.Alloc(0))
		if len(out) == 0 {
			return nil
		}
		if l.keys == 0 {
			clear(out)
			return nil
		}
		newRun(c, l, out).compute(c)
		return nil
	}
}

// limited reports whether the causal attribute or the window can hide keys from a query.
func (l *layer) limited() bool { return l.causal || l.window > 0 }

// seen returns the range [lo, hi) of keys that query i sees, before the mask is applied.
func (l *layer) seen(i int) (lo, hi int) {
	lo, hi = 0, l.keys
	if l.causal {
		hi = min(hi, i+l.past+1)
	}
	if l.window > 0 {
		lo, hi = max(lo, i+l.past-l.window+1), min(hi, i+l.past+l.window)
	}
	return lo, max(lo, hi)
}

// run contains the operands of a call and its division into tasks.
type run[T float] struct {
	*layer
	pool    *par.Pool
	q, k, v operand[T]
	mask    *mask
	out     []T
	block   int               // rows of a task
	tile    int               // keys of each tile except the last
	packed  []gemm.PackedB[T] // keys by head and tile; nil where packing costs more than it saves
	skips   bool              // do not read keys that no query of a block sees; requires finite values
	low     []T               // -Inf, as long as a row of a tile
}

func newRun[T float](c *kernel.Call, l *layer, out []T) *run[T] {
	r := &run[T]{layer: l, pool: c.Pool, out: out, q: operandOf[T](c.In[0]), k: operandOf[T](forward(c, c.In[1], false)),
		v: operandOf[T](forward(c, c.In[2], true))}
	if len(c.In) > 3 {
		r.mask = newMask(c.In[3], l)
	}
	size := c.In[0].DType.Size()
	height := micro.Active[T]().MR
	blocks := ceil(l.rows, tileRows)
	r.block = min(l.rows, ceil(ceil(l.rows, blocks), height)*height)
	r.tile = max(64, min(tileElements/r.block, valueBytes/(size*l.width))/64*64)
	if l.rows < fewestPacked {
		r.tile = max(64, tileElements/r.block)
	}
	r.tile = min(r.tile, l.keys)
	r.skips = l.limited() && r.finite()
	if r.mask != nil {
		r.low = kernel.TempOf[T](c, r.tile)
		fill(r.low, T(math.Inf(-1)))
	}
	return r
}

// compute packs the keys and computes all blocks of rows.
func (r *run[T]) compute(c *kernel.Call) {
	if r.rows >= fewestPacked && r.depth > 0 {
		r.pack(c)
	}
	blocks := ceil(r.rows, r.block)
	tasks := r.batch * r.shared * blocks
	grain := minWork/(r.block*r.keys*(r.depth+r.width)) + 1
	size := r.block*(r.depth+r.tile+3) + 15
	size -= size % 16
	buffers := kernel.TempOf[T](c, size*c.Pool.Chunks(tasks, grain))
	var next atomic.Int32
	c.Pool.For(tasks, grain, func(lo, hi int) {
		w := r.worker(buffers[(int(next.Add(1))-1)*size:][:size])
		for t := lo; t < hi; t++ {
			from := t % blocks * r.block
			w.rowsOf(t/blocks, from, min(r.block, r.rows-from))
		}
	})
}

// pack packs the keys of all heads for the products.
func (r *run[T]) pack(c *kernel.Call) {
	tiles := ceil(r.keys, r.tile)
	size := gemm.PackedSizeB[T](r.depth, r.tile)
	data := kernel.TempOf[T](c, r.batch*r.shared*tiles*size)
	r.packed = make([]gemm.PackedB[T], r.batch*r.shared*tiles)
	c.Pool.For(len(r.packed), packGrain/size+1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from := i % tiles * r.tile
			r.packed[i] = gemm.PackBInto(c.Pool, data[i*size:][:size], r.depth, min(r.tile, r.keys-from), r.k.matrix(i/tiles, r.shared, from).T())
		}
	})
}

// finite reports whether all values are finite. It may also report false if their sum overflows. NaN and infinite values affect every
// query, even with weight zero.
func (r *run[T]) finite() bool {
	for h := range r.batch * r.shared {
		m := r.v.matrix(h, r.shared, 0)
		if m.RowStride == r.width && !isFinite(sum(m.Data[:r.keys*r.width])) {
			return false
		}
		for j := 0; m.RowStride != r.width && j < r.keys; j++ {
			if !isFinite(sum(m.Data[j*m.RowStride:][:r.width])) {
				return false
			}
		}
	}
	return true
}

// operand is an array of rank 4.
type operand[T float] struct {
	data    []T   // the buffer; nil if the array has no elements
	strides []int // with the offset of the first element as a fifth
}

func operandOf[T float](a kernel.Array) operand[T] {
	if a.Size() == 0 {
		return operand[T]{strides: make([]int, 4)}
	}
	return operand[T]{kernel.Data[T](a), append(append(make([]int, 0, 5), a.View.Strides...), a.View.Offset)}
}

// matrix returns a view of head h from the given row on. h is the batch index times heads, plus the index of the head.
func (o operand[T]) matrix(h, heads, row int) gemm.Mat[T] {
	if o.data == nil {
		return gemm.Mat[T]{}
	}
	s := o.strides
	return gemm.Mat[T]{Data: o.data[s[4]+h/heads*s[0]+h%heads*s[1]+row*s[2]:], RowStride: s[2], ColStride: s[3]}
}

// forward returns a, or a copy in row-major order if a stride is negative or, with dense, if the elements of a row are not contiguous.
func forward(c *kernel.Call, a kernel.Array, dense bool) kernel.Array {
	s := a.View.Strides
	if min(s[0], s[1], s[2], s[3]) >= 0 && (!dense || s[3] == 1) {
		return a
	}
	t := c.Temp(a.DType, a.View.Shape)
	kernel.Copy(c.Pool, t, a)
	return t
}

func ceil(a, b int) int { return (a + b - 1) / b }
