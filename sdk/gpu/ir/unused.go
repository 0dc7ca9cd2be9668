package ir

import "github.com/goburn/burn/core/dtype"

// dropUnused drops instructions without effect whose results are not used, and renumbers the remaining values in order.
func (k *Kernel) dropUnused() {
	used := make([]bool, len(k.Types))
	k.Body = sweep(k.Body, used)
	number := make([]Value, len(k.Types))
	types := []dtype.DType{dtype.Invalid}
	var renumber func(body []Inst)
	renumber = func(body []Inst) {
		for i := range body {
			in := &body[i]
			renumber(in.Head)
			args, out := make([]Value, len(in.Args)), make([]Value, len(in.Out))
			for j, v := range in.Args {
				args[j] = number[v]
			}
			for j, v := range in.Out {
				number[v] = Value(len(types))
				types = append(types, k.Types[v])
				out[j] = number[v]
			}
			in.Args, in.Out = args, out
			renumber(in.Body)
			renumber(in.Else)
		}
	}
	renumber(k.Body)
	k.Types = types
}

// sweep returns a body without unused instructions, and marks the values that the remaining instructions use. It visits the body from its
// end.
func sweep(body []Inst, used []bool) []Inst {
	kept := make([]Inst, 0, len(body))
	for i := len(body) - 1; i >= 0; i-- {
		in := body[i]
		switch in.Op {
		case While:
			for _, v := range in.Args {
				used[v] = true
			}
			in.Body = sweep(in.Body, used)
			in.Head = sweep(in.Head, used)
		case For, If:
			in.Body, in.Else = sweep(in.Body, used), sweep(in.Else, used)
			if len(in.Body)+len(in.Else) == 0 {
				continue
			}
		case Load, SharedLoad, LocalLoad, FragGet:
			if !anyOf(in.Out, used) {
				continue
			}
		default:
			if pure(in.Op) && !anyOf(in.Out, used) {
				continue
			}
		}
		for _, v := range in.Args {
			used[v] = true
		}
		kept = append(kept, in)
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept
}

func anyOf(vs []Value, used []bool) bool {
	for _, v := range vs {
		if used[v] {
			return true
		}
	}
	return false
}
