package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// streamCases check the parts of the contract of core.Stream that do not depend on an op.
func streamCases() []testCase {
	cases := []testCase{
		contract("stream/poison", poison), contract("stream/poison-spreads", poisonSpreads), contract("stream/poison-outlives-drop", poisonDropped),
		contract("stream/sync-once", syncOnce), contract("stream/free", free), contract("stream/free-unknown", freeUnknown),
		contract("stream/use-after-free", useAfterFree), contract("stream/view-outlives-base", viewOutlives), contract("stream/write-copies", writeCopies),
		contract("stream/order", order), contract("stream/canceled", canceledCalls), contract("stream/closed", closed),
		contract("stream/independent", independent), contract("stream/concurrent", concurrent), contract("stream/memory", memory),
		contract("stream/program-poison", programPoison), contract("stream/program-faulty", programFaulty),
		contract("stream/program-bindings", programBindings), contract("stream/program-undefined", programUndefined),
	}
	for _, d := range (dtype.Any | dtype.Smalls).List() {
		c := contract("stream/round-trip/"+d.String(), func(ctx context.Context, q *queue) error { return roundTrip(ctx, q, d) })
		c.types, c.storage = dtype.SetOf(d), d == dtype.I64 || d == dtype.U8
		cases = append(cases, c)
	}
	return cases
}

// numbers returns an f32 vector.
func numbers(f ...float64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(dtype.F32, len(f)), F: f}
}

// wantError returns an error unless err is want, in the sense of errors.Is.
func wantError(err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("error is %v, want %v", err, want)
	}
	return nil
}

// holds checks that d, a tensor of floats, contains exactly the elements want.
func (q *queue) holds(ctx context.Context, d op.Desc, want ...float64) error {
	got, err := q.get(ctx, d)
	if err != nil {
		return fmt.Errorf("read of %v: %w", d.ID, err)
	}
	if !slices.Equal(got.F, want) {
		return fmt.Errorf("%v holds %v, want %v", d.ID, got.F, want)
	}
	return nil
}

// badGather returns the operands of a gather with an index out of range.
func badGather() []ref.Tensor {
	return []ref.Tensor{numbers(1, 2, 3), {Desc: op.DescOf(dtype.I32, 2), I: []int64{0, 9}}}
}

// failing submits a gather with an index out of range, and returns its poisoned output of shape [2].
func (q *queue) failing(ctx context.Context) (op.Desc, error) {
	in, err := q.putAll(ctx, badGather())
	if err != nil {
		return op.Desc{}, err
	}
	outs, err := q.do(op.Gather, in, op.Int("axis", 0))
	if err != nil {
		return op.Desc{}, err
	}
	return outs[0], nil
}

// roundTrip checks that tensors of every kind of shape are read with the bytes that were written.
func roundTrip(ctx context.Context, q *queue, d dtype.DType) error {
	r := q.random("round-trip" + d.String())
	for _, s := range []shape.Shape{dims(), dims(1), dims(7), dims(0), dims(3, 0, 2), dims(3, 5), dims(2, 1, 2, 1, 2, 1, 2, 1), dims(70001)} {
		if !written(q.dev.Capabilities(), []op.Desc{{DType: d, Shape: s}}) {
			continue
		}
		t := fill(r, op.Desc{DType: d, Shape: s}, op.Domain{}, false)
		setSpecials(r, t, extreme)
		desc, err := q.put(ctx, t)
		if err != nil {
			return err
		}
		if err := q.unchanged(ctx, []op.Desc{desc}, []ref.Tensor{t}); err != nil {
			return fmt.Errorf("%v: the bytes read differ from the bytes written: %w", desc, err)
		}
	}
	return q.sync(ctx)
}

// freeUnknown checks that the next Sync reports the free of an unknown id, and that the free affects nothing else.
func freeUnknown(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(4))
	if err != nil {
		return err
	}
	if err := q.free([]op.TensorID{q.id()}); err != nil {
		return fmt.Errorf("free: %w", err)
	}
	if err := wantError(q.sync(ctx), core.ErrUnknownTensor); err != nil {
		return err
	}
	return q.holds(ctx, d, 4)
}

// free checks that a freed tensor is unknown, and that freeing it again is an error.
func free(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	outs, err := q.do(op.Neg, []op.Desc{d})
	if err != nil {
		return err
	}
	if err := q.free(idsOf([]op.Desc{d})); err != nil {
		return err
	}
	if err := q.unknown(ctx, d); err != nil {
		return err
	}
	if err := q.holds(ctx, outs[0], -1, -2); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	if err := q.free(idsOf([]op.Desc{d})); err != nil {
		return err
	}
	return wantError(q.sync(ctx), core.ErrUnknownTensor)
}

// useAfterFree checks that a node on a freed tensor fails and never reads another tensor.
func useAfterFree(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	if err := q.free(idsOf([]op.Desc{d})); err != nil {
		return err
	}
	if _, err := q.put(ctx, numbers(3, 4)); err != nil { // may reuse the memory of the first
		return err
	}
	outs, err := q.do(op.Neg, []op.Desc{d})
	if err != nil {
		return wantError(err, core.ErrUnknownTensor) // refused at once
	}
	_, err = q.get(ctx, outs[0])
	return wantError(err, core.ErrUnknownTensor)
}

