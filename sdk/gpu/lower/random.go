package lower

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// randomBits is the rule of random_bits. Seed and counter are parameters of the kernel.
func randomBits(t template.Target, n *op.Node, _, out []template.Operand) (ir.Work, error) {
	y := out[0]
	if !y.View.IsContiguous() {
		return ir.Work{}, unsupported(n, "into a view")
	}
	seed, counter := uint64(n.Attrs.Value("seed").Int()), uint64(n.Attrs.Value("counter").Int())
	var scalars []template.Operand
	for _, w := range []uint64{counter & 0xffffffff, counter >> 32, seed & 0xffffffff, seed >> 32} {
		scalars = append(scalars, template.Operand{Type: dtype.U32, Number: &w})
	}
	body := func(b *ir.Builder, i ir.Value, s []ir.Value) []ir.Value {
		low := b.Cast(dtype.U32, i)
		sum := b.Add(s[0], low)
		high := b.Add(s[1], b.Cast(dtype.U32, b.Lt(sum, low)))
		if b.TypeOf(i) == dtype.I64 {
			high = b.Add(high, b.Cast(dtype.U32, b.Binary(ir.Shr, i, b.Const(dtype.I64, 32))))
		}
		words := philox(b, [4]ir.Value{sum, high, word(b, 0), word(b, 0)}, [2]ir.Value{s[2], s[3]})
		v := words[:]
		for k := range v {
			v[k] = b.Bitcast(y.Type, v[k])
		}
		return v
	}
	return template.Generate(t, "random_bits", 4, y, scalars, body), nil
}

// philox is Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
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
