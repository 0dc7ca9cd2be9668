package op

// Flops returns the number of multiplications and additions of a matrix product, convolution or attention node, and 0 for other nodes. n
// has passed Check with operands in.
func Flops(n *Node, in []Desc) int64 {
	size := func(d Desc) int64 { return int64(d.Shape.Size()) }
	switch n.Op {
	case MatMul, MatMulInteger:
		k := len(in[0].Shape) - 1
		if k > 0 && n.Attrs.Bool("transpose_a") {
			k--
		}
		return 2 * size(n.Outputs[0]) * int64(in[0].Shape[k])
	case Linear:
		return 2 * size(n.Outputs[0]) * int64(in[0].Shape[len(in[0].Shape)-1])
	case Conv, ConvInteger:
		channels := int64(in[1].Shape[0]) // output channels
		return 2 * size(n.Outputs[0]) * size(in[1]) / max(1, channels)
	case Attention, AttentionGradient:
		q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
		queries, keys := size(in[0])/int64(max(1, q[len(q)-1])), int64(k[len(k)-2])
		each := q[len(q)-1] + v[len(v)-1]
		if n.Op == AttentionGradient {
			each += 2*q[len(q)-1] + v[len(v)-1] // scores and their gradient, and the three results
		}
		return 2 * queries * keys * int64(each)
	}
	return 0
}
