package dialect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// program returns a C++ program that runs a kernel on each of n blocks of one thread. It reads the buffers from its input, one after
// another, and writes them to its output.
func program(t *testing.T, k *ir.Kernel, n int, slots [][]byte) string {
	t.Helper()
	text, err := HIP.Print([]*ir.Kernel{k})
	require.NoError(t, err)
	text = strings.ReplaceAll(text, "#define CONSTANT const\n", "")
	var read, args, write strings.Builder
	for i, s := range slots {
		fmt.Fprintf(&read, "\tvoid* const slot%d = aligned_alloc(16, %d);\n\tif (fread(slot%d, 1, %d, stdin) != %d) return 1;\n", i, (len(s)+15)&^15, i, len(s), len(s))
		fmt.Fprintf(&write, "\tfwrite(slot%d, 1, %d, stdout);\n", i, len(s))
		typ := HIP.types[k.Params[i].Type]
		if k.Params[i].Type == dtype.Bool {
			typ = "u8"
		}
		args.WriteString([]string{"", ", "}[min(i, 1)] + fmt.Sprintf("(%s*)slot%d", typ, i))
	}
	return "#include <hip_processor.h>\n" + text + fmt.Sprintf("\nint main() {\n%s\tgridDim = {%d, 1, 1};\n\tfor (unsigned b = 0; b < %d; b++) {\n\t\tblockIdx = {b, 0, 0};\n\t\t%s(%s);\n\t}\n%s}\n",
		read.String(), n, n, Symbol(0, k), args.String(), write.String())
}

// runHIP runs a kernel as C++ and in the interpreter, and compares all buffers. Any two NaN are equal.
func runHIP(t *testing.T, k *ir.Kernel, n int, slots [][]byte) {
	t.Helper()
	var sizes []int64
	var args []ir.Arg
	var input strings.Builder
	want := make([][]byte, len(slots))
	for i, s := range slots {
		sizes, args = append(sizes, int64(len(s))), append(args, ir.Arg{Slot: i})
		input.Write(s)
		want[i] = append([]byte(nil), s...)
	}
	l := ir.Launch{Kernel: k, Grid: [3]int{n, 1, 1}, Args: args}
	require.NoError(t, ir.Check(l, sizes, ir.Limits{Threads: 1024, Shared: 48 << 10, Grid: [3]int{1 << 20, 1, 1}}))
	require.NoError(t, interp.Run(l, want, interp.Options{}))

	c := exec.Command(onProcessor(t, "run", program(t, k, n, slots)))
	c.Stdin = strings.NewReader(input.String())
	got, err := c.Output()
	require.NoError(t, err)
	for i, w := range want {
		require.GreaterOrEqual(t, len(got), len(w))
		compareElements(t, k.Params[i], w, got[:len(w)])
		got = got[len(w):]
	}
	require.Empty(t, got)
}

// compareElements compares the elements of a buffer.
func compareElements(t *testing.T, p ir.Param, want, got []byte) {
	t.Helper()
	size, bad := p.Type.Size(), 0
	for at := 0; at < len(want); at += size {
		w, g := number(p.Type, want[at:at+size]), number(p.Type, got[at:at+size])
		if string(want[at:at+size]) != string(got[at:at+size]) && !(w != w && g != g) && bad < 4 {
			t.Errorf("%s, element %d: got %x (%v), want %x (%v)", p.Name, at/size, got[at:at+size], g, want[at:at+size], w)
			bad++
		}
	}
}

// number returns an element of a float type, 0 for others.
func number(d dtype.DType, b []byte) float64 {
	switch d {
	case dtype.F64:
		return dtype.Slice[float64](b)[0]
	case dtype.F32:
		return float64(dtype.Slice[float32](b)[0])
	case dtype.F16:
		return float64(dtype.Slice[dtype.Float16](b)[0].Float32())
	case dtype.BF16:
		return float64(dtype.Slice[dtype.BFloat16](b)[0].Float32())
	}
	return 0
}

// bitsOf returns n elements: the bits given, then random ones.
func bitsOf(r *rand.Rand, d dtype.DType, n int, first ...uint64) []byte {
	out := make([]byte, 0, n*d.Size())
	for i := range n {
		v := r.Uint64()
		if i < len(first) {
			v = first[i]
		}
		for k := range d.Size() {
			out = append(out, byte(v>>(8*k)))
		}
	}
	return out
}

