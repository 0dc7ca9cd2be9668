package ir_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// body returns the printed lines of the body of a kernel with a buffer y of f32 and a buffer p of i32.
func body(build func(b *ir.Builder, y, p ir.Buf)) []string {
	b := ir.New("test", 32)
	y, p := b.Buffer("y", dtype.F32, ir.Read|ir.Write), b.Buffer("p", dtype.I32, ir.Read|ir.Write)
	build(b, y, p)
	_, text, _ := strings.Cut(b.Kernel().String(), "{\n")
	var lines []string
	for line := range strings.Lines(strings.TrimSuffix(text, "}\n")) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestFolding(t *testing.T) {
	at := func(b *ir.Builder, p ir.Buf) ir.Value { return b.Load(p, b.Thread()) }
	negative := math.Copysign(0, -1)
	for _, c := range []struct {
		name string
		make func(b *ir.Builder, y, p ir.Buf, x, f ir.Value) ir.Value // of x, the value %2, and f, the value %3
		want string                                                   // %2, %3, or the constant
	}{
		{"x+0", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Add(x, b.Int(0)) }, "%2"},
		{"0+x", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Add(b.Int(0), x) }, "%2"},
		{"x-0", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Sub(x, b.Int(0)) }, "%2"},
		{"x-x", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Sub(x, x) }, "0"},
		{"x*1", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Mul(x, b.Int(1)) }, "%2"},
		{"0*x", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Mul(b.Int(0), x) }, "0"},
		{"x/1", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Div(x, b.Int(1)) }, "%2"},
		{"x%1", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Rem(x, b.Int(1)) }, "0"},
		{"min", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Min(x, x) }, "%2"},
		{"and", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.And(x, b.Int(-1)) }, "%2"},
		{"constants", func(b *ir.Builder, _, _ ir.Buf, _, _ ir.Value) ir.Value {
			return b.Max(b.Rem(b.Int(-7), b.Int(4)), b.Sub(b.Mul(b.Int(6), b.Int(7)), b.Int(50)))
		}, "-3"},
		{"select", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value {
			return b.Select(b.Lt(b.Int(1), b.Int(2)), x, b.Int(9))
		}, "%2"},
		{"select of one value", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value { return b.Select(b.Lt(x, b.Int(2)), x, x) }, "%2"},
		{"sum of sums", func(b *ir.Builder, _, _ ir.Buf, x, _ ir.Value) ir.Value {
			return b.Add(b.Add(b.Add(x, b.Int(3)), b.Int(-5)), b.Int(2))
		}, "%2"},
		{"cast", func(b *ir.Builder, _, _ ir.Buf, _, _ ir.Value) ir.Value {
			return b.Cast(dtype.I32, b.Float(dtype.F64, -2.9))
		}, "-2"},
		{"bitcast", func(b *ir.Builder, _, _ ir.Buf, _, _ ir.Value) ir.Value {
			return b.Bitcast(dtype.I32, b.Float(dtype.F32, negative))
		}, "-2147483648"},
		{"f*1", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value { return b.Mul(f, b.Float(dtype.F32, 1)) }, "%3"},
		{"f-0", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value { return b.Sub(f, b.Float(dtype.F32, 0)) }, "%3"},
		{"f + -0", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value {
			return b.Add(f, b.Float(dtype.F32, negative))
		}, "%3"},
		{"f + 0 is not f where f is -0", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value { return b.Add(f, b.Float(dtype.F32, 0)) }, ""},
		{"f - f is NaN at times", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value { return b.Sub(f, f) }, ""},
		{"f*0", func(b *ir.Builder, _, _ ir.Buf, _, f ir.Value) ir.Value { return b.Mul(f, b.Float(dtype.F32, 0)) }, ""},
		{"an overflow is left to be found", func(b *ir.Builder, _, _ ir.Buf, _, _ ir.Value) ir.Value { return b.Add(b.Int(1<<31-1), b.Int(1)) }, ""},
	} {
		lines := body(func(b *ir.Builder, y, p ir.Buf) {
			x, f := at(b, p), b.Load(y, b.Thread())
			b.Store(p, b.Thread(), x)
			b.Store(y, b.Thread(), f)
			v := c.make(b, y, p, x, f)
			if b.TypeOf(v) == dtype.F32 {
				b.Store(y, b.Thread(), v)
			} else {
				b.Store(p, b.Thread(), v)
			}
		})
		last := lines[len(lines)-1]
		switch {
		case c.want == "":
			require.Greater(t, len(lines), 6, c.name)
		case c.want[0] == '%':
			require.True(t, len(lines) == 6 && strings.HasSuffix(last, ", "+c.want), "%s: %q", c.name, lines)
		default:
			require.Len(t, lines, 7, c.name)
			require.Equal(t, "%4 = const.i32 "+c.want, lines[5], c.name)
		}
	}
}

