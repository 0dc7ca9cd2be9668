package ref

import (
	"slices"
	"strings"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// indices names the indices of an einsum: one character per dimension of each operand and of the result. Dimensions under
// "..." are named by digits, 0 for the last.
func indices(n *op.Node, in []op.Desc) (terms []string, out string) {
	equation := strings.ReplaceAll(n.Attrs.Str("equation"), " ", "")
	left, out, explicit := strings.Cut(equation, "->")
	terms = strings.Split(left, ",")
	digits := func(n int) string { return "76543210"[8-n:] }
	most := 0
	for i, t := range terms {
		covered := len(in[i].Shape) - len(strings.ReplaceAll(t, ".", ""))
		most = max(most, covered)
		terms[i] = strings.Replace(t, "...", digits(covered), 1)
	}
	if !explicit {
		out = "..."
		all := strings.Join(terms, "")
		for c := 'A'; c <= 'z'; c++ {
			if strings.Count(all, string(c)) == 1 {
				out += string(c)
			}
		}
	}
	return terms, strings.Replace(out, "...", digits(most), 1)
}

// spans returns the names of an einsum's indices, beginning with the indices of the result, their lengths, and the names by operand.
func spans(n *op.Node, in []op.Desc) (names string, lengths shape.Shape, terms []string) {
	terms, names = indices(n, in)
	lengths = n.Outputs[0].Shape.Clone()
	for i, t := range terms {
		for d, c := range t {
			if k := strings.IndexRune(names, c); k < 0 {
				names, lengths = names+string(c), append(lengths, in[i].Shape[d])
			} else if lengths[k] == 1 {
				lengths[k] = in[i].Shape[d]
			}
		}
	}
	return names, lengths, terms
}

func einsum(n *op.Node, in []Tensor) Tensor {
	var descs []op.Desc
	for _, t := range in {
		descs = append(descs, t.Desc)
	}
	names, lengths, terms := spans(n, descs)
	out, rank := Zeros(n.Outputs[0]), len(n.Outputs[0].Shape)
	each(n.Outputs[0].Shape, func(pos int, outer []int) {
		var sum dot
		each(lengths[rank:], func(_ int, inner []int) {
			values := slices.Concat(outer, inner)
			product, whole := 1.0, int64(1)
			for i, t := range terms {
				var idx []int
				for d, c := range t {
					k := values[strings.IndexRune(names, c)]
					if in[i].Desc.Shape[d] == 1 {
						k = 0
					}
					idx = append(idx, k)
				}
				if p := at(in[i].Desc.Shape, idx); in[i].F != nil {
					product *= in[i].F[p]
				} else {
					whole *= in[i].I[p]
				}
			}
			sum.acc.add(product)
			sum.i += whole
		})
		sum.store(out, pos)
	})
	return out
}

var einsumKernels = map[op.Code]kernel{op.Einsum: direct(einsum)}
