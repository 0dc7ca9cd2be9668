package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// collectives is core.Collectives over host memory, between devices of one backend in one process. An author with a better way
// implements core.Collectives with an Extender.
type collectives[V any] struct{ d *device[V] }

// rendezvousTable contains the groups that are not complete yet, by key.
type rendezvousTable struct {
	mu sync.Mutex
	m  map[string]*rendezvous
}

// rendezvous is a group of ranks. In each round, every rank contributes its data and receives the data of all.
type rendezvous struct {
	size int
	full chan struct{} // closed when all ranks have joined
	gone chan struct{} // closed when a rank has left

	mu     sync.Mutex
	joined []bool
	count  int
	left   bool
	rounds map[int]*round
}

// round is one exchange.
type round struct {
	data  [][]byte
	errs  []error
	given int
	taken int
	done  chan struct{}
}

// Join implements core.Collectives.
func (x collectives[V]) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	b := x.d.backend
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("%s: join %q: rank %d of %d: %w", b.name(), key, rank, size, core.ErrAttr)
	}
	m, err := b.rendezvous.join(key, rank, size)
	if err != nil {
		return nil, fmt.Errorf("%s: join %q: %w", b.name(), key, err)
	}
	select {
	case <-m.full:
		return &group[V]{d: x.d, m: m, rank: rank}, nil
	case <-m.gone:
		return nil, fmt.Errorf("%s: join %q: a rank has left: %w", b.name(), key, core.ErrClosed)
	case <-ctx.Done():
		b.rendezvous.leave(key, m)
		return nil, b.canceled(ctx)
	}
}

func (x *rendezvousTable) join(key string, rank, size int) (*rendezvous, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.m[key]
	if m == nil {
		m = &rendezvous{size: size, full: make(chan struct{}), gone: make(chan struct{}), joined: make([]bool, size), rounds: map[int]*round{}}
		if x.m == nil {
			x.m = map[string]*rendezvous{}
		}
		x.m[key] = m
	}
	switch {
	case m.size != size:
		return nil, fmt.Errorf("%d ranks, others say %d: %w", size, m.size, core.ErrAttr)
	case m.joined[rank]:
		return nil, fmt.Errorf("rank %d is there already: %w", rank, core.ErrAttr)
	}
	m.joined[rank] = true
	if m.count++; m.count == size {
		delete(x.m, key)
		close(m.full)
	}
	return m, nil
}

// leave ends a group that is not complete. Ranks that wait for it get an error.
func (x *rendezvousTable) leave(key string, m *rendezvous) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m[key] == m {
		delete(x.m, key)
	}
	m.leave()
}

func (m *rendezvous) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.left = true
		close(m.gone)
	}
}

// exchange contributes the data of a rank, or an error in place of data, and returns the data of all ranks in order. Closing quit ends the
// wait.
func (m *rendezvous) exchange(n, rank int, data []byte, err error, quit <-chan struct{}) ([][]byte, error) {
	m.mu.Lock()
	r := m.rounds[n]
	if r == nil {
		r = &round{data: make([][]byte, m.size), errs: make([]error, m.size), done: make(chan struct{})}
		m.rounds[n] = r
	}
	r.data[rank], r.errs[rank] = data, err
	if r.given++; r.given == m.size {
		close(r.done)
	}
	m.mu.Unlock()
	select {
	case <-r.done:
	case <-m.gone:
		select {
		case <-r.done: // all ranks had contributed before a rank left
		default:
			return nil, fmt.Errorf("a rank has left the group: %w", core.ErrClosed)
		}
	case <-quit:
		m.leave()
		return nil, fmt.Errorf("stream: %w", core.ErrClosed)
	}
	m.mu.Lock()
	if r.taken++; r.taken == m.size {
		delete(m.rounds, n)
	}
	m.mu.Unlock()
	for i, e := range r.errs {
		if e != nil {
			return nil, fmt.Errorf("rank %d: %w", i, e)
		}
	}
	return r.data, nil
}

// group is the core.Group of one rank.
type group[V any] struct {
	d      *device[V]
	m      *rendezvous
	rank   int
	rounds int // number of requested rounds

	mu     sync.Mutex
	open   int // rounds that were requested and have not taken place
	closed bool
}

// ended counts a round that has taken place, and leaves the group after the last round if the group is closed.
func (g *group[V]) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open--; g.closed && g.open == 0 {
		g.m.leave()
	}
}

