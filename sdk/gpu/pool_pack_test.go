package gpu

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// sound checks the invariants of a pool: blocks fill their segments without gaps, free neighbours of one owner are one block, and the
// counters agree with the blocks.
func (p *pool) sound(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var reserved, held int64
	for s := range p.segments {
		at, before := int64(0), (*block)(nil)
		for b := s.first; b != nil; before, b = b, b.after {
			require.Same(t, s, b.segment)
			require.Same(t, before, b.before)
			require.Equal(t, at, b.offset)
			require.Positive(t, b.size)
			require.Zero(t, b.size%grain)
			if b.free {
				require.True(t, slices.Contains(b.owner.of(s).lists[class(b.size)], b))
				require.False(t, before != nil && before.free && before.owner == b.owner, "two free neighbours")
			} else if b.holders.Load() > 0 {
				held += b.size
			}
			at += b.size
		}
		require.Equal(t, s.memory.Bytes(), at)
		reserved += at
	}
	require.Equal(t, reserved, p.stats.Reserved)
	require.Equal(t, len(p.segments), p.stats.Segments)
	require.Equal(t, held, p.stats.InUse+p.stats.Scratch)
}

// TestPack checks that pack moves the few tensors left in large segments to one segment of their size, with their contents, and moves
// nothing else.
func TestPack(t *testing.T) {
	d, fake := openDevice(t, Options{}, func(d *fakeDevice) { d.clean = true })
	q, other := d.queue(t), d.queue(t)
	take := func(q *queue, n int64, u use, v byte) *block {
		b, err := d.pool.alloc(&q.tenant, n, u)
		require.NoError(t, err)
		if v > 0 {
			require.NoError(t, q.driver.Fill(b.ref(), b.size, uint32(v), 1))
		}
		return b
	}
	const mib = 1 << 20
	var fillers, stay []*block
	// fragment leaves small blocks of the given use behind in three segments of 64 MiB.
	fragment := func(q *queue, u use, v byte) (left []*block) {
		for i := range 3 {
			fillers = append(fillers, take(q, 40*mib, forTensor, 0))
			left = append(left, take(q, 4*mib, u, v+byte(i)))
			fillers = append(fillers, take(q, 20*mib, forTensor, 0))
		}
		return left
	}
	moved := fragment(q, forTensor, 1)
	stay = append(stay, fragment(q, forConstant, 11)...)
	stay = append(stay, fragment(other, forTensor, 21)...)
	fixed := fragment(q, forTensor, 31)
	d.pool.fix(fixed[0])
	fixed[1].retain()
	d.pool.touch(&other.tenant, fixed[2])
	stay = append(stay, fixed...)
	full := take(q, 62*mib, forTensor, 0) // a segment with little unused memory
	stay = append(stay, full)
	for _, b := range fillers {
		d.pool.release(b)
	}
	var places []Ref
	for _, b := range stay {
		places = append(places, b.ref())
	}
	d.pool.sound(t)
	require.EqualValues(t, 13*64*mib, d.pool.statistics().Reserved)

	require.NoError(t, d.pool.pack(q, 179*mib), "less than that is unused")
	require.EqualValues(t, 13*64*mib, d.pool.statistics().Reserved)
	require.NoError(t, d.pool.pack(q, 178*mib))
	d.pool.sound(t)
	require.EqualValues(t, 10*64*mib+12*mib, d.pool.statistics().Reserved)
	require.EqualValues(t, 10*64*mib+12*mib, fake.inUse.Load())
	for i, b := range stay {
		require.True(t, places[i] == b.ref())
	}
	require.Same(t, moved[0].segment, moved[2].segment)
	for i, b := range moved {
		require.Equal(t, byte(i+1), b.ref().bytes()[0])
		require.Equal(t, byte(i+1), b.ref().bytes()[b.size-1])
	}
	d.pool.release(fixed[1])
	for _, b := range append(moved, stay...) {
		d.pool.release(b)
	}
	_, err := d.Trim()
	require.NoError(t, err)
	require.Zero(t, d.pool.statistics().Reserved)
}

// TestCalm checks that the pool returns memory to the driver after programs have run for a while without it.
func TestCalm(t *testing.T) {
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.dry = true })
	q := d.queue(t)
	m := newMaker(t, "calm")
	m.p.Outputs = ids(m.node(op.Neg, ids(m.input(100))))
	p, err := d.prepare(t.Context(), q, m.p, nil)
	require.NoError(t, err)
	defer p.Close()
	in, err := d.pool.alloc(&q.tenant, 400, forTensor)
	require.NoError(t, err)
	clear(in.ref().bytes())
	run := func(n int) int64 {
		for range n {
			out := make([]*block, 1)
			require.NoError(t, p.Run(q, []*block{in}, []bool{false}, out))
			d.pool.release(out[0])
		}
		d.pool.sound(t)
		return d.pool.statistics().Reserved
	}
	d.pool.calmTime = 0
	small := run(2 * calmRuns)
	large, err := d.pool.alloc(&q.tenant, 500<<20, forTensor)
	require.NoError(t, err)
	kept, err := d.pool.alloc(&q.tenant, 2<<20, forTensor)
	require.NoError(t, err)
	require.Equal(t, small+500<<20+64<<20, run(2*calmRuns), "it is in use")
	d.pool.release(large)
	d.pool.calmTime = time.Hour
	require.Equal(t, small+500<<20+64<<20, run(2*calmRuns), "for a moment only")
	d.pool.calmTime = 0
	require.Equal(t, small+64<<20, run(2*calmRuns), "the little that is left is not worth it")
	d.pool.release(kept)
	d.pool.release(in)
}

