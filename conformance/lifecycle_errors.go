package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// errorCases provoke each sentinel that a correct host can get, and check its identity.
func errorCases() []testCase {
	of := func(name string, want error, provoke func(ctx context.Context, q *queue) error) testCase {
		return contract("errors/"+name, func(ctx context.Context, q *queue) error {
			if err := wantError(provoke(ctx, q), want); err != nil {
				return err
			}
			return q.stillGood(ctx)
		})
	}
	return []testCase{
		of("read-short", core.ErrShape, readOf(-1)), of("read-long", core.ErrShape, readOf(4)),
		of("read-unknown", core.ErrUnknownTensor, func(ctx context.Context, q *queue) error { return q.read(ctx, q.id(), make([]byte, 4)) }),
		of("write-short", core.ErrShape, writeOf(op.DescOf(dtype.F32, 2), 7)), of("write-long", core.ErrShape, writeOf(op.DescOf(dtype.F32, 2), 9)),
		of("write-rank", core.ErrShape, writeOf(op.Desc{DType: dtype.F32, Shape: make(shape.Shape, shape.MaxRank+1)}, 0)),
		of("write-negative", core.ErrShape, writeOf(op.DescOf(dtype.F32, -1), 4)),
		of("write-no-type", core.ErrDType, writeOf(op.Desc{Shape: dims(0)}, 0)),
		of("index", core.ErrIndex, func(ctx context.Context, q *queue) error {
			if _, err := q.failing(ctx); err != nil {
				return err
			}
			return q.sync(ctx)
		}),
		of("unknown-input", core.ErrUnknownTensor, func(ctx context.Context, q *queue) error {
			d := op.DescOf(dtype.F32, 2)
			d.ID = q.id()
			if _, err := q.do(op.Neg, []op.Desc{d}); err != nil {
				return err
			}
			return q.sync(ctx)
		}),
		of("no-device", core.ErrNotFound, func(ctx context.Context, q *queue) error {
			_, err := q.backend.Open(ctx, len(q.backend.Info().Devices)+3)
			return err
		}),
		of("open-canceled", core.ErrCanceled, func(ctx context.Context, q *queue) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			s, err := q.dev.OpenStream(ended)
			if err == nil { // a call that need not wait may succeed
				return fmt.Errorf("opened: %w", orClose(s.Close(), core.ErrCanceled))
			}
			return err
		}),
		contract("errors/version", func(_ context.Context, q *queue) error {
			n, in := negNode()
			n.Version += 900
			return wantError(q.dev.Capabilities().Check(&n, in), core.ErrUnsupported)
		}),
		contract("errors/node-fields", nodeFields),
	}
}

// orClose returns the error of a Close, or the other error if Close succeeded.
func orClose(closing, other error) error {
	if closing != nil {
		return closing
	}
	return other
}

func negNode() (op.Node, []op.Desc) {
	in := []op.Desc{op.DescOf(dtype.F32, 2)}
	in[0].ID = 1
	n, err := op.New(op.Neg, in)
	if err != nil {
		panic(err) // neg accepts f32
	}
	return n, in
}

// readOf reads a tensor into a buffer whose length differs from the tensor's size by more bytes.
func readOf(more int) func(ctx context.Context, q *queue) error {
	return func(ctx context.Context, q *queue) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		return q.read(ctx, d.ID, make([]byte, d.Bytes()+more))
	}
}

func writeOf(d op.Desc, n int) func(ctx context.Context, q *queue) error {
	return func(ctx context.Context, q *queue) error {
		d.ID = q.id()
		return q.Write(ctx, d, make([]byte, n))
	}
}

// nodeFields checks that the error of a node contains the op and the descriptions of its outputs, and matches no sentinel except ErrIndex.
func nodeFields(ctx context.Context, q *queue) error {
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	_, err = q.get(ctx, bad)
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return err
	}
	var ne *core.NodeError
	if !errors.As(err, &ne) || len(ne.Outputs) != 1 || ne.Outputs[0].ID != bad.ID || !ne.Outputs[0].SameType(bad) {
		return fmt.Errorf("the error of the node has outputs %v, want %v %v", ne.Outputs, bad.ID, bad)
	}
	for _, other := range core.Sentinels() {
		if other != core.ErrIndex && wantError(err, other) == nil {
			return fmt.Errorf("error %q is %q as well as %q", err, other, core.ErrIndex)
		}
	}
	return nil
}
