package conformance_test

import (
	"context"
	"errors"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// wrapped gives every stream of a backend a fault.
type wrapped struct {
	core.Backend
	wrap func(core.Stream) core.Stream
}

func (w wrapped) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	s, err := w.Backend.OpenStream(ctx, device)
	if err != nil {
		return nil, err
	}
	return w.wrap(s), nil
}

type keeper struct{ core.Stream }

func (keeper) Free([]op.TensorID) error { return nil }

// borrower writes when the tensor is first read.
type borrower struct {
	core.Stream
	d    op.Desc
	data []byte
}

func (b *borrower) Write(_ context.Context, d op.Desc, data []byte) error {
	b.d, b.data = d, data
	return nil
}

func (b *borrower) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := b.Stream.Write(ctx, b.d, b.data); err != nil {
		return err
	}
	return b.Stream.Read(ctx, id, dst)
}

type quiet struct{ core.Stream }

func (q quiet) Sync(ctx context.Context) error {
	_ = q.Stream.Sync(ctx)
	return nil
}

type mumbler struct{ core.Stream }

func (m mumbler) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := m.Stream.Read(ctx, id, dst); err != nil {
		return errors.New(err.Error())
	}
	return nil
}

type hoarder struct{ core.Stream }

func (h hoarder) Submit(nodes []op.Node) error {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Drop = 0
	}
	return h.Stream.Submit(nodes)
}

type zombie struct{ core.Stream }

func (*zombie) Submit([]op.Node) error { return nil }
