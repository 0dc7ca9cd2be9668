package attention

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
)

// worker is the workspace of one thread.
type worker[T float] struct {
	*run[T]
	q      []T // the queries of a block times the scale, [block, depth]
	scores []T // a tile, [block, tile]
	top    []T // by row: the maximum score so far
	sum    []T // the sum of exp(score-top) so far
	most   []T // the maximum score in the tile
}

func (r *run[T]) worker(buffer []T) *worker[T] {
	w := &worker[T]{run: r}
	for _, p := range []struct {
		to *[]T
		n  int
	}{{&w.scores, r.block * r.tile}, {&w.q, r.block * r.depth}, {&w.top, r.block}, {&w.sum, r.block}, {&w.most, r.block}} {
		*p.to, buffer = buffer[:p.n], buffer[p.n:]
	}
	return w
}

// queryAt returns the batch index, the query head and the query of a row of key head h. h counts the key heads of all batch entries.
func (r *run[T]) queryAt(h, row int) (b, head, query int) {
	return h / r.shared, h%r.shared*(r.heads/r.shared) + row/r.queries, row % r.queries
}

// rowsOf computes the results of n rows of key head h, beginning with row from.
func (w *worker[T]) rowsOf(h, from, n int) {
	w.load(h, from, n)
	out := w.out[(h*w.rows+from)*w.width:][:n*w.width]
	first, last := w.reach(from, n)
	fill(w.top[:n], T(math.Inf(-1)))
	begun := false
	for j := first / w.tile * w.tile; j < last; j += w.tile {
		keys := w.multiply(h, n, j, min(w.tile, last-j))
		w.weigh(h, from, n, j, keys, w.scores, w.tile)
		w.advance(out, from, n, j, keys, begun)
		gemm.Mul(w.pool, &gemm.Args[T]{M: n, N: w.width, K: keys, A: gemm.Row(w.scores, w.tile), B: w.v.matrix(h, w.shared, j),
			C: out, LDC: w.width, Accumulate: begun})
		begun = true
	}
	for i := range n {
		row := out[i*w.width:][:w.width]
		if math.IsInf(float64(w.top[i]), -1) { // no key is seen
			clear(row)
			continue
		}
		scale(row, row, 1/w.sum[i])
	}
	if !isFinite(sum(out)) {
		w.whole(h, from, n, out)
	}
}

// whole computes a block from all scores of its rows at once. It divides the weights by their sum before it multiplies the values, so that
// values near the greatest finite number do not overflow.
func (w *worker[T]) whole(h, from, n int, out []T) {
	scores, top := make([]T, n*w.keys), w.top[:n]
	gemm.Mul(w.pool, &gemm.Args[T]{M: n, N: w.keys, K: w.depth, A: gemm.Row(w.q, w.depth), B: w.k.matrix(h, w.shared, 0).T(), C: scores, LDC: w.keys})
	w.weigh(h, from, n, 0, w.keys, scores, w.keys)
	for i := range n {
		row := scores[i*w.keys:][:w.keys]
		top[i] = w.most[i]
		lo, hi := w.part(from+i, 0, w.keys)
		if total := expSub(row[lo:hi], shift(top[i])); total != 0 {
			for j, p := range row[lo:hi] {
				row[lo+j] = p / total
			}
		}
	}
	gemm.Mul(w.pool, &gemm.Args[T]{M: n, N: w.width, K: w.keys, A: gemm.Row(scores, w.keys), B: w.v.matrix(h, w.shared, 0), C: out, LDC: w.width})
	for i := range n {
		if math.IsInf(float64(top[i]), -1) {
			clear(out[i*w.width:][:w.width])
		}
	}
}

