package elementwise_test

import (
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// codes returns all elements of a storage type in random order.
func codes(r *rand.Rand, d dtype.DType) kerneltest.Operand {
	var all []int64
	for _, i := range r.Perm(256) {
		b := byte(i)
		switch {
		case dtype.SmallInts.Has(d):
			b = dtype.IntToSmall(d, int64(b))
		case d == dtype.F4E2M1:
			b &= 15
		}
		all = append(all, int64(b))
	}
	return kerneltest.Ints(d, []int{len(all)}, all...)
}

// Every element of every storage type is cast to every type as by the reference, NaN and infinity included.
func TestCastFromSmall(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(21, 22))
	for _, from := range dtype.Smalls.List() {
		for _, to := range append(dtype.Any.List(), dtype.Smalls.List()...) {
			b.Check(op.Cast, list{codes(r, from)}, op.Type("dtype", to))
			if dtype.SmallFloats.Has(to) {
				b.Check(op.Cast, list{codes(r, from)}, op.Type("dtype", to), op.Flag("saturate", false))
			}
		}
	}
}

// Every type is cast to every storage type: ties, denormals, the ends of the range, and integers whose high bits are lost.
func TestCastToSmall(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(23, 24))
	ends := append([]float64{0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-16, 0x1p-17, 0x1.8p-17, 0.25, 0.75, 2.5, 3.5, 5, 5.01, 7, 8, -8, -9, 15, 16, 17, 240, 248, 249,
		448, 464, 465, 57344, 61439, 61440, 0x1p127, 0x1.8p127, 0x1p-127, 0x1p-149, 1.1875, 1.0625, -1.0625}, special...)
	for _, to := range dtype.Smalls.List() {
		for _, from := range dtype.Any.List() {
			in := operand(r, op.Lookup(op.Cast), 0, from, 97)
			if from.IsFloat() {
				in = kerneltest.Floats(from, []int{len(ends)}, ends...)
			}
			for _, saturate := range []bool{true, false} {
				if saturate || dtype.SmallFloats.Has(to) {
					b.Check(op.Cast, list{in}, op.Type("dtype", to), op.Flag("saturate", saturate))
				}
			}
		}
	}
}

// A cast to the same type keeps all bits, those of NaN too.
func TestCastToItself(t *testing.T) {
	b := newBench(t)
	payload := kerneltest.Ints(dtype.U32, []int{3}, 0x7fc12345, 0xff800001, 0x80000000)
	payload.Desc = op.DescOf(dtype.F32, 3)
	got := b.Run(op.Cast, list{payload}, op.Type("dtype", dtype.F32))
	if string(got[0].Data) != string(payload.Data) {
		t.Errorf("got %x, want %x", got[0].Data, payload.Data)
	}
}
