package conformance

import (
	"math/rand/v2"
	"strings"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// structured reports whether an operand must contain matrices of a certain kind.
func (s spec) structured() bool {
	for i := range s.in {
		if s.domain(i).Matrix != op.AnyMatrix {
			return true
		}
	}
	return false
}

// keepsMatrices reports whether the layout can contain regular matrices. In layouts that repeat elements, matrices are singular.
func (l layout) keepsMatrices() bool { return !strings.HasPrefix(l.name, "expanded") }

// embed sets elements of base such that its view by op c contains matrices of the kind of operand i.
func (s spec) embed(r *rand.Rand, i int, base ref.Tensor, c op.Code, attrs []op.Attr) error {
	if s.domain(i).Matrix == op.AnyMatrix {
		return nil
	}
	places := ref.Zeros(op.Desc{DType: dtype.I64, Shape: base.Desc.Shape})
	for k := range places.I {
		places.I[k] = int64(k)
	}
	n, err := op.New(c, []op.Desc{places.Desc}, attrs...)
	if err != nil {
		return err
	}
	seen, err := ref.Eval(&n, []ref.Tensor{places})
	if err != nil {
		return err
	}
	for k, f := range s.draw(r, i).F {
		base.F[seen[0].I[k]] = f
	}
	return nil
}
