package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// ownershipCases check that tensors and programs belong to a device, and that streams own nothing.
func ownershipCases() []testCase {
	return []testCase{
		ruled("ownership/tensor", "behind an event, any stream of a device may use and free its tensors", tensorCrosses),
		ruled("ownership/program", "a program can run on any stream of its device", programCrosses),
		ruled("ownership/stream-closes", "tensors outlive the stream that created them", tensorsOutlive),
		ruled("ownership/program-outlives", "a program outlives the stream that it was defined on", programOutlives),
		ruled("ownership/devices-apart", "two devices that were opened with the same index share no tensors and no programs", devicesApart),
		ruled("ownership/device-closes", "closing a device ends its streams, and no other device", deviceCloses),
		ruled("ownership/ids", "NewIDs returns each id once, to all goroutines together", idsAreDistinct),
		ruled("ownership/shared", "streams that run at once may read the same tensors and run the same program", sharedByMany),
		ruled("ownership/free-elsewhere", "a tensor that is freed behind an event stays valid for all work before the event", freedElsewhere),
	}
}

func tensorCrosses(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		if err := s.behind(q); err != nil {
			return err
		}
		neg, err := s.do(op.Neg, []op.Desc{d})
		if err != nil {
			return err
		}
		if err := s.holds(ctx, d, 1, 2); err != nil {
			return fmt.Errorf("on another stream: %w", err)
		}
		if err := s.free([]op.TensorID{d.ID}); err != nil {
			return err
		}
		if err := q.behind(s); err != nil {
			return err
		}
		if err := q.holds(ctx, neg[0], -1, -2); err != nil {
			return fmt.Errorf("a tensor that another stream created: %w", err)
		}
		if err := q.unknown(ctx, d); err != nil {
			return fmt.Errorf("after another stream freed it: %w", err)
		}
		return errors.Join(q.sync(ctx), s.sync(ctx))
	})
}

func programCrosses(ctx context.Context, q *queue) error {
	p, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	return q.with(ctx, func(s *queue) error {
		x, err := s.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		o, err := p.run(s, x)
		if err != nil {
			return fmt.Errorf("run on another stream: %w", err)
		}
		if err := s.holds(ctx, o[0], 11, 42); err != nil {
			return err
		}
		if err := q.behind(s); err != nil {
			return err
		}
		again, err := p.run(q, o[0])
		if err != nil {
			return err
		}
		return q.holds(ctx, again[0], 121, 882)
	})
}

func tensorsOutlive(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	d, err := s.put(ctx, numbers(3, 4))
	if err != nil {
		return err
	}
	neg, err := s.do(op.Neg, []op.Desc{d})
	if err != nil {
		return err
	}
	if err := s.sync(ctx); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := q.holds(ctx, d, 3, 4); err != nil {
		return fmt.Errorf("after the stream was closed: %w", err)
	}
	if err := q.holds(ctx, neg[0], -3, -4); err != nil {
		return fmt.Errorf("after the stream was closed: %w", err)
	}
	if err := q.free([]op.TensorID{d.ID, neg[0].ID}); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("free after the stream was closed: %w", err)
	}
	return q.unknown(ctx, d)
}

func programOutlives(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	p, err := s.affine(ctx, 10, 20)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	return p.computes(ctx, q, x)
}

// unseen checks that a tensor is unknown to a device.
func (q *queue) unseen(ctx context.Context, d op.Desc) error {
	if _, err := q.get(ctx, d); !errors.Is(err, core.ErrUnknownTensor) && !errors.Is(err, core.ErrStale) {
		return fmt.Errorf("read of a tensor of another device: error is %v, want %v", err, core.ErrUnknownTensor)
	}
	return nil
}

func devicesApart(ctx context.Context, q *queue) error {
	return q.withApart(ctx, func(s *queue) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		if err := q.sync(ctx); err != nil {
			return err
		}
		if err := s.unseen(ctx, d); err != nil {
			return err
		}
		var mine []op.Desc
		for range 16 { // their ids may equal ids of the other device
			e, err := s.put(ctx, numbers(8, 9))
			if err != nil {
				return err
			}
			mine = append(mine, e)
		}
		if err := q.holds(ctx, d, 1, 2); err != nil {
			return fmt.Errorf("after another device created tensors: %w", err)
		}
		if err := s.free(idsOf(mine)); err != nil {
			return err
		}
		if err := s.sync(ctx); err != nil {
			return err
		}
		if err := q.holds(ctx, d, 1, 2); err != nil {
			return fmt.Errorf("after another device freed tensors: %w", err)
		}
		if _, ok := core.Extension[core.Programs](q.dev); ok {
			if err := programsApart(ctx, q, s); err != nil {
				return err
			}
		}
		return q.stillGood(ctx)
	})
}

