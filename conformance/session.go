package conformance

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// session holds the open backend over the cases.
type session struct {
	open    func() (core.Backend, error)
	backend core.Backend
	info    core.Info
	seed    uint64
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
	s.backend, s.info = b, b.Info()
	return nil
}

func (s *session) close() {
	if s.backend != nil {
		_ = s.backend.Close() // the case that broke the backend has been reported
		s.backend = nil
	}
}

// queue is the stream of one case, with ids to give out.
type queue struct {
	core.Stream
	session *session
	last    op.TensorID
}

func (s *session) stream(ctx context.Context) (*queue, error) {
	q, err := s.backend.OpenStream(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	return &queue{Stream: q, session: s}, nil
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
	return rand.New(rand.NewPCG(q.session.seed, h.Sum64()))
}
