package ref

import "github.com/goburn/burn/core/op"

func init() {
	// The body is evaluated statement by statement, each result rounded to its type.
	kernels[op.Fused] = func(n *op.Node, in []Tensor) ([]Tensor, error) {
		body, err := op.ParseBody(n.Attrs.Str("body"))
		if err != nil {
			return nil, err
		}
		values := append([]Tensor(nil), in...)
		for _, s := range body {
			var args []Tensor
			var descs []op.Desc
			for _, v := range s.Args {
				args, descs = append(args, values[v]), append(descs, values[v].Desc)
			}
			m, err := op.New(s.Op, descs, s.Attrs...)
			if err != nil {
				return nil, err
			}
			outs, err := Eval(&m, args)
			if err != nil {
				return nil, err
			}
			values = append(values, outs[0])
		}
		var outs []Tensor
		for _, v := range n.Attrs.Ints("results") {
			outs = append(outs, values[v].Clone())
		}
		return outs, nil
	}
}
