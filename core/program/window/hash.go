package window

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// Hashes find candidates; a complete comparison decides. Only speed depends on the quality of hashes.

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func hashType(h uint64, d *op.Desc) uint64 {
	h = mix(h, uint64(d.DType)<<8|uint64(len(d.Shape)))
	for _, n := range d.Shape {
		h = mix(h, uint64(n))
	}
	return h
}

// hashAttrs hashes attributes, except the state of a draw.
func hashAttrs(h uint64, attrs op.Attrs, draw bool) uint64 {
	for i := range attrs {
		if draw && isState(attrs[i].Name) {
			continue
		}
		v := &attrs[i].Value
		bits, isInt := v.Bits()
		if isInt {
			bits ^= 1 << 62
		}
		h = mix(h, bits)
		for _, n := range v.Ints() {
			h = mix(h, uint64(n)+1)
		}
		for _, f := range v.Floats() {
			h = mix(h, math.Float64bits(f))
		}
		for _, b := range []byte(v.Str()) {
			h = mix(h, uint64(b)+1)
		}
	}
	return h
}

// Hash returns two hashes of a node, without its operands. kind covers the op, the types of the results and the attributes. For a source, a
// node without operands, the attributes are in values instead, because they may change from one window to the next, like a learning rate.
// For other nodes, and for draws, values is 0. Neither hash includes the state of a draw.
func Hash(n *op.Node, h *Faults) (kind, values uint64) {
	kind = mix(uint64(n.Op)<<32|uint64(n.Version), uint64(len(n.Inputs))<<32|uint64(len(n.Outputs)))
	if !h.Types {
		for i := range n.Outputs {
			kind = hashType(kind, &n.Outputs[i])
		}
	}
	draw := draws(n)
	switch {
	case h.Attrs:
		return kind, 0
	case len(n.Inputs) == 0 && !draw:
		return kind, hashAttrs(1, n.Attrs, false)
	}
	return hashAttrs(kind, n.Attrs, draw), 0
}

// sizeOf returns the size of attributes in memory, in bytes.
func sizeOf(attrs op.Attrs) int {
	size := 0
	for i := range attrs {
		v := &attrs[i].Value
		size += 96 + 8*len(v.Ints()) + 8*len(v.Floats()) + len(v.Str())
	}
	return size
}

// idTable maps ids to the numbers of tensors within a window. Clearing it takes constant time.
type idTable struct {
	slots []idSlot
	epoch uint32
	used  int
}

type idSlot struct {
	id    op.TensorID
	epoch uint32
	local int32
}

func (t *idTable) clear() {
	t.epoch++
	t.used = 0
	if t.epoch == 0 {
		clear(t.slots)
		t.epoch = 1
	}
}

func (t *idTable) at(id op.TensorID) int {
	return int(uint64(id) * 0x9e3779b97f4a7c15 >> 32 & uint64(len(t.slots)-1))
}

func (t *idTable) get(id op.TensorID) (int32, bool) {
	if t.used == 0 {
		return 0, false
	}
	for i := t.at(id); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.epoch != t.epoch {
			return 0, false
		}
		if s.id == id {
			return s.local, true
		}
	}
}

// put adds an id that is not in the table.
func (t *idTable) put(id op.TensorID, local int32) {
	if 2*(t.used+1) > len(t.slots) {
		old, epoch := t.slots, t.epoch
		t.slots, t.epoch, t.used = make([]idSlot, max(256, 2*len(old))), 1, 0
		for i := range old {
			if old[i].epoch == epoch && epoch != 0 {
				t.put(old[i].id, old[i].local)
			}
		}
	}
	i := t.at(id)
	for t.slots[i].epoch == t.epoch {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = idSlot{id, t.epoch, local}
	t.used++
}
