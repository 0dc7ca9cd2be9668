package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// peerCases check copies between devices of one backend.
func peerCases() []testCase {
	return []testCase{
		ruled("peer/copy", "behind an event, CopyFrom copies a tensor from another device", peerCopies),
		ruled("peer/types", "CopyFrom copies tensors of every type and shape", peerTypes),
		ruled("peer/kept", "the copy and the original are independent of each other", peerKept),
		ruled("peer/wrong", "if the id is unknown or the shape differs, the copy fails or is poisoned", peerWrong),
		ruled("peer/poison", "the copy of a poisoned tensor carries its error", peerPoison),
		ruled("peer/foreign", "CopyFrom returns ErrUnsupported for a device of another backend", peerForeign),
	}
}

// peers calls f with a stream of another device, and the extension of that device.
func (q *queue) peers(ctx context.Context, f func(s *queue, p core.PeerCopy) error) error {
	return q.withApart(ctx, func(s *queue) error {
		p, err := needs[core.PeerCopy](s.dev, "peer copy")
		if err != nil {
			return err
		}
		return f(s, p)
	})
}

// copied appends a copy of d, a tensor of q, to s.
func (q *queue) copied(s *queue, p core.PeerCopy, d op.Desc) (op.Desc, error) {
	if err := s.behind(q); err != nil {
		return d, err
	}
	out := d
	out.ID = s.id()
	err := p.CopyFrom(s.Stream, out, q.dev, d.ID)
	if errors.Is(err, core.ErrUnsupported) {
		err = skip{fmt.Sprintf("the device does not copy from itself: %v", err)}
	}
	return out, err
}

func peerCopies(ctx context.Context, q *queue) error {
	return q.peers(ctx, func(s *queue, p core.PeerCopy) error {
		d, err := q.busy(ctx, 100)
		if err != nil {
			return err
		}
		c, err := q.copied(s, p, d)
		if err != nil {
			return err
		}
		if err := q.behind(s); err != nil {
			return err
		}
		if err := q.overwrites(ctx, d); err != nil {
			return err
		}
		if err := s.counted(ctx, c, 100); err != nil {
			return err
		}
		return errors.Join(q.sync(ctx), s.sync(ctx))
	})
}

func peerTypes(ctx context.Context, q *queue) error {
	return q.peers(ctx, func(s *queue, p core.PeerCopy) error {
		r := q.random("peer-types")
		for _, d := range (q.dev.Capabilities().Types & (dtype.Any | dtype.Smalls)).List() {
			for _, shp := range []op.Desc{op.DescOf(d), op.DescOf(d, 7), op.DescOf(d, 3, 0, 2), op.DescOf(d, 5, 3)} {
				t := fill(r, shp, op.Domain{}, false)
				desc, err := q.put(ctx, t)
				if err != nil {
					return err
				}
				c, err := q.copied(s, p, desc)
				if err != nil {
					return err
				}
				if err := s.unchanged(ctx, []op.Desc{c}, []ref.Tensor{t}); err != nil {
					return fmt.Errorf("copy of %v: %w", desc, err)
				}
			}
		}
		return s.sync(ctx)
	})
}

func peerKept(ctx context.Context, q *queue) error {
	return q.peers(ctx, func(s *queue, p core.PeerCopy) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		view, err := q.do(op.Flip, []op.Desc{d}, op.Ints("axes", 0))
		if err != nil {
			return err
		}
		c, err := q.copied(s, p, view[0])
		if err != nil {
			return err
		}
		neg, err := s.consume(op.Neg, c)
		if err != nil {
			return err
		}
		return errors.Join(s.holds(ctx, neg, -2, -1), q.holds(ctx, d, 1, 2), q.holds(ctx, view[0], 2, 1), s.unknown(ctx, c))
	})
}

func peerWrong(ctx context.Context, q *queue) error {
	return q.peers(ctx, func(s *queue, p core.PeerCopy) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		gone, other := d, d
		gone.ID = q.id()
		other.Shape = dims(3)
		for _, c := range []struct {
			d    op.Desc
			want error
		}{{gone, core.ErrUnknownTensor}, {other, core.ErrShape}} {
			out, err := q.copied(s, p, c.d)
			if err == nil {
				_, err = s.get(ctx, out)
				_ = s.sync(ctx) // reports the same failure again
			}
			if err := wantOrSkip(err, c.want); err != nil {
				return fmt.Errorf("copy of %v as %v: %w", c.d.ID, c.d, err)
			}
		}
		return errors.Join(q.holds(ctx, d, 1, 2), s.stillGood(ctx))
	})
}

func peerPoison(ctx context.Context, q *queue) error {
	return q.peers(ctx, func(s *queue, p core.PeerCopy) error {
		bad, err := q.failing(ctx)
		if err != nil {
			return err
		}
		c, err := q.copied(s, p, bad)
		if err != nil {
			return err
		}
		_, err = s.get(ctx, c)
		if err := wantError(err, core.ErrIndex); err != nil {
			return err
		}
		_ = s.sync(ctx) // reports the same failure again
		return errors.Join(s.stillGood(ctx), wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex))
	})
}

func peerForeign(ctx context.Context, q *queue) error {
	p, err := needs[core.PeerCopy](q.dev, "peer copy")
	if err != nil {
		return err
	}
	err = q.withInstance(ctx, func(s *queue) error {
		d, err := s.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		out := d
		out.ID = q.id()
		return wantError(p.CopyFrom(q.Stream, out, s.dev, d.ID), core.ErrUnsupported)
	})
	return errors.Join(err, q.stillGood(ctx))
}