// take appends a round in which the rank contributes tensor in. out becomes the result of combine on the elements of all ranks.
func (g *group[V]) take(what string, cs core.Stream, in op.TensorID, out op.Desc, check func(in op.Desc) error, combine func(all [][]byte) ([]byte, error)) error {
	s, err := g.d.stream(cs)
	if err != nil {
		return err
	}
	out.Shape = out.Shape.Clone()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("%s: %s: group: %w", g.d.backend.name(), what, core.ErrClosed)
	}
	n := g.rounds
	err = s.append(command{kind: doCall, on: &call{abandon: g.broken, do: func() {
		defer g.ended()
		s.produce(what, []op.Desc{out}, func() ([][]byte, error) {
			mine, err := g.mine(s, in, check)
			all, err := g.m.exchange(n, g.rank, mine, err, s.quit)
			if err != nil {
				return nil, err
			}
			got, err := combine(all)
			return [][]byte{got}, err
		})
	}}})
	if err == nil { // else the rank has not asked for a round
		g.rounds++
		g.open++
	}
	return err
}

// broken leaves the group because a round that was asked for will not take place.
func (g *group[V]) broken() {
	g.m.leave()
	g.ended()
}

// mine returns the elements that this rank contributes.
func (g *group[V]) mine(s *stream[V], id op.TensorID, check func(op.Desc) error) ([]byte, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	c, err := g.d.hold(id)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	defer g.d.drop(c)
	if err := check(c.desc); err != nil {
		return nil, err
	}
	data := make([]byte, c.desc.Bytes())
	return data, g.d.download(data, c)
}

func sameType(out op.Desc) func(op.Desc) error {
	return func(in op.Desc) error {
		if !in.SameType(out) {
			return fmt.Errorf("the output is %v, want %v: %w", out, in, core.ErrShape)
		}
		return nil
	}
}

// AllReduce implements core.Group.
func (g *group[V]) AllReduce(cs core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	s, err := g.d.stream(cs)
	if err != nil {
		return err
	}
	return g.take("all_reduce", cs, in, out, sameType(out), func(all [][]byte) ([]byte, error) {
		sum := append([]byte(nil), all[0]...)
		for _, next := range all[1:] {
			if err := s.combine(by.Op(), out, sum, next); err != nil {
				return nil, err
			}
		}
		return sum, nil
	})
}

// combine computes a = code(a, b) for elements in host memory, with the queue's kernel.
func (s *stream[V]) combine(code op.Code, d op.Desc, a, b []byte) error {
	n, err := op.New(code, []op.Desc{d, d})
	if err != nil {
		return err
	}
	author := s.dev.author
	in := make([]V, 0, 2)
	defer func() {
		for _, v := range in {
			author.Release(v)
		}
	}()
	for _, data := range [][]byte{a, b} {
		var v V
		if s.async != nil {
			v, err = s.async.Enqueue(d, data, func() {})
		} else {
			v, err = s.upload(d, data)
		}
		if err != nil {
			return err
		}
		in = append(in, v)
	}
	call := Call[V]{Node: &n, In: in, Descs: []op.Desc{d, d}, Out: make([]V, 1)}
	if err := guard(func() error { return s.queue.Execute(&call) }); err != nil {
		return err
	}
	defer author.Release(call.Out[0])
	if s.async == nil {
		return guard(func() error { return author.Download(a, d, call.Out[0]) })
	}
	return guard(func() error {
		if err := s.async.Fetch(a, d, call.Out[0]); err != nil {
			return err
		}
		m, err := s.async.Record()
		if err != nil {
			return err
		}
		return m.Wait()
	})
}

// AllGather implements core.Group.
func (g *group[V]) AllGather(cs core.Stream, in op.TensorID, out op.Desc) error {
	check := func(d op.Desc) error {
		if len(d.Shape) == 0 || len(d.Shape) != len(out.Shape) || d.DType != out.DType || out.Shape[0] != g.m.size*d.Shape[0] ||
			!d.Shape[1:].Equal(out.Shape[1:]) {
			return fmt.Errorf("%d ranks of %v do not make %v: %w", g.m.size, d, out, core.ErrShape)
		}
		return nil
	}
	return g.take("all_gather", cs, in, out, check, func(all [][]byte) ([]byte, error) {
		joined := make([]byte, 0, out.Bytes())
		for _, data := range all {
			joined = append(joined, data...)
		}
		return joined, nil
	})
}

// Broadcast implements core.Group.
func (g *group[V]) Broadcast(cs core.Stream, root int, in op.TensorID, out op.Desc) error {
	if root < 0 || root >= g.m.size {
		return fmt.Errorf("%s: broadcast from rank %d of %d: %w", g.d.backend.name(), root, g.m.size, core.ErrAttr)
	}
	return g.take("broadcast", cs, in, out, sameType(out), func(all [][]byte) ([]byte, error) { return all[root], nil })
}

// Close implements core.Group. Requested rounds still take place.
func (g *group[V]) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.open == 0 {
		g.m.leave()
	}
	g.closed = true
	return nil
}