// load copies the scaled queries of a block into q.
func (w *worker[T]) load(h, from, n int) {
	if w.depth == 0 {
		return
	}
	s := w.run.q.strides
	if s[3] == 1 && s[2] == w.depth && (from%w.queries+n <= w.queries || s[1] == w.queries*w.depth) { // the rows are contiguous
		b, head, query := w.queryAt(h, from)
		scale(w.q[:n*w.depth], w.run.q.data[s[4]+b*s[0]+head*s[1]+query*s[2]:][:n*w.depth], T(w.scale))
		return
	}
	for i := range n {
		b, head, query := w.queryAt(h, from+i)
		at := s[4] + b*s[0] + head*s[1] + query*s[2]
		to := w.q[i*w.depth:][:w.depth]
		if s[3] == 1 {
			scale(to, w.run.q.data[at:][:w.depth], T(w.scale))
			continue
		}
		for d := range to {
			to[d] = w.run.q.data[at+d*s[3]] * T(w.scale)
		}
	}
}

// reach returns the range of keys that at least one query of the block sees, before the mask is applied.
func (w *worker[T]) reach(from, n int) (first, last int) {
	if !w.skips {
		return 0, w.keys
	}
	first, last = w.keys, 0
	for i := range n {
		if lo, hi := w.seen((from + i) % w.queries); lo < hi {
			first, last = min(first, lo), max(last, hi)
		}
	}
	return first, last
}

// part returns the range of keys that a row sees among the n keys from j on, relative to j.
func (w *worker[T]) part(row, j, n int) (lo, hi int) {
	if !w.limited() {
		return 0, n
	}
	lo, hi = w.seen(row % w.queries)
	lo, hi = min(max(lo-j, 0), n), min(max(hi-j, 0), n)
	return lo, max(lo, hi)
}

// multiply sets the tile to the products of the queries with at least n keys from j on, and returns the number of keys.
func (w *worker[T]) multiply(h, rows, j, n int) int {
	args := &gemm.Args[T]{M: rows, N: n, K: w.depth, A: gemm.Row(w.q, w.depth), C: w.scores, LDC: w.tile}
	if w.packed == nil {
		args.B = w.k.matrix(h, w.shared, j).T()
	} else {
		b := w.packed[h*ceil(w.keys, w.tile)+j/w.tile].First(n)
		args.PackedB = &b
		_, args.N = b.Size()
	}
	gemm.Mul(w.pool, args)
	return args.N
}

// weigh converts n rows of products with keys from j on into scores: it applies the softcap and the mask, and sets most. Scores of keys
// that a row does not see become zero. The queries already contain the scale.
func (w *worker[T]) weigh(h, from, n, j, keys int, scores []T, ld int) {
	plain := !w.limited() && w.mask == nil && w.softcap == 0
	for i := 0; !plain && i < n; i++ {
		row := scores[i*ld:][:keys]
		lo, hi := w.part(from+i, j, keys)
		clear(row[:lo])
		clear(row[hi:])
		row = row[lo:hi]
		if w.softcap != 0 {
			applySoftcap(row, T(w.softcap))
		}
		if w.mask != nil && lo < hi {
			b, head, query := w.queryAt(h, from+i)
			apply(w.mask, row, w.low, b, head, query, j+lo)
		}
		w.most[i] = greatest(row)
	}
	if plain {
		greatestOfRows(w.most[:n], scores, keys, ld)
	}
}

// advance converts the scores of the tile to weights relative to the greatest score so far, and rescales the earlier sums
// accordingly (online softmax).
func (w *worker[T]) advance(out []T, from, n, j, keys int, begun bool) {
	for i := range n {
		lo, hi := w.part(from+i, j, keys)
		top := max(w.top[i], w.most[i])
		total := expSub(w.scores[i*w.tile:][lo:hi], shift(top))
		if begun {
			if top != w.top[i] {
				f := T(math.Exp(float64(w.top[i] - shift(top))))
				w.sum[i] *= f
				row := out[i*w.width:][:w.width]
				scale(row, row, f)
			}
			total += w.sum[i]
		}
		w.top[i], w.sum[i] = top, total
	}
}
