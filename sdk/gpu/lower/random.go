package lower

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// randomBits is the rule of random_bits and random_bits_at. Seed and counter are parameters of the kernel. If there is a state, each thread
// reads it as four words of 32 bits.
func randomBits(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	y := out[0]
	if !y.View.IsContiguous() {
		return ir.Work{}, unsupported(n, "into a view")
	}
	in = slices.Clone(in)
	for i := range in {
		v := in[i].View
		if v.Strides[0] != 1 {
			return ir.Work{}, unsupported(n, "of a view")
		}
		in[i].Type, in[i].View = dtype.U32, shape.View{Shape: shape.Of(4), Strides: []int{1}, Offset: 2 * v.Offset}
	}
	seed, counter := uint64(n.Attrs.Value("seed").Int()), uint64(n.Attrs.Value("counter").Int())
	var scalars []template.Operand
	for _, w := range []uint64{counter & 0xffffffff, counter >> 32, seed & 0xffffffff, seed >> 32} {
		scalars = append(scalars, template.Operand{Type: dtype.U32, Number: &w})
	}
	body := func(b *ir.Builder, i ir.Value, s []ir.Value, state []ir.Buf) []ir.Value {
		at := [2]ir.Value{b.Cast(dtype.U32, i), word(b, 0)}
		if b.TypeOf(i) == dtype.I64 {
			at[1] = b.Cast(dtype.U32, b.Binary(ir.Shr, i, b.Const(dtype.I64, 32)))
		}
		counter, key := sum64(b, [2]ir.Value{s[0], s[1]}, at), [2]ir.Value{s[2], s[3]}
		if len(state) > 0 {
			v := func(k int) ir.Value { return b.Load(state[0], b.Int(k)) }
			key, counter = sum64(b, key, [2]ir.Value{v(0), v(1)}), sum64(b, counter, [2]ir.Value{v(2), v(3)})
		}
		words := philox(b, [4]ir.Value{counter[0], counter[1], word(b, 0), word(b, 0)}, key)
		v := words[:]
		for k := range v {
			v[k] = b.Bitcast(y.Type, v[k])
		}
		return v
	}
	return template.Generate(t, "random_bits", 4, y, in, scalars, body), nil
}

// sum64 returns the sum of two numbers of 64 bits. Each number consists of two words, the low word first.
func sum64(b *ir.Builder, x, y [2]ir.Value) [2]ir.Value {
	low := b.Add(x[0], y[0])
	return [2]ir.Value{low, b.Add(b.Add(x[1], y[1]), b.Cast(dtype.U32, b.Lt(low, y[0])))}
}

// philox computes Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
func philox(b *ir.Builder, x [4]ir.Value, key [2]ir.Value) [4]ir.Value {
	xor := func(x, y, z ir.Value) ir.Value { return b.Binary(ir.Xor, b.Binary(ir.Xor, x, y), z) }
	m0, m1 := word(b, 0xD2511F53), word(b, 0xCD9E8D57)
	for round := range 10 {
		if round > 0 {
			key[0], key[1] = b.Add(key[0], word(b, 0x9E3779B9)), b.Add(key[1], word(b, 0xBB67AE85))
		}
		x = [4]ir.Value{
			xor(b.Binary(ir.MulHi, m1, x[2]), x[1], key[0]), b.Mul(m1, x[2]),
			xor(b.Binary(ir.MulHi, m0, x[0]), x[3], key[1]), b.Mul(m0, x[0]),
		}
	}
	return x
}
