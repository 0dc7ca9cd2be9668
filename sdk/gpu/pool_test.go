package gpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// openDevice opens a device without an engine.
func openDevice(t *testing.T, o Options, setup func(d *fakeDevice)) (*device, *fakeDevice) {
	o.NoCache = o.Cache == ""
	f := &fakeDriver{setup: setup}
	x, err := (&author{driver: f, options: o.withDefaults()}).Open(context.Background(), 0)
	require.NoError(t, err)
	d := x.(*device)
	fake := f.opened[0]
	t.Cleanup(func() {
		for _, q := range append([]*queue(nil), d.opened()...) {
			q.Close()
		}
		require.Zero(t, d.pool.statistics().InUse)
		d.Close()
		require.Zero(t, fake.inUse.Load())
		require.Zero(t, fake.events.Load())
	})
	return d, fake
}

func (d *device) queue(t *testing.T) *queue {
	q, err := d.OpenQueue()
	require.NoError(t, err)
	return q.(*queue)
}

func TestAQueueReusesItsMemoryAtOnce(t *testing.T) {
	d, fake := openDevice(t, Options{}, func(d *fakeDevice) { d.jitter = true })
	q := d.queue(t)
	b, err := d.pool.alloc(&q.tenant, 1000, forTensor)
	require.NoError(t, err)
	at := b.ref()
	d.pool.release(b)
	for range 100 {
		b, err := d.pool.alloc(&q.tenant, 1000, forTensor)
		require.NoError(t, err)
		require.Equal(t, at, b.ref())
		d.pool.release(b)
	}
	require.EqualValues(t, 1, fake.allocs.Load())
}

