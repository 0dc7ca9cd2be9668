package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// hygiene returns cases for the requirements on every op in addition to correct results: it writes only its results, keeps no memory, and
// computes the same bits again if the backend claims to be deterministic.
func (s spec) hygiene(id string) []testCase {
	if len(s.in) == 0 || !(dtype.Required | halves).Has(s.in[0].DType) {
		return nil
	}
	return []testCase{s.testCase(id+"/guard", guarded), s.testCase(id+"/leak", leaks), s.testCase(id+"/twice", twice)}
}

// guard returns a canary of at least n bytes, of a type that the device has.
func (q *queue) guard(n int, seed byte) ref.Tensor {
	if q.dev.Capabilities().Types.Has(dtype.U8) {
		return pattern(n, seed)
	}
	t := ref.Zeros(op.DescOf(dtype.I32, (n+3)/4))
	for i := range t.I {
		t.I[i] = int64(int32(uint32(i)*0x9e3779b1 ^ uint32(seed)*0x01010101))
	}
	return t
}

// pattern returns a canary of n bytes, whose values depend on seed.
func pattern(n int, seed byte) ref.Tensor {
	t := ref.Zeros(op.DescOf(dtype.U8, n))
	for i := range t.I {
		t.I[i] = int64(byte(i)*31 ^ seed)
	}
	return t
}

// guarded allocates canaries of the size of each result and frees every second one, so that the device can place the result between two
// canaries. It checks that the canaries and the operands are unchanged after the node.
func guarded(ctx context.Context, q *queue, s spec, id string) error {
	in := s.inputs(q.random(id), plain)
	probe, err := s.node(s.in)
	if err != nil {
		return err
	}
	if err := q.claims(&probe, s.in); err != nil {
		return err
	}
	var guards []ref.Tensor
	var descs, gaps []op.Desc
	for _, out := range probe.Outputs {
		for k := range 5 {
			t := q.guard(max(1, out.Bytes()), byte(17*k+len(guards)))
			d, err := q.put(ctx, t)
			if err != nil {
				return err
			}
			if k%2 == 1 {
				gaps = append(gaps, d)
				continue
			}
			guards, descs = append(guards, t), append(descs, d)
		}
	}
	inDescs, err := q.putAll(ctx, in)
	if err != nil {
		return err
	}
	if err := q.free(idsOf(gaps)); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	n, err := s.node(inDescs)
	if err != nil {
		return err
	}
	if err := q.expect(ctx, n, in); err != nil {
		return err
	}
	if err := q.unchanged(ctx, descs, guards); err != nil {
		return fmt.Errorf("a tensor next to the tensors of the node was overwritten: %w", err)
	}
	return q.unchanged(ctx, inDescs, in)
}

// givesBack checks that as much memory is in use after f as before. f must free the tensors that it creates.
func (q *queue) givesBack(ctx context.Context, when string, f func() error) error {
	stats, err := needs[core.MemoryStats](q.dev, "memory statistics")
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	before := stats.Memory()
	if err := f(); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	if after := stats.Memory(); after.InUse != before.InUse || after.Tensors != before.Tensors {
		return fmt.Errorf("memory is %+v after %s, was %+v", after, when, before)
	}
	return nil
}

// leaks runs the node several times, freeing everything, and checks that as much memory is in use as before.
func leaks(ctx context.Context, q *queue, s spec, id string) error {
	in := s.inputs(q.random(id), plain)
	return q.givesBack(ctx, "everything was freed", func() error {
		for range 3 {
			descs, n, err := s.placed(ctx, q, in)
			if err != nil {
				return err
			}
			outs, err := q.submit(n)
			if err != nil {
				return err
			}
			if err := q.free(idsOf(slices.Concat(descs, outs))); err != nil {
				return err
			}
		}
		return nil
	})
}

// twice runs the node three times, creates other tensors in between, and checks that a deterministic backend computes the same bits.
func twice(ctx context.Context, q *queue, s spec, id string) error {
	if !q.dev.Capabilities().Deterministic {
		return skip{"the backend does not claim to be deterministic"}
	}
	r := q.random(id)
	in := s.inputs(r, plain)
	_, n, err := s.placed(ctx, q, in)
	if err != nil {
		return err
	}
	var first [][]byte
	for round := range 3 {
		outs, err := q.submit(n)
		if err != nil {
			return err
		}
		for i, d := range outs {
			got := make([]byte, d.Bytes())
			if err := q.read(ctx, d.ID, got); err != nil {
				return fmt.Errorf("read of output %d: %w", i, err)
			}
			if round == 0 {
				first = append(first, got)
			} else if !bytes.Equal(first[i], got) {
				return fmt.Errorf("%v: output %d differs in round %d, although the backend claims to be deterministic", &n, i, round+1)
			}
		}
		if _, err := q.put(ctx, q.guard(1+r.IntN(200), byte(round))); err != nil {
			return err
		}
	}
	return nil
}