func TestReuse(t *testing.T) {
	lines := body(func(b *ir.Builder, _, p ir.Buf) {
		b.Mul(b.Thread(), b.Int(77)) // nobody uses it
		b.If(b.Lt(b.Thread(), b.Int(4)), func() { b.Store(p, b.Add(b.Thread(), b.Int(4)), b.Int(4)) })
		b.If(b.Lt(b.Thread(), b.Int(5)), func() { b.Store(p, b.Add(b.Thread(), b.Int(4)), b.Int(5)) })
		b.If(b.Lt(b.Thread(), b.Int(6)), func() {}) // nor this
		b.If(b.Lt(b.Int(7), b.Int(6)), func() { b.Store(p, b.Int(7), b.Int(6)) })
		b.For(b.Int(3), b.Int(4), 1, func(i ir.Value) { b.Store(p, i, i) })
		b.For(b.Int(4), b.Int(4), 1, func(i ir.Value) { b.Store(p, i, i) })
	})
	require.Equal(t, []string{
		"%1 = thread.i32", "%2 = const.i32 4", "%3 = lt.bool %1, %2",
		"if %3 {", "%4 = add.i32 %1, %2", "store p[%4], %2", "}",
		"%5 = const.i32 5", "%6 = lt.bool %1, %5",
		"if %6 {", "%7 = add.i32 %1, %2", "store p[%7], %5", "}",
		"%8 = const.i32 3", "store p[%8], %8",
	}, lines)
}

// TestBuildErrors checks that the builder panics with a BuildError at the call that is wrong.
func TestBuildErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *ir.Builder, y, p ir.Buf)
		want  string
	}{
		{"types", func(b *ir.Builder, _, _ ir.Buf) { b.Add(b.Int(1), b.Float(dtype.F32, 1)) }, "add of i32 and f32"},
		{"f16", func(b *ir.Builder, _, _ ir.Buf) { v := b.Float(dtype.F16, 1); b.Add(v, v) }, "type is f16, want"},
		{"i8", func(b *ir.Builder, _, _ ir.Buf) { v := b.Const(dtype.I8, 1); b.Lt(v, v) }, "operand is i8, want"},
		{"bool", func(b *ir.Builder, _, _ ir.Buf) { v := b.Const(dtype.Bool, 1); b.Add(v, v) }, "type is bool"},
		{"exp of an integer", func(b *ir.Builder, _, _ ir.Buf) { b.Unary(ir.Exp, b.Int(1)) }, "type is i32, want f64|f32"},
		{"store", func(b *ir.Builder, y, _ ir.Buf) { b.Store(y, b.Int(0), b.Int(0)) }, "operand 1 is i32, want f32"},
		{"index", func(b *ir.Builder, y, _ ir.Buf) { b.Load(y, b.Float(dtype.F32, 0)) }, "index is f32"},
		{"width", func(b *ir.Builder, y, _ ir.Buf) { b.LoadWide(y, b.Int(0), 3) }, "access to 3 elements"},
		{"width of 32 bytes", func(b *ir.Builder, y, _ ir.Buf) { b.LoadWide(y, b.Int(0), 8) }, "access to 8 elements"},
		{"access", func(b *ir.Builder, y, _ ir.Buf) { b.Atomic(ir.AtomicAdd, y, b.Int(0), b.Float(dtype.F32, 0)) }, "y is not for atomic"},
		{"scope", func(b *ir.Builder, y, p ir.Buf) {
			var v ir.Value
			b.If(b.Lt(b.Thread(), b.Int(1)), func() { v = b.Load(p, b.Int(0)) })
			b.Store(p, b.Int(0), v)
		}, "value %5 (load) is used outside the body that defines it"},
		{"constant", func(b *ir.Builder, _, _ ir.Buf) { b.Int(1 << 31) }, "2147483648 is no i32"},
		{"step", func(b *ir.Builder, _, _ ir.Buf) { b.For(b.Int(0), b.Thread(), 0, func(ir.Value) {}) }, "by 0"},
		{"condition", func(b *ir.Builder, _, _ ir.Buf) { b.If(b.Int(1), func() {}) }, "if of i32"},
		{"value that is not there", func(b *ir.Builder, _, _ ir.Buf) { b.Add(99, 99) }, "value %99 is not there"},
		{"after the end", func(b *ir.Builder, _, p ir.Buf) { b.Kernel(); b.Barrier() }, "built already"},
		{"fragments of other forms", func(b *ir.Builder, _, _ ir.Buf) {
			f, g := ir.MMA{M: 16, N: 8, K: 16, Type: dtype.F16}, ir.MMA{M: 16, N: 8, K: 16, Type: dtype.BF16}
			b.FragMMA(b.Fragments("c", f, ir.C, 1), b.Int(0), b.Fragments("a", f, ir.A, 1), b.Int(0), b.Fragments("b", g, ir.B, 1), b.Int(0))
		}, "m16n8k16.f16, m16n8k16.f16 and m16n8k16.bf16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				e, ok := recover().(*ir.BuildError)
				require.True(t, ok, "no BuildError")
				require.ErrorContains(t, e, c.want)
			}()
			body(c.build)
		})
	}
}