// TestHIPIntegers runs every op of integers, each with a buffer for its results, on random and extreme operands.
func TestHIPIntegers(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I32, dtype.U32, dtype.I64, dtype.U64} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			const n = 64
			b := ir.New("integers", 1)
			x, y := b.Buffer("x", d, ir.Read), b.Buffer("y", d, ir.Read)
			i := b.Block(0)
			v, w := b.Load(x, i), b.Load(y, i)
			low := b.And(w, b.Const(d, uint64(8*d.Size()-1)))
			divisor := b.Or(b.And(w, b.Const(d, 0xffff)), b.Const(d, 1)) // neither 0 nor -1
			slots := [][]byte{nil, nil}
			result := func(d dtype.DType, name string, v ir.Value) {
				b.Store(b.Buffer(name, d, ir.Write), i, v)
				slots = append(slots, make([]byte, n*d.Size()))
			}
			for _, o := range []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.MulHi, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor} {
				result(d, o.String(), b.Binary(o, v, w))
			}
			result(d, "div", b.Div(v, divisor))
			result(d, "rem", b.Rem(v, divisor))
			result(d, "shl", b.Binary(ir.Shl, v, low))
			result(d, "shr", b.Binary(ir.Shr, v, low))
			result(d, "fma", b.FMA(v, w, v))
			for _, o := range []ir.Op{ir.Neg, ir.Abs, ir.Not} {
				result(d, o.String(), b.Unary(o, v))
			}
			for _, o := range []ir.Op{ir.Eq, ir.Ne, ir.Lt, ir.Le} {
				result(dtype.Bool, o.String(), b.Binary(o, v, w))
			}
			result(d, "select", b.Select(b.Lt(v, w), w, v))
			r := rand.New(rand.NewPCG(uint64(d), 1))
			half := uint64(1) << (8*d.Size() - 1)
			slots[0] = bitsOf(r, d, n, 0, 1, half, half-1, half+1, ^uint64(0), half, half, 0, 5)
			slots[1] = bitsOf(r, d, n, 0, ^uint64(0), half, half, half-1, ^uint64(0), 1, 2, half, 5)
			runHIP(t, b.Kernel(), n, slots)
		})
	}
}

// TestHIPCasts runs the conversions between all types. Floats are clamped to the range of the integers before their conversion.
func TestHIPCasts(t *testing.T) {
	t.Parallel()
	const n = 96
	r := rand.New(rand.NewPCG(7, 1))
	types := []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.U64, dtype.I32, dtype.U32, dtype.I16, dtype.U16, dtype.I8, dtype.U8, dtype.Bool}
	b := ir.New("casts", 1)
	i := b.Block(0)
	var slots [][]byte
	for _, from := range types {
		in := b.Buffer("of "+from.String(), from, ir.Read)
		data := bitsOf(r, from, n)
		switch from {
		case dtype.Bool:
			for i := range data {
				data[i] &= 1
			}
		case dtype.F64: // ties and neighbours of ties of the smaller types, and the ends of their ranges
			wide := dtype.Slice[float64](data)
			for i, f := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 65504, 65519.999, 65520, 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11 - 0x1p-40,
				1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-50, -1 - 0x1p-8 - 0x1p-50, 1 + 3*0x1p-8 - 0x1p-50, 0x1p-25, 0x1p-25 + 0x1p-60, 0x1p-24, 1.5 * 0x1p-24, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p-134, 0x1.8p-133,
				math.MaxFloat32, 0x1.ffffffp127, 3.4e38, -3.4e38, 1e300, 0x1p-1074} {
				wide[i] = f
			}
		case dtype.I64, dtype.U64, dtype.I32, dtype.U32:
			copy(data, bitsOf(r, from, 12, 0, ^uint64(0), 1<<63, 1<<31, 1<<24+1, 0x1010000, 0x1018000, 0x1ffffff, 1<<40+1<<32+1, 1<<40+1<<32-1, 1<<40+3<<32, 257))
		}
		slots = append(slots, data)
		v := b.Load(in, i)
		for _, to := range types {
			w := v
			if from.IsFloat() && !to.IsFloat() && to != dtype.Bool { // into the range
				zero, most := b.Cast(from, b.Float(dtype.F32, 0)), b.Cast(from, b.Float(dtype.F32, 100))
				f := b.Cast(dtype.F32, v)
				w = b.Select(b.Lt(f, b.Float(dtype.F32, 100)), b.Select(b.Lt(b.Float(dtype.F32, 0), f), v, zero), most)
			}
			if to == dtype.BF16 && from.IsInt() && from.Size() >= 4 { // the texts round once, ir by way of f32: numbers for which both are equal
				w = b.And(v, b.Const(from, 1<<24-1))
			}
			b.Store(b.Buffer(from.String()+" to "+to.String(), to, ir.Write), i, b.Cast(to, w))
			slots = append(slots, make([]byte, n*to.Size()))
		}
	}
	runHIP(t, b.Kernel(), n, slots)
}

