package libtorch

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var indexing = map[op.Code]rule{
	op.Gather:  {run: gather, types: anyType},
	op.Scatter: {run: scatter, types: anyType},
}

var (
	opIndexSelect   = aten("index_select")
	opGather        = aten("gather")
	opScatter       = aten("scatter.src")
	opScatterAdd    = aten("scatter_add")
	opScatterReduce = aten("scatter_reduce.two")
)

// indices returns indices as an i64 vector in row-major order, and its elements on the host. It fails unless all are in [0, n): the
// elements are read first, because some devices abort the process for an invalid index.
func (w *worker) indices(x val, n int) (i val, v []int64) {
	i = w.reshape(w.convert(x, dtype.I64), shape.Of(x.s.Size()))
	if w.err != nil || x.s.Size() == 0 {
		return i, nil
	}
	if w.dev.reads {
		p, err := w.thread.Data(i.h)
		if err != nil {
			w.fail(err)
			return i, nil
		}
		v = unsafe.Slice((*int64)(p), i.s[0])
	} else {
		v = make([]int64, i.s[0])
		h, err := w.thread.Over(unsafe.Pointer(&v[0]), i.s, torch.Int64)
		if err == nil {
			err = w.thread.Copy(h, i.h)
			w.thread.Delete(h)
		}
		if err != nil {
			w.fail(err)
			return i, nil
		}
	}
	for _, k := range v {
		if k < 0 || k >= int64(n) {
			w.fail(fmt.Errorf("index %d, want [0,%d): %w", k, n, core.ErrIndex))
			return i, nil
		}
	}
	return i, v
}

// parts returns the sizes of an indexed tensor: of its batch dimensions, of the dimensions between them and the axis, of the axis, and of
// the dimensions after it.
func parts(x shape.Shape, axis, batch int) (b, m, n, p int) {
	return x[:batch].Size(), x[batch:axis].Size(), x[axis], x[axis+1:].Size()
}

func gather(w *worker) {
	x, idx, d := w.in[0], w.in[1], w.n.Outputs[0]
	axis, batch := w.n.Attrs.Int("axis"), w.n.Attrs.Int("batch")
	if d.Shape.Size() == 0 {
		w.out[0] = w.empty(d.DType, d.Shape)
		return
	}
	b, m, n, p := parts(x.s, axis, batch)
	i, _ := w.indices(idx, n)
	q := idx.s[batch:].Size()
	if b == 1 {
		y := w.call(opIndexSelect, x.d, slices.Concat(x.s[:axis], shape.Of(q), x.s[axis+1:]), func(t *torch.Thread) {
			t.Tensor(x.h)
			t.Int(axis)
			t.Tensor(i.h)
		})
		w.out[0] = w.reshape(y, d.Shape)
		return
	}
	i = w.expand(w.reshape(i, shape.Of(b, 1, q, 1)), shape.Of(b, m, q, p))
	x = w.reshape(x, shape.Of(b, m, n, p))
	y := w.call(opGather, x.d, shape.Of(b, m, q, p), func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(2)
		t.Tensor(i.h)
		t.Bool(false)
	})
	w.out[0] = w.reshape(y, d.Shape)
}

// lastOf returns, for each index of b batches, the position of the last equal index in its batch, or nil if all indices differ. If updates
// are read at these positions, equal indices have equal updates, and the last update remains in whichever order a device writes them.
func lastOf(indices []int64, b int) []int64 {
	last, repeats := make([]int64, len(indices)), false
	q := len(indices) / max(1, b)
	for at := 0; at < len(indices); at += q {
		seen := make(map[int64]int64, q)
		for j := q - 1; j >= 0; j-- {
			k, again := seen[indices[at+j]]
			if !again {
				k = int64(j)
				seen[indices[at+j]] = k
			}
			last[at+j], repeats = k, repeats || again
		}
	}
	if !repeats {
		return nil
	}
	return last
}

func scatter(w *worker) {
	x, idx, u, mode := w.in[0], w.in[1], w.in[2], w.n.Attrs.Str("mode")
	axis, batch := w.n.Attrs.Int("axis"), w.n.Attrs.Int("batch")
	if u.s.Size() == 0 || x.s.Size() == 0 {
		w.out[0] = x
		return
	}
	b, m, n, p := parts(x.s, axis, batch)
	i, at := w.indices(idx, n)
	q := idx.s[batch:].Size()
	i = w.expand(w.reshape(i, shape.Of(b, 1, q, 1)), shape.Of(b, m, q, p))
	s := x.s
	x, u = w.reshape(x, shape.Of(b, m, n, p)), w.reshape(u, shape.Of(b, m, q, p))
	if last := lastOf(at, b); mode == "assign" && !w.dev.reads && last != nil && w.err == nil {
		j := w.expand(w.host(dtype.I64, shape.Of(b, 1, q, 1), dtype.Bytes(last)), shape.Of(b, m, q, p))
		u = w.call(opGather, u.d, u.s, func(t *torch.Thread) {
			t.Tensor(u.h)
			t.Int(2)
			t.Tensor(j.h)
			t.Bool(false)
		})
	}
	wide := x.d
	if mode != "assign" && (x.d == dtype.F16 || x.d == dtype.BF16) {
		wide = dtype.F32
	}
	x, u = w.to(x, wide), w.to(u, wide)
	o, reduce := opScatterReduce, ""
	switch mode {
	case "assign":
		o = opScatter
	case "add":
		o = opScatterAdd
	case "mul":
		reduce = "prod"
	case "min":
		reduce = "amin"
	case "max":
		reduce = "amax"
	}
	if reduce != "" && !w.dev.lists {
		y := w.empty(x.d, x.s)
		if w.err == nil {
			w.fail(w.thread.ScatterReduce(w.dev.shim.scatterReduce, y.h, x.h, 2, i.h, u.h, reduce))
		}
		w.out[0] = w.reshape(w.to(y, w.in[0].d), s)
		return
	}
	y := w.call(o, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(2)
		t.Tensor(i.h)
		t.Tensor(u.h)
		if reduce != "" {
			t.Text(reduce)
			t.Bool(true)
		}
	})
	w.out[0] = w.reshape(w.to(y, w.in[0].d), s)
}
