package gpu

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// slow is a library that takes 5 ms for each answer. It counts the questions, and how many are open at once, and refuses activations.
type slow struct {
	convolutions
	lock           sync.Mutex
	now, most, all int
}

func (l *slow) Convolution(c Convolution) ([]Candidate, error) {
	l.lock.Lock()
	l.now, l.all = l.now+1, l.all+1
	l.most = max(l.most, l.now)
	l.lock.Unlock()
	time.Sleep(5 * time.Millisecond)
	l.lock.Lock()
	l.now--
	l.lock.Unlock()
	if c.Activation != None {
		return nil, core.ErrUnsupported
	}
	return l.convolutions.Convolution(c)
}

// TestQuestionsAtOnce checks that a plan asks libraries all its questions at the same time, each once, and that a run compiles no further
// kernel.
func TestQuestionsAtOnce(t *testing.T) {
	const n = 6
	l := &slow{}
	d, fake := openDevice(t, Options{ChannelsFirst: true}, func(d *fakeDevice) { d.libraries = []Library{l} })
	d.kernel.Supports = nil
	m := newMaker(t, "questions")
	x := m.input(1, 1, 8, 8)
	var consts []*block
	q := d.queue(t)
	for k := range n { // of different sizes
		w := m.constant(1, 1, 1+k, 1)
		c := m.conv(x, w, 1, 0, 1)
		x = m.node(op.Relu, ids(c))
		x = m.node(op.Pad, ids(x), op.Ints("lo", 0, 0, 0, 0), op.Ints("hi", 0, 0, k, 0), op.ScalarFloat("value", 0))
	}
	m.p.Outputs = ids(x)
	s := &session{t: t, d: d, q: q, m: m}
	for _, c := range m.p.Consts {
		consts = append(consts, s.up(c, 0.5))
	}
	var err error
	s.plan, err = d.prepare(context.Background(), q, m.p, consts)
	require.NoError(t, err)
	for _, b := range consts {
		d.pool.release(b)
	}
	defer s.close()
	require.Greater(t, l.most, n/2)
	require.Equal(t, 2*n, l.all, "with an activation, and then without")
	require.EqualValues(t, n, d.Stats().LibraryCalls)
	compiled := d.Stats().Kernels.Compiled
	b := s.up(m.p.Inputs[0], 1)
	got := s.read(s.run(b)[0], 64)
	d.pool.release(b)
	require.Positive(t, got[0])
	require.EqualValues(t, compiled, d.Stats().Kernels.Compiled)
	require.Positive(t, fake.launches.Load())
}