func TestLimits(t *testing.T) {
	b := ir.New("limits", 128)
	b.SetSubgroup(32)
	x, y := b.Buffer("x", dtype.F64, ir.Read|ir.Write), b.Buffer("y", dtype.I32, ir.Read|ir.Write|ir.Atomic)
	b.SharedStore(b.Shared("m", dtype.F64, 128), b.Thread(), b.Float(dtype.F64, 0))
	v := b.LoadWide(x, b.Mul(b.Thread(), b.Int(2)), 2)
	b.Store(x, b.Thread(), b.Add(v[0], v[1]))
	b.Atomic(ir.AtomicAdd, y, b.Int(0), b.Int(1))
	mma := ir.MMA{M: 16, N: 8, K: 16, Type: dtype.F16}
	b.FragFill(b.Fragments("c", mma, ir.C, 1), b.Int(0), b.Float(dtype.F32, 0))
	l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{4, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
	words := dtype.SetOf(dtype.I32, dtype.F32)
	for _, c := range []struct {
		limits ir.Limits
		want   string
	}{
		{ir.Limits{}, ""},
		{ir.Limits{Threads: 128, Shared: 1024, Subgroup: 32, Grid: [3]int{4, 1, 1}, Buffers: 2, Bytes: 2048, Wide: 16, Types: dtype.Any, Math: dtype.Numbers,
			Atomics: dtype.SetOf(dtype.I32), MMA: []ir.MMA{mma}}, ""},
		{ir.Limits{Threads: 64}, "128 threads, at most 64"},
		{ir.Limits{Shared: 1023}, "1024 bytes of shared memory, at most 1023"},
		{ir.Limits{Subgroup: 64}, "built for subgroups of 32, they have 64"},
		{ir.Limits{Grid: [3]int{3, 9, 9}}, "grid [4 1 1], at most [3 9 9]"},
		{ir.Limits{Buffers: 1}, "2 buffers, at most 1"},
		{ir.Limits{Bytes: 2047}, "of 2048 bytes, at most 2047"},
		{ir.Limits{Wide: 8}, "an access of 16 bytes, at most 8"},
		{ir.Limits{Types: words}, "the hardware has no f64"},
		{ir.Limits{Types: dtype.Any, Math: words}, "the hardware does not compute with f64"},
		{ir.Limits{Atomics: dtype.SetOf(dtype.U32)}, "no atomics of i32"},
		{ir.Limits{MMA: []ir.MMA{{M: 16, N: 16, K: 16, Type: dtype.F16}}}, "there is no m16n8k16.f16"},
	} {
		expect(t, ir.Check(l, []int64{2048, 4}, c.limits), c.want)
	}
	for _, c := range []struct {
		change func(l *ir.Launch)
		want   string
	}{
		{func(l *ir.Launch) { l.Args = l.Args[:1] }, "1 arguments for 2 parameters"},
		{func(l *ir.Launch) { l.Args[1].Slot = 2 }, "slot 2 of 2"},
		{func(l *ir.Launch) { l.Args[1].Offset = 2 }, "offset 2 of 4 bytes"},
		{func(l *ir.Launch) { l.Args[1].Offset = 8 }, "offset 8 of 4 bytes"},
		{func(l *ir.Launch) { l.Grid[1] = 0 }, "grid [4 0 1]"},
	} {
		x := l
		x.Args = append([]ir.Arg(nil), l.Args...)
		c.change(&x)
		expect(t, ir.Check(x, []int64{2048, 4}, ir.Limits{}), c.want)
	}
}
