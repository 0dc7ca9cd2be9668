package interp_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// bench builds a kernel of 64 threads in subgroups of 32, with a buffer y of 256 numbers and a shared array m of 64 zeros.
type bench struct {
	*ir.Builder
	y ir.Buf
	m ir.Mem
}

func run(build func(b *bench), o interp.Options) error {
	b := &bench{Builder: ir.New("test", 64)}
	b.SetSubgroup(32)
	b.y = b.Buffer("y", dtype.I32, ir.Read|ir.Write|ir.Atomic)
	b.m = b.Shared("m", dtype.I32, 64)
	b.SharedStore(b.m, b.Thread(), b.Int(0))
	b.Barrier()
	build(b)
	l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{2, 1, 1}, Args: []ir.Arg{{}}}
	return interp.Run(l, [][]byte{make([]byte, 1024)}, o)
}

func (b *bench) id() ir.Value { return b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread()) }

// next returns another thread of the subgroup; far returns a thread of the other subgroup of the block.
func (b *bench) next() ir.Value { return b.Binary(ir.Xor, b.Thread(), b.Int(1)) }
func (b *bench) far() ir.Value  { return b.Binary(ir.Xor, b.Thread(), b.Int(32)) }

func (b *bench) put(i ir.Value)          { b.SharedStore(b.m, i, b.Thread()) }
func (b *bench) get(i ir.Value) ir.Value { return b.SharedLoad(b.m, i) }
func (b *bench) keep(v ir.Value)         { b.Store(b.y, b.id(), v) }

func TestRaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *bench)
		want  string
	}{
		{"own element", func(b *bench) { b.put(b.Thread()); b.keep(b.get(b.Thread())); b.put(b.Thread()) }, ""},
		{"read after write", func(b *bench) { b.put(b.Thread()); b.keep(b.get(b.far())) }, "was written by thread 32"},
		{"read after write and barrier", func(b *bench) { b.put(b.Thread()); b.Barrier(); b.keep(b.get(b.far())) }, ""},
		{"read after write and barrier of the subgroup", func(b *bench) { b.put(b.Thread()); b.SubgroupBarrier(); b.keep(b.get(b.next())) }, ""},
		{"read of another subgroup's", func(b *bench) { b.put(b.Thread()); b.SubgroupBarrier(); b.keep(b.get(b.far())) }, "was written by thread 32"},
		{"write after read", func(b *bench) { b.keep(b.get(b.next())); b.put(b.Thread()) }, "was read by thread 1"},
		{"write after read of many", func(b *bench) {
			b.keep(b.get(b.Int(5)))
			b.If(b.Eq(b.Thread(), b.Int(5)), func() { b.put(b.Int(5)) })
		}, "element 5 of m was read by thread"},
		{"write after read of many and a barrier of one subgroup", func(b *bench) {
			b.keep(b.get(b.Int(5)))
			b.SubgroupBarrier()
			b.If(b.Eq(b.Thread(), b.Int(5)), func() { b.put(b.Int(5)) })
		}, "element 5 of m was read by thread 32"},
		{"write after read of many and barrier", func(b *bench) {
			b.keep(b.get(b.Int(5)))
			b.Barrier()
			b.If(b.Eq(b.Thread(), b.Int(5)), func() { b.put(b.Int(5)) })
		}, ""},
		{"two writes", func(b *bench) { b.put(b.Int(3)) }, "element 3 of m was written by thread 0"},
		{"atomics", func(b *bench) { b.SharedAdd(b.m, b.Int(0), b.Int(1)); b.SharedAdd(b.m, b.Int(0), b.Int(2)) }, ""},
		{"read after atomics", func(b *bench) { b.SharedAdd(b.m, b.Int(0), b.Int(1)); b.keep(b.get(b.Int(0))) }, "was changed atomically by thread"},
		{"atomic after read", func(b *bench) {
			b.keep(b.get(b.Int(0)))
			b.If(b.Eq(b.Thread(), b.Int(40)), func() { b.keep(b.SharedAdd(b.m, b.Int(0), b.Int(1))) })
		}, "was read by thread"},
		{"blocks write one element", func(b *bench) { b.Store(b.y, b.Thread(), b.Int(1)) }, "element 0 of y was written by thread 0 of block number 0"},
		{"a block reads what another one writes", func(b *bench) {
			b.Store(b.y, b.Add(b.id(), b.Int(64)), b.Load(b.y, b.id()))
		}, "element 64 of y was "},
		{"barriers do not order blocks", func(b *bench) {
			b.keep(b.Int(1))
			b.Barrier()
			b.Store(b.y, b.Add(b.id(), b.Int(128)), b.Load(b.y, b.Sub(b.Int(127), b.id())))
		}, "of y was "},
		{"blocks meet by atomics", func(b *bench) { b.Atomic(ir.AtomicAdd, b.y, b.Int(0), b.Int(1)) }, ""},
		{"write beside atomics", func(b *bench) {
			b.Atomic(ir.AtomicAdd, b.y, b.Int(0), b.Int(1))
			b.Barrier()
			b.If(b.Eq(b.id(), b.Int(0)), func() { b.Store(b.y, b.Int(0), b.Int(1)) })
		}, "of y was "},
		{"all read one element", func(b *bench) { b.Store(b.y, b.Add(b.id(), b.Int(64)), b.Load(b.y, b.Int(200))) }, ""},
	} {
		for _, order := range []interp.Order{interp.Forward, interp.Backward} {
			err := run(c.build, interp.Options{Races: true, Order: order})
			if c.want == "" {
				require.NoError(t, err, c.name)
			} else if order == interp.Forward {
				require.ErrorContains(t, err, c.want, c.name)
				require.ErrorContains(t, err, "race: ", c.name)
			} else {
				require.ErrorContains(t, err, "race: ", c.name)
			}
		}
	}
}

