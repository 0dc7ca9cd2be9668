package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

// perfBytes bounds the size of the results of one submission, in bytes.
const perfBytes = 256 << 20

// time measures a node and checks the result of the last submission.
func (q *queue) time(ctx context.Context, s spec, t Timing) (*Timing, error) {
	r := q.random("perf/" + t.Op)
	var in []ref.Tensor
	for i := range s.in {
		in = append(in, s.draw(r, i))
	}
	descs, err := q.putAll(ctx, in)
	if err != nil {
		return nil, err
	}
	n, err := s.supported(q, descs)
	if err != nil {
		return nil, err
	}
	t.Bytes, t.Flops = int64(total(descs)+total(n.Outputs)), op.Flops(&n, descs)
	t.Node = n.String()
	var last []op.Desc // results of the last node
	round := func(count int) (time.Duration, error) {
		nodes := make([]op.Node, count)
		var outs []op.TensorID
		for i := range nodes {
			nodes[i] = n
			nodes[i].Outputs = q.renewed(n.Outputs)
			if i+1 < count {
				outs = append(outs, idsOf(nodes[i].Outputs)...)
			}
		}
		free := append(outs, idsOf(last)...)
		last = nodes[count-1].Outputs
		start := time.Now()
		if err := q.Submit(nodes, nil); err != nil {
			return 0, err
		}
		if err := q.sync(ctx); err != nil {
			return 0, err
		}
		took := time.Since(start)
		return took, q.free(free)
	}
	var one time.Duration
	for range 2 { // the second time it is warm
		if one, err = round(1); err != nil {
			return nil, err
		}
	}
	count := int(max(1, min(64, perfTime/perfRuns/max(one, time.Microsecond), perfBytes/time.Duration(max(1, total(n.Outputs))))))
	var times []time.Duration
	for range perfRuns {
		took, err := round(count)
		if err != nil {
			return nil, err
		}
		times = append(times, max(1, took/time.Duration(count)))
	}
	slices.Sort(times)
	t.Least, t.Median, t.Greatest = times[0], times[len(times)/2], times[len(times)-1]
	t.Rounds, t.Nodes = len(times), count
	if err := q.checkTimed(ctx, s, &n, in, last); err != nil {
		return nil, fmt.Errorf("the timed result is wrong: %w", err)
	}
	t.Checked = true
	return &t, nil
}