// TestRoundsGetTheSamePlaces: a round that asks for the same sizes gets the same places, in whatever order the round before gave them
// back, and around whatever is held all the time.
func TestRoundsGetTheSamePlaces(t *testing.T) {
	d, _ := openDevice(t, Options{}, nil)
	q := d.queue(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var sizes []int64
	var kept []*block
	take := func(n int64) *block {
		b, err := d.pool.alloc(&q.tenant, n, forTensor)
		require.NoError(t, err)
		return b
	}
	for i := range 300 {
		n := int64(1 + rng.IntN(2000))
		if i%10 == 0 {
			n = int64(rng.IntN(4 << 20))
		}
		sizes = append(sizes, n)
		if b := take(n); i%3 > 0 {
			defer d.pool.release(b)
		} else {
			kept = append(kept, b)
		}
	}
	for _, b := range kept {
		d.pool.release(b)
	}
	var want []Ref
	for round := range 8 {
		var blocks []*block
		var got []Ref
		for _, n := range sizes[:120] {
			blocks = append(blocks, take(n))
			got = append(got, blocks[len(blocks)-1].ref())
		}
		rng.Shuffle(len(blocks), func(i, k int) { blocks[i], blocks[k] = blocks[k], blocks[i] })
		for _, b := range blocks {
			d.pool.release(b)
		}
		if round == 0 { // it may have asked for more memory
			continue
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}

func TestAnotherQueueWaitsForMemory(t *testing.T) {
	d, fake := openDevice(t, Options{}, nil)
	a, b := d.queue(t), d.queue(t)
	x, err := d.pool.alloc(&a.tenant, 5<<20, forTensor)
	require.NoError(t, err)
	gate := make(chan struct{})
	a.mu.Lock()
	a.seq++
	require.NoError(t, a.driver.(*fakeQueue).do(func() error { <-gate; return nil }))
	a.mu.Unlock()
	d.pool.release(x)
	y, err := d.pool.alloc(&b.tenant, 5<<20, forTensor)
	require.NoError(t, err)
	require.NotEqual(t, x.segment, y.segment, "the first queue still works on it")
	close(gate)
	m, err := a.Record()
	require.NoError(t, err)
	require.NoError(t, m.Wait())
	z, err := d.pool.alloc(&b.tenant, 60<<20, forTensor)
	require.NoError(t, err)
	require.Equal(t, x.segment, z.segment, "the first queue is idle")
	require.EqualValues(t, 2, fake.allocs.Load())
	d.pool.release(y)
	d.pool.release(z)
}

func TestMemoryOfTwoQueuesWaitsForBoth(t *testing.T) {
	d, _ := openDevice(t, Options{}, nil)
	a, b := d.queue(t), d.queue(t)
	x, err := d.pool.alloc(&a.tenant, 2000, forTensor)
	require.NoError(t, err)
	d.pool.touch(&b.tenant, x)
	require.False(t, x.sole(&a.tenant))
	d.pool.release(x)
	y, err := d.pool.alloc(&a.tenant, 2000, forTensor)
	require.NoError(t, err)
	require.NotSame(t, x, y)
	require.NoError(t, d.pool.collect(true))
	require.True(t, x.free)
	require.Equal(t, &d.pool.any, x.owner)
	d.pool.release(y)
}

func TestOutOfMemoryTellsWhatHoldsIt(t *testing.T) {
	d, fake := openDevice(t, Options{MemoryLimit: 40 << 20}, nil)
	q := d.queue(t)
	var held []*block
	for range 4 {
		b, err := d.pool.alloc(&q.tenant, 8<<20, forTensor)
		require.NoError(t, err)
		held = append(held, b)
	}
	c, err := d.pool.alloc(&q.tenant, 3000, forConstant)
	require.NoError(t, err)
	_, err = d.pool.alloc(&q.tenant, 16<<20, forTensor)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.Equal(t, "16.0 MiB wanted; the device has 1.0 GiB, 988.0 MiB of it free; the limit is 40.0 MiB; 36.0 MiB are reserved: "+
		"32.0 MiB in 4 blocks of tensors (4 × 8.0 MiB), 3.0 KiB in 1 blocks of constants of programs (1 × 3.0 KiB), 4.0 MiB unused in pieces of "+
		"at most 4.0 MiB. Free tensors, take a smaller batch or a smaller type, or raise the limit: the limit is 40.0 MiB: out of memory", err.Error())
	d.pool.release(held[0])
	d.pool.release(held[2])
	before := fake.frees.Load()
	b, err := d.pool.alloc(&q.tenant, 16<<20, forTensor)
	require.NoError(t, err, "two segments of 8 MiB were freed")
	require.Equal(t, before+2, fake.frees.Load())
	for _, b := range []*block{b, c, held[1], held[3]} {
		d.pool.release(b)
	}
	freed, err := d.Trim()
	require.NoError(t, err)
	require.Positive(t, freed)
	require.Zero(t, d.pool.statistics().Reserved)
}

// TestPoolSoak makes, passes on, frees and moves tensors at random over two queues that lag behind, in little memory. No tensor
// changes while it is held.
func TestPoolSoak(t *testing.T) {
	d, _ := openDevice(t, Options{MemoryLimit: 12 << 20, Staging: 1 << 20}, func(d *fakeDevice) { d.jitter = true })
	queues := []*queue{d.queue(t), d.queue(t)}
	type tensor struct {
		b *block
		d op.Desc
		v byte
	}
	var held []tensor
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		q := queues[rng.IntN(2)]
		switch {
		case len(held) < 8 || len(held) < 60 && rng.IntN(2) == 0:
			n := rng.IntN(1 << (4 + rng.IntN(16)))
			x := tensor{d: op.DescOf(dtype.U8, n), v: byte(i)}
			b, err := q.Enqueue(x.d, bytes.Repeat([]byte{x.v}, n), func() {})
			require.NoError(t, err)
			x.b = b
			held = append(held, x)
		default:
			k := rng.IntN(len(held))
			x := held[k]
			held[k] = held[len(held)-1]
			held = held[:len(held)-1]
			if rng.IntN(2) == 0 { // it is read on a queue of its own or the other
				if x.b.owner != &q.tenant {
					m, err := x.b.owner.queue.Record()
					require.NoError(t, err)
					require.NoError(t, q.Await(m))
				}
				got := make([]byte, x.d.Bytes())
				require.NoError(t, q.Fetch(got, x.d, x.b))
				d.pool.release(x.b) // before the copy is done
				if rng.IntN(4) == 0 {
					m, err := q.Record()
					require.NoError(t, err)
					require.NoError(t, m.Wait())
					require.Equal(t, bytes.Repeat([]byte{x.v}, len(got)), got)
				}
				continue
			}
			d.pool.release(x.b)
		}
		if i%500 == 499 {
			_, err := d.Trim()
			require.NoError(t, err)
		}
		if i%100 == 50 {
			require.NoError(t, d.pool.pack(q, -1<<30))
			d.pool.sound(t)
		}
	}
	for _, x := range held {
		got := make([]byte, x.d.Bytes())
		q := x.b.owner.queue
		require.NoError(t, q.Fetch(got, x.d, x.b))
		m, err := q.Record()
		require.NoError(t, err)
		require.NoError(t, m.Wait())
		require.Equal(t, bytes.Repeat([]byte{x.v}, len(got)), got)
		d.pool.release(x.b)
	}
}

func TestBins(t *testing.T) {
	for size := int64(grain); size < 1<<36; size += max(grain, roundUp(size/7, grain)) {
		c := class(size)
		require.GreaterOrEqual(t, class(size+grain), c)
		require.Less(t, c, classes)
	}
	var b bins
	require.Nil(t, b.find(grain))
	sizes := []int64{grain, 3 * grain, 40 * grain, 41 * grain, 1 << 30}
	for _, s := range sizes {
		b.put(&block{size: s, segment: &segment{}})
	}
	for _, s := range sizes {
		x := b.find(s)
		require.Equal(t, s, x.size)
		b.remove(x)
	}
	require.Zero(t, b.bytes)
	require.Nil(t, b.any())
}
