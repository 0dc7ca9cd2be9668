package group

import (
	"maps"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// grow returns the nodes of a group that begins with node i. In program order, it adds nodes that read results of the group. admit reports
// whether node k may be added, and which other nodes must be added with it. The result is the largest set found that can run at some
// position and has no more results than the policy allows; it may contain only i.
func (d *decider) grow(kind Kind, i int, admit func(set map[int]bool, k int) (also []int, ok bool)) map[int]bool {
	set, refused := map[int]bool{i: true}, map[int]bool{}
	best := maps.Clone(set)
	for {
		k := d.next(set, refused)
		if k < 0 {
			return best
		}
		var also []int
		ok := d.groups[k] == nil
		if ok {
			also, ok = admit(set, k)
		}
		if ok {
			also = append(also, k)
			for _, j := range also {
				set[j] = true
			}
			if !d.policy.fits(len(set), d.inputs(set)) {
				for _, j := range also {
					delete(set, j)
				}
				ok = false
			}
		}
		if !ok {
			if d.policy.outputs() == 1 {
				return best // the refused node reads a result, which is then the only output; a further node would add a second one
			}
			refused[k] = true
			continue
		}
		if d.policy.writes(d.inputs(set), d.results(set)) && d.form(kind, i, set) != nil {
			best = maps.Clone(set)
		}
	}
}

// next returns the first node within reach that reads a result of set and is neither in set nor refused, or -1 if there is none.
func (d *decider) next(set, refused map[int]bool) int {
	next, end := -1, len(d.Nodes)
	if d.policy.Reach > 0 {
		last := 0
		for k := range set {
			last = max(last, k)
		}
		end = min(end, last+d.policy.Reach+1)
	}
	for k := range set {
		for _, o := range d.Nodes[k].Outputs {
			for _, u := range d.Users(o.ID) {
				if u != Outside && u < end && !set[u] && !refused[u] && (next < 0 || u < next) {
					next = u
				}
			}
		}
	}
	return next
}

// absorb returns set with preceding elementwise nodes added, or set itself if the policy does not want this for groups of kind. It adds a
// node that computes an input of set if its result has the shape of space and no users outside of set. In elementwise groups the result may
// have other users: it becomes a further output of the group. It also adds nodes that the group may repeat: see repeated.
func (d *decider) absorb(kind Kind, anchor int, set map[int]bool, space op.Desc) map[int]bool {
	if kind != Reduction && kind != Norm && !d.policy.Absorb.Has(kind) {
		return set
	}
	set = maps.Clone(set)
	for again := true; again; {
		again = false
		for _, k := range sorted(set) {
			for _, id := range d.Nodes[k].Inputs {
				j, ok := d.Maker(id)
				if !ok || set[j] || d.groups[j] != nil || d.reserved(-1, j) || d.reads(set, j) {
					continue
				}
				beyond := d.usedBeyond(id, set)
				if !(d.inSpace(j, space) && (kind == Elementwise || !beyond)) && (beyond || !d.repeated(kind, anchor, j, space.Shape)) {
					continue
				}
				set[j] = true
				if !d.policy.fits(len(set), d.inputs(set)) || !d.policy.writes(d.inputs(set), d.results(set)) || d.form(kind, anchor, set) == nil {
					delete(set, j)
					continue
				}
				again = true
			}
		}
	}
	return set
}

// repeated reports whether a group of kind may compute node j again for each element of its space. The result of j is broadcast to that
// space.
func (d *decider) repeated(kind Kind, anchor, j int, space shape.Shape) bool {
	if d.policy.Repeat == nil || kind == Product || kind == Convolution || kind == Reduction || !d.policy.elementwise(d.Graph, j) {
		return false
	}
	s := d.Nodes[j].Outputs[0].Shape
	if kind != Elementwise {
		n := &d.Nodes[anchor]
		if r := rowsOf(n, d.Desc(n.Inputs[0])); r.narrow(s) {
			return false // one for each row
		}
	}
	wide, err := shape.Broadcast(s, space)
	return err == nil && wide.Equal(space) && !s.Equal(space) && d.policy.Repeat(d.Graph, j, space)
}

// reads reports whether node k, which was refused, reads a result of set.
func (d *decider) reads(set map[int]bool, k int) bool {
	return slices.ContainsFunc(d.Nodes[k].Inputs, func(id op.TensorID) bool {
		m, made := d.Maker(id)
		return made && set[m]
	})
}

// inputs returns the number of tensors that a set of nodes reads and does not compute.
func (d *decider) inputs(set map[int]bool) int {
	read := map[op.TensorID]bool{}
	for k := range set {
		for _, id := range d.Nodes[k].Inputs {
			if m, made := d.Maker(id); !made || !set[m] {
				read[id] = true
			}
		}
	}
	return len(read)
}

// results returns the number of tensors that a set of nodes computes and that are needed outside of it.
func (d *decider) results(set map[int]bool) int {
	n := 0
	for k := range set {
		for _, o := range d.Nodes[k].Outputs {
			if d.usedBeyond(o.ID, set) {
				n++
			}
		}
	}
	return n
}