// viewOutlives checks that a view stays valid when its base is freed and memory is needed again.
func viewOutlives(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2, 3, 4))
	if err != nil {
		return err
	}
	view, err := q.do(op.Slice, []op.Desc{d}, op.Ints("start", 3), op.Ints("size", 2), op.Ints("step", -2))
	if err != nil {
		return err
	}
	if err := q.free(idsOf([]op.Desc{d})); err != nil {
		return err
	}
	for range 8 {
		if _, err := q.put(ctx, numbers(9, 9, 9, 9)); err != nil {
			return err
		}
	}
	return q.holds(ctx, view[0], 4, 2)
}

// writeCopies checks that the data of a Write may be reused once it returns.
func writeCopies(ctx context.Context, q *queue) error {
	t := numbers(1, 2, 3)
	d := t.Desc
	d.ID = q.id()
	data := t.Bytes()
	if err := q.Write(ctx, d, data); err != nil {
		return err
	}
	clear(data)
	return q.holds(ctx, d, 1, 2, 3)
}

// order checks that a long chain of nodes in one Submit, each of which drops its operand, takes effect in order.
func order(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(0, 1))
	if err != nil {
		return err
	}
	inc, err := q.put(ctx, numbers(1))
	if err != nil {
		return err
	}
	d, err = q.chain(d, inc, 1000)
	if err != nil {
		return err
	}
	return q.holds(ctx, d, 1000, 1001)
}

// canceledCalls checks that a call whose context has ended succeeds without waiting or returns ErrCanceled with its cause, and that the
// stream stays usable.
func canceledCalls(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(5))
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := q.read(ended, d.ID, make([]byte, d.Bytes())); err != nil { // a read that need not wait may succeed
		if err := wantError(err, core.ErrCanceled); err != nil {
			return err
		}
		if err := wantError(err, context.Canceled); err != nil {
			return err
		}
	}
	if err := q.sync(ended); err != nil {
		if err := wantError(err, core.ErrCanceled); err != nil {
			return err
		}
	}
	if err := q.holds(ctx, d, 5); err != nil {
		return err
	}
	return q.sync(ctx)
}

// closed checks that every call after Close returns ErrClosed.
func closed(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1))
	if err != nil {
		return err
	}
	if err := q.Close(); err != nil {
		return err
	}
	n, err := op.New(op.Neg, []op.Desc{d})
	if err != nil {
		return err
	}
	n.Outputs[0].ID = q.id()
	for name, err := range map[string]error{
		"submit": q.Submit([]op.Node{n}, nil), "free": q.free([]op.TensorID{d.ID}), "write": q.Write(ctx, d, make([]byte, 4)),
		"read": q.read(ctx, d.ID, make([]byte, 4)), "sync": q.sync(ctx),
	} {
		if !errors.Is(err, core.ErrClosed) {
			return fmt.Errorf("%s after close: error is %v, want %v", name, err, core.ErrClosed)
		}
	}
	return nil
}

// independent checks that the failures of one stream do not affect another.
func independent(ctx context.Context, q *queue) error {
	other, err := q.another(ctx)
	if err != nil {
		return err
	}
	d, err := q.put(ctx, numbers(1))
	if err != nil {
		return err
	}
	e, err := other.put(ctx, numbers(2))
	if err != nil {
		return err
	}
	if _, err := q.failing(ctx); err != nil {
		return err
	}
	if err := other.sync(ctx); err != nil {
		return fmt.Errorf("a failure of another stream: %w", err)
	}
	if err := other.holds(ctx, e, 2); err != nil {
		return err
	}
	if err := other.Close(); err != nil {
		return err
	}
	return q.holds(ctx, d, 1)
}

// concurrent runs streams at the same time, each from a separate goroutine.
func concurrent(ctx context.Context, q *queue) error {
	return q.atOnce(ctx, 4, func(i int, s *queue) error {
		for k := range 20 {
			f := float64(100*i + k)
			d, err := s.put(ctx, numbers(f, -f))
			if err != nil {
				return err
			}
			outs, err := s.do(op.Add, []op.Desc{d, d})
			if err != nil {
				return err
			}
			if err := s.holds(ctx, outs[0], 2*f, -2*f); err != nil {
				return err
			}
		}
		return nil
	})
}

// memory checks that freed tensors do not count as memory in use.
func memory(ctx context.Context, q *queue) error {
	stats, err := needs[core.MemoryStats](q.dev, "memory statistics")
	if err != nil {
		return err
	}
	return q.givesBack(ctx, "the tensor was freed", func() error {
		before := stats.Memory()
		d, err := q.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 1000)))
		if err != nil {
			return err
		}
		if err := q.sync(ctx); err != nil {
			return err
		}
		during := stats.Memory()
		if during.InUse < before.InUse+4000 || during.Tensors != before.Tensors+1 || during.Reserved < during.InUse {
			return fmt.Errorf("memory is %+v with a tensor of 4000 bytes, was %+v", during, before)
		}
		return q.free([]op.TensorID{d.ID})
	})
}
