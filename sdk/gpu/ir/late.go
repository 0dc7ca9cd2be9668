package ir

// Late returns the kernel with every load of a read-only buffer, and every pure instruction, moved down to its first use. A compiler may do
// this, because nothing writes such a buffer while the kernel runs. Loads of Aliased parameters stay in place. If the late kernel computes
// other results, a launch has passed memory that the kernel also writes.
func (k *Kernel) Late() *Kernel {
	late := *k
	late.Body = (&delay{k: k}).body(k.Body, nil)
	return &late
}

// delay moves the instructions of bodies.
type delay struct{ k *Kernel }

// moves reports whether an instruction may be moved to any place between the definitions of its operands and the uses of its results.
func (d *delay) moves(in *Inst) bool {
	if in.Op == Load {
		p := d.k.Params[in.Ref]
		return p.Access == Read && !p.Aliased
	}
	return pure(in.Op)
}

// body moves the instructions of one body. The values in after are used after the body.
func (d *delay) body(list []Inst, after []Value) []Inst {
	from := map[Value]int{} // index of the definition of each value that was not used yet
	for i := range list {
		if d.moves(&list[i]) {
			for _, v := range list[i].Out {
				from[v] = i
			}
		}
	}
	out := make([]Inst, 0, len(list))
	var need func(vs []Value)
	need = func(vs []Value) {
		for _, v := range vs {
			i, waits := from[v]
			if !waits {
				continue
			}
			for _, o := range list[i].Out {
				delete(from, o)
			}
			need(list[i].Args)
			out = append(out, list[i])
		}
	}
	for i := range list {
		in := list[i]
		if d.moves(&in) {
			continue
		}
		operands(&in, need)
		in.Head, in.Body, in.Else = d.body(in.Head, in.Args), d.body(in.Body, nil), d.body(in.Else, nil)
		out = append(out, in)
	}
	need(after)
	return out
}

// operands calls f with the operands of an instruction and of all instructions in its bodies.
func operands(in *Inst, f func(vs []Value)) {
	f(in.Args)
	for _, list := range [][]Inst{in.Head, in.Body, in.Else} {
		for i := range list {
			operands(&list[i], f)
		}
	}
}