// TestHIPFloats runs ops of floats with one result for all operands, on NaN, the zeros, infinities and random bits, and constants.
func TestHIPFloats(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			const n = 144
			special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 2.5, -0.5, 3.4e38, 1 << 24}
			var x, y []uint64
			for i := range n {
				p, q := special[i%12], special[i/12]
				if d == dtype.F32 {
					x, y = append(x, uint64(math.Float32bits(float32(p)))), append(y, uint64(math.Float32bits(float32(q))))
				} else {
					x, y = append(x, math.Float64bits(p)), append(y, math.Float64bits(q))
				}
			}
			b := ir.New("floats", 1)
			in, other := b.Buffer("x", d, ir.Read), b.Buffer("y", d, ir.Read)
			i := b.Block(0)
			v, w := b.Load(in, i), b.Load(other, i)
			r := rand.New(rand.NewPCG(8, 1))
			slots := [][]byte{bitsOf(r, d, n, x...), bitsOf(r, d, n, y...)}
			result := func(d dtype.DType, name string, v ir.Value) {
				b.Store(b.Buffer(name, d, ir.Write), i, v)
				slots = append(slots, make([]byte, n*d.Size()))
			}
			for _, o := range []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Maximum, ir.Minimum} {
				result(d, o.String(), b.Binary(o, v, w))
			}
			for _, o := range []ir.Op{ir.Neg, ir.Abs, ir.Sqrt, ir.Floor, ir.Ceil, ir.Trunc, ir.Round} {
				result(d, o.String(), b.Unary(o, v))
			}
			for _, o := range []ir.Op{ir.Eq, ir.Ne, ir.Lt, ir.Le} {
				result(dtype.Bool, o.String(), b.Binary(o, v, w))
			}
			result(d, "fma", b.FMA(v, w, v))
			for k, f := range special {
				result(d, fmt.Sprint("constant ", k), b.Select(b.Lt(v, w), b.Float(d, f), b.Float(d, -f)))
			}
			result(map[dtype.DType]dtype.DType{dtype.F32: dtype.U32, dtype.F64: dtype.I64}[d], "bits",
				b.Bitcast(map[dtype.DType]dtype.DType{dtype.F32: dtype.U32, dtype.F64: dtype.I64}[d], b.Unary(ir.Abs, v)))
			runHIP(t, b.Kernel(), n, slots)
		})
	}
}

// TestHIPAtomics runs atomic ops of every type, block after block: parts of words, loops of compare and swap, and what was there before.
func TestHIPAtomics(t *testing.T) {
	t.Parallel()
	const n = 40
	r := rand.New(rand.NewPCG(9, 1))
	b := ir.New("atomics", 1)
	i := b.Block(0)
	var slots [][]byte
	for _, d := range []dtype.DType{dtype.I32, dtype.U32, dtype.I64, dtype.U64, dtype.F32, dtype.F64, dtype.F16, dtype.BF16, dtype.I16, dtype.U16, dtype.I8, dtype.U8} {
		p, in, was := b.Buffer("at "+d.String(), d, ir.Read|ir.Write|ir.Atomic), b.Buffer("in "+d.String(), d, ir.Read), b.Buffer("was "+d.String(), d, ir.Write)
		values := bitsOf(r, d, n)
		if d.IsFloat() {
			for i := range n { // small whole numbers, whose sums are exact
				one := map[dtype.DType]uint64{dtype.F64: math.Float64bits(float64(i%7 - 3)), dtype.F32: uint64(math.Float32bits(float32(i%7 - 3))),
					dtype.F16: uint64(dtype.Float16From64(float64(i%7 - 3))), dtype.BF16: uint64(dtype.BFloat16From64(float64(i%7 - 3)))}[d]
				copy(values[i*d.Size():], bitsOf(r, d, 1, one))
			}
		}
		v := b.Load(in, i)
		for k, o := range []ir.Op{ir.AtomicAdd, ir.AtomicMin, ir.AtomicMax} {
			b.Store(was, b.Add(b.Mul(i, b.Int(3)), b.Int(k)), b.Atomic(o, p, b.Int(k+1), v))
		}
		slots = append(slots, make([]byte, 8*d.Size()), values, make([]byte, 3*n*d.Size()))
		if d.Size() >= 4 {
			old := b.Buffer("swapped "+d.String(), d, ir.Write)
			b.Store(old, i, b.AtomicSwap(p, b.Int(5), b.Const(d, 0), v))
			slots = append(slots, make([]byte, n*d.Size()))
		}
	}
	runHIP(t, b.Kernel(), n, slots)
}