// TestRacesOfParts checks that a store to a part of a word is a race with a load of the word by another thread.
func TestRacesOfParts(t *testing.T) {
	b := ir.New("parts", 2)
	x, y := b.Buffer("x", dtype.U8, ir.Write), b.Buffer("y", dtype.U32, ir.Read)
	out := b.Buffer("out", dtype.U32, ir.Write)
	b.Store(x, b.Add(b.Thread(), b.Int(2)), b.Const(dtype.U8, 1))
	b.Store(out, b.Thread(), b.Load(y, b.Thread()))
	k := b.Kernel()
	for offset, want := range map[int64]string{0: "race: element 0 of y was written by thread 1", 4: ""} {
		l := ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{}, {Offset: offset}, {Slot: 1}}}
		err := interp.Run(l, [][]byte{make([]byte, 12), make([]byte, 8)}, interp.Options{Races: true})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *bench)
		want  string
	}{
		{"index", func(b *bench) { b.Store(b.y, b.Add(b.id(), b.Int(192)), b.Int(0)) }, "block [1 0 0] thread 0: store y[%8], %2: index 256 of 256 elements"},
		{"negative index", func(b *bench) { b.keep(b.get(b.Sub(b.Thread(), b.Int(1)))) }, "thread 0: %5 = shared.load.i32 m[%4]: index -1 of 64"},
		{"alignment", func(b *bench) { b.keep(b.LoadWide(b.y, b.Thread(), 2)[0]) }, "thread 1: %3, %4 = load.i32 y[%1]: index 1 of an access to 2 elements"},
		{"shared memory that nobody wrote", func(b *bench) { b.keep(b.SharedLoad(b.Shared("n", dtype.I32, 64), b.Thread())) }, "element 0 is read before it is written"},
		{"local that was not written", func(b *bench) {
			l := b.Local("l", dtype.I32, 2)
			b.If(b.Lt(b.Thread(), b.Int(9)), func() { b.Set(l, b.Int(1), b.Int(1)) })
			b.keep(b.Get(l, b.Int(1)))
		}, "thread 9: %7 = local.load.i32 l[%6]: element 1 is read before"},
		{"division", func(b *bench) { b.keep(b.Rem(b.Int(1), b.get(b.Thread()))) }, "division by zero"},
		{"division that nobody does", func(b *bench) {
			d := b.get(b.Thread())
			b.If(b.Ne(d, b.Int(0)), func() { b.keep(b.Rem(b.Int(1), d)) })
		}, ""},
		{"shift", func(b *bench) { b.keep(b.Binary(ir.Shl, b.Int(1), b.Thread())) }, "shift by 32"},
		{"barrier", func(b *bench) { b.If(b.Lt(b.Thread(), b.Int(60)), b.Barrier) }, "barrier: 60 of 64 threads come here"},
		{"subgroup", func(b *bench) { b.If(b.Lt(b.Thread(), b.Int(60)), b.SubgroupBarrier) }, "not all 32 threads of the subgroup"},
		{"endless", func(b *bench) {
			b.While(func() ir.Value { return b.Lt(b.Thread(), b.Int(9)) }, func() { b.keep(b.Int(1)) })
		}, "does not end"},
		{"overflow", func(b *bench) {
			b.For(b.Int(0), b.Add(b.Thread(), b.Int(1<<31-64)), 1<<30, func(ir.Value) { b.keep(b.Int(1)) })
		}, "1073741824 and 1073741824 overflow"},
	} {
		err := run(c.build, interp.Options{Iterations: 1000})
		if c.want == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorContains(t, err, c.want, c.name)
		var f *interp.Fault
		require.ErrorAs(t, err, &f)
	}
}

func TestRunWork(t *testing.T) {
	b := ir.New("copy", 4)
	x, y := b.Buffer("x", dtype.I32, ir.Read), b.Buffer("y", dtype.I32, ir.Write)
	b.Store(y, b.Thread(), b.Add(b.Load(x, b.Thread()), b.Int(1)))
	k := b.Kernel()
	launch := func(from, to int) ir.Launch {
		return ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: from}, {Slot: to}}}
	}
	in, out := []int32{1, 2, 3, 4}, make([]int32, 4)
	w := ir.Work{Temps: []int64{16}, Launches: []ir.Launch{launch(0, 2), launch(2, 1)}}
	require.NoError(t, interp.RunWork(w, [][]byte{raw(in), raw(out)}, interp.Options{}))
	require.Equal(t, []int32{3, 4, 5, 6}, out)
	w.Temps[0] = 12
	require.ErrorContains(t, interp.RunWork(w, [][]byte{raw(in), raw(out)}, interp.Options{}), "launch 0: kernel copy")
}