// TestScratchServesNodes checks that nodes which run outside of programs and need much memory get the scratch memory of programs. The
// scratch memory gets the same place afterwards.
func TestScratchServesNodes(t *testing.T) {
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.dry = true })
	q := d.queue(t)
	const size = 128 << 20
	require.NoError(t, q.growScratch(size))
	place := q.arena.ref()
	take := func() (blocks []*block) {
		for range 5 {
			b, err := d.pool.alloc(&q.tenant, size/8, forTensor)
			require.NoError(t, err)
			blocks = append(blocks, b)
		}
		d.pool.sound(t)
		return blocks
	}
	held := take()
	require.NotNil(t, q.arena, "outputs of programs do not")
	require.EqualValues(t, size+2*largeSegment, d.pool.statistics().Reserved)
	q.single = true
	held = append(held, take()...) // the first three have room in the segments
	require.Nil(t, q.arena)
	require.EqualValues(t, size+2*largeSegment, d.pool.statistics().Reserved)
	q.single = false
	for _, b := range held {
		d.pool.release(b)
	}
	require.NoError(t, q.growScratch(size))
	require.Equal(t, place, q.arena.ref())
	d.pool.sound(t)
}

// TestTidy requests a large block while as much memory is unused in smaller pieces. For single nodes the pool packs the pieces, but at
// most maxTidy times; for programs it does not.
func TestTidy(t *testing.T) {
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.dry = true })
	q := d.queue(t)
	const mib = 1 << 20
	var kept []*block
	round := func(single bool) int64 {
		_, err := d.Trim()
		require.NoError(t, err)
		var fillers []*block
		for range 5 {
			for _, n := range []int64{60 * mib, 4 * mib} {
				b, err := d.pool.alloc(&q.tenant, n, forTensor)
				require.NoError(t, err)
				fillers = append(fillers, b)
			}
		}
		for i, b := range fillers {
			if i%2 == 0 {
				d.pool.release(b)
			} else {
				kept = append(kept, b)
			}
		}
		q.single = single
		b, err := d.pool.alloc(&q.tenant, 300*mib, forTensor)
		q.single = false
		require.NoError(t, err)
		d.pool.sound(t)
		reserved := d.pool.statistics().Reserved
		d.pool.release(b)
		for _, b := range kept {
			d.pool.release(b)
		}
		kept = nil
		return reserved
	}
	require.EqualValues(t, 5*64*mib+300*mib, round(false), "a program's outputs are in the same places each time")
	for range maxTidy {
		require.EqualValues(t, 20*mib+300*mib, round(true))
	}
	require.EqualValues(t, 5*64*mib+300*mib, round(true))
	require.EqualValues(t, 5*64*mib+300*mib, d.pool.statistics().Most)
}

// TestTensorsMoveBetweenRuns moves the operand of a program between its runs, with a graph and without. The results stay the same.
func TestTensorsMoveBetweenRuns(t *testing.T) {
	for _, noGraphs := range []bool{false, true} {
		d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.noGraphs, d.jitter = noGraphs, true })
		q := d.queue(t)
		m := newMaker(t, "moved")
		x := m.input(64, 4100)
		for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.Mean} {
			for axis := range 2 {
				m.p.Outputs = append(m.p.Outputs, m.node(c, ids(x), op.Ints("axes", axis), op.Flag("keep_dims", false)))
			}
		}
		p, err := d.prepare(t.Context(), q, m.p, nil)
		require.NoError(t, err)
		defer p.Close()
		require.GreaterOrEqual(t, len(p.steps), minGraph)
		desc := op.DescOf(dtype.F32, 64, 4100)
		v := make([]float32, desc.Shape.Size())
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range v {
			v[i] = 1 + rng.Float32()/1000
		}
		in, err := q.Enqueue(desc, dtype.Bytes(v), func() {})
		require.NoError(t, err)
		var want [][]byte
		for i := range 6 {
			out := make([]*block, len(p.outputs))
			require.NoError(t, p.Run(q, []*block{in}, []bool{false}, out))
			var got [][]byte
			for k, b := range out {
				got = append(got, make([]byte, p.outputs[k].desc.Bytes()))
				require.NoError(t, q.Fetch(got[k], p.outputs[k].desc, b))
			}
			k, err := q.Record()
			require.NoError(t, err)
			require.NoError(t, k.Wait())
			for _, b := range out {
				d.pool.release(b)
			}
			if i == 0 {
				want = got
			}
			require.Equal(t, want, got)
			was := in.ref()
			require.NoError(t, d.pool.pack(q, -1<<30))
			require.True(t, was.Memory != in.ref().Memory)
			d.pool.sound(t)
		}
		require.Equal(t, !noGraphs, d.Stats().GraphRuns > 0)
		d.pool.release(in)
	}
}
