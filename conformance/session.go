package conformance

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// session holds the open backend over the cases.
type session struct {
	options Options
	open    func() (core.Backend, error)
	backend core.Backend
	report  *Report
	seed    uint64
	hangs   int
}

// ensure opens the backend if it is not.
func (s *session) ensure() error {
	if s.backend != nil {
		return nil
	}
	b, err := s.open()
	if err != nil {
		return fmt.Errorf("conformance: open the backend: %w", err)
	}
	s.backend = b
	if s.report.Backend.Name == "" {
		s.report.Backend, s.report.Capabilities = b.Info(), b.Capabilities()
	}
	return nil
}

// closePatience is how long a backend may take to close; one that takes longer is left behind.
const closePatience = 5 * time.Second

// close gives the backend up. What Close says of a backend that a case broke has been reported by that case.
func (s *session) close() {
	b := s.backend
	s.backend = nil
	if b == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_ = b.Close()
	}()
	within(done, min(closePatience, max(s.limit(), 100*time.Millisecond)))
}

// within waits for done at most for the given time.
func within(done <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// queue is the stream of one case, with ids to give out.
type queue struct {
	core.Stream
	backend core.Backend
	options *Options
	open    func() (core.Backend, error)
	seed    uint64
	last    op.TensorID
}

// queue opens a stream for a case.
func (s *session) queue(ctx context.Context) (*queue, error) {
	q := &queue{backend: s.backend, options: &s.options, open: s.open, seed: s.seed}
	return q.another(ctx)
}

// another opens a further stream of the backend.
func (q *queue) another(ctx context.Context) (*queue, error) {
	st, err := q.backend.OpenStream(ctx, q.options.Device)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	other := *q
	other.Stream, other.last = st, 0
	return &other, nil
}

func (q *queue) id() op.TensorID {
	q.last++
	return q.last
}

// put writes t under a new id.
func (q *queue) put(ctx context.Context, t ref.Tensor) (op.Desc, error) {
	d := t.Desc
	d.ID = q.id()
	if err := q.Write(ctx, d, t.Bytes()); err != nil {
		return d, fmt.Errorf("write of %v: %w", d, err)
	}
	return d, nil
}

// get reads a tensor.
func (q *queue) get(ctx context.Context, d op.Desc) (ref.Tensor, error) {
	data := make([]byte, d.Bytes())
	for i := range data {
		data[i] = 0xa5 // a backend that writes nothing is found out
	}
	if err := q.Read(ctx, d.ID, data); err != nil {
		return ref.Tensor{}, err
	}
	return ref.FromBytes(d, data)
}

// do submits one node and gives its outputs.
func (q *queue) do(c op.Code, in []op.Desc, attrs ...op.Attr) ([]op.Desc, error) {
	n, err := op.New(c, in, attrs...)
	if err != nil {
		return nil, err
	}
	return q.submit(n)
}

// submit gives ids to the outputs of n and submits it.
func (q *queue) submit(n op.Node) ([]op.Desc, error) {
	for i := range n.Outputs {
		n.Outputs[i].ID = q.id()
	}
	if err := q.Submit([]op.Node{n}); err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	return n.Outputs, nil
}

// random is the generator of a case's values.
func (q *queue) random(id string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return rand.New(rand.NewPCG(q.seed, h.Sum64()))
}
