package router

import "github.com/goburn/burn/core/op"

// bring plans the transfer of a tensor to a member unless the member has it, and returns its id there. The transfer does not block the
// caller. The caller holds the device's mu.
func (q *queue) bring(t *tensor, to *member) op.TensorID {
	l := q.lane(to)
	if c := t.on(to); c != nil {
		q.behind(l, c)
		return c.id
	}
	from := t.source()
	own := t.desc
	own.ID = to.newID(t.desc.ID)
	c := &copied{m: to, id: own.ID, gate: l.Gate()}
	t.copies = append(t.copies, c)
	src, link := q.lane(from.m), &q.dev.links[from.m.index][to.index]
	link.count(own.Bytes())
	q.behind(src, from)
	if link.peer {
		from.readers = append(from.readers, c.gate)
	}
	q.do(func() { l.Copy(src, from.id, own, link.peer, c.gate) })
	return c.id
}
