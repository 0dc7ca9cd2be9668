package group

import "github.com/goburn/burn/core/op"

// waiting tracks the bytes of computed tensors that are live while the groups at each position run. It does not count inputs and constants,
// which the caller owns, or the reuse of the memory of operands.
type waiting struct {
	live   []int64
	limit  int64
	writer map[op.TensorID]int
	last   map[op.TensorID][]int // groups that read it; nil if the program returns it
}

func newWaiting(b *batcher, writer map[op.TensorID]int) *waiting {
	w := &waiting{live: make([]int64, len(b.groups)), writer: writer, last: map[op.TensorID][]int{}}
	for i, x := range b.groups {
		for _, id := range x.Inputs {
			if _, made := writer[id]; made {
				w.last[id] = append(w.last[id], i)
			}
		}
	}
	for _, id := range b.Outputs {
		w.last[id] = nil
	}
	for id := range writer {
		w.add(b, id, 1)
	}
	for _, v := range w.live {
		w.limit = max(w.limit, v)
	}
	w.limit += b.how.Slack
	return w
}

// add adds the bytes of tensor id, times sign, to the positions where it is live.
func (w *waiting) add(b *batcher, id op.TensorID, sign int64) {
	first := b.place[w.writer[id]]
	end := first
	for _, r := range w.last[id] {
		end = max(end, b.place[r])
	}
	if readers, read := w.last[id]; read && readers == nil {
		end = len(w.live) - 1
	}
	for p := first; p <= end; p++ {
		w.live[p] += sign * int64(b.Desc(id).Bytes())
	}
}

// moves updates the live bytes as if group i ran at position to, and leaves b.place unchanged. It reports false, and changes nothing, if
// that exceeds the limit.
func (w *waiting) moves(b *batcher, i, to int) bool {
	x, from := b.groups[i], b.place[i]
	count := func(sign int64) {
		for _, d := range x.Outputs {
			w.add(b, d.ID, sign)
		}
		for _, id := range x.Inputs {
			if _, made := w.writer[id]; made {
				w.add(b, id, sign)
			}
		}
	}
	count(-1)
	b.place[i] = to
	count(1)
	for _, v := range w.live {
		if v > w.limit {
			count(-1)
			b.place[i] = from
			count(1)
			return false
		}
	}
	b.place[i] = from
	return true
}