// programsApart checks that a device does not find a program of another device.
func programsApart(ctx context.Context, q, s *queue) error {
	p, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	x, err := s.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	theirs := *p
	if theirs.Programs, err = needs[core.Programs](s.dev, "programs"); err != nil {
		return err
	}
	_, err = theirs.run(s, x)
	if err := wantError(err, core.ErrNotFound); err != nil {
		return fmt.Errorf("run of a program of another device: %w", err)
	}
	return nil
}

func deviceCloses(ctx context.Context, q *queue) error {
	return q.withApart(ctx, func(s *queue) error {
		t, err := s.another(ctx)
		if err != nil {
			return err
		}
		d, err := s.busy(ctx, 100)
		if err != nil {
			return err
		}
		open := s.Signal()
		if err := s.dev.Close(); err != nil {
			return fmt.Errorf("close with a stream at work: %w", err)
		}
		_, stream := s.dev.OpenStream(ctx)
		calls := append(s.calls(ctx, d), called{"sync", s.sync(ctx)}, called{"free", s.free([]op.TensorID{d.ID})},
			called{"open", stream}, called{"sync of an idle stream", t.sync(ctx)})
		if err := allAre(core.ErrClosed, "the device was closed", calls...); err != nil {
			return err
		}
		if err := open.Wait(ctx); ignoreClosed(err) != nil { // a fast device may have reached it
			return fmt.Errorf("event from before the device was closed: error is %v, want none or %v", err, core.ErrClosed)
		}
		if err := s.dev.Close(); ignoreClosed(err) != nil {
			return fmt.Errorf("second close: error is %v, want none or %v", err, core.ErrClosed)
		}
		return q.stillGood(ctx)
	})
}

func idsAreDistinct(_ context.Context, q *queue) error {
	var mu sync.Mutex
	seen := map[op.TensorID]bool{}
	generation := q.id().Generation()
	return inParallel(4, func(i int) error {
		for k := range 50 {
			n := 1 + (i+k)%7
			first := q.dev.NewIDs(n)
			mu.Lock()
			for j := range n {
				id := op.NewTensorID(first.Generation(), first.Sequence()+uint64(j))
				if seen[id] || id.Sequence() == 0 || id.Generation() != generation {
					mu.Unlock()
					return fmt.Errorf("id %v is zero, was returned before, or is not of generation %d", id, generation)
				}
				seen[id] = true
			}
			mu.Unlock()
		}
		return nil
	})
}

func sharedByMany(ctx context.Context, q *queue) error {
	x := fill(q.random("shared"), op.DescOf(dtype.I32, 32, 32), op.Domain{Lo: -9, Hi: 9}, false)
	d, err := q.put(ctx, x)
	if err != nil {
		return err
	}
	n, err := op.New(op.MatMul, []op.Desc{d, d})
	if err != nil {
		return err
	}
	want, err := ref.Eval(&n, []ref.Tensor{x, x})
	if err != nil {
		return err
	}
	var p *defined
	if _, ok := core.Extension[core.Programs](q.dev); ok {
		if p, err = q.affine(ctx, 10, 20); err != nil {
			return err
		}
	}
	v, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	here := q.Signal()
	return q.atOnce(ctx, 4, func(_ int, s *queue) error {
		if err := s.Wait(here); err != nil {
			return err
		}
		for range 10 {
			outs, err := s.do(op.MatMul, []op.Desc{d, d})
			if err != nil {
				return err
			}
			if err := s.same(ctx, &n, []ref.Tensor{x, x}, outs, want); err != nil {
				return err
			}
			if p == nil {
				continue
			}
			o, err := p.run(s, v)
			if err != nil {
				return err
			}
			if err := s.holds(ctx, o[2], 11, 42); err != nil {
				return err
			}
		}
		return s.sync(ctx)
	})
}

func freedElsewhere(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		const n = 100
		d, err := s.busy(ctx, n)
		if err != nil {
			return err
		}
		twice, err := s.do(op.Add, []op.Desc{d, d})
		if err != nil {
			return err
		}
		if err := q.behind(s); err != nil {
			return err
		}
		if err := q.overwrites(ctx, d); err != nil {
			return err
		}
		if err := q.sync(ctx); err != nil {
			return fmt.Errorf("free of a tensor that another stream uses: %w", err)
		}
		return s.counted(ctx, twice[0], 2*n)
	})
}
