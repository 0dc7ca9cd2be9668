package train

import (
	"context"
	"slices"
	"time"

	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/metric"
)

// gauge runs the metrics of a split: it queues the measurement of steps, and reads several at once.
type gauge struct {
	metrics []metric.Metric
	waiting []measured
	losses  []stepLoss // losses of the last reading, in order
	last    time.Time  // time of the previous reading
	now     func() time.Time
}

// measured is a step whose values have not been read yet.
type measured struct {
	items   int
	step    int // number of its update
	rate    float64
	dev     *tensor.Device
	tensors []*tensor.Tensor // for all metrics, without duplicates
	parts   [][]int          // for each metric, the indices of its tensors
	loss    int              // index of the loss
}

func (m *measured) release() {
	for _, t := range m.tensors {
		t.Release()
	}
}

func newGauge(metrics []metric.Metric, now func() time.Time) *gauge {
	return &gauge{metrics: metrics, now: now}
}

// start begins an epoch. If resumed is set, the metrics continue from their current values; otherwise they are reset.
func (g *gauge) start(resumed bool) {
	if !resumed {
		for _, m := range g.metrics {
			m.Reset()
		}
	}
	g.drop()
	g.last = g.now()
}

// measure queues the measurement of a step, without waiting. The tensors to read are moved out of the scope of the step. Several
// goroutines may call it concurrently.
func (g *gauge) measure(o Output, rate float64, dev *tensor.Device) measured {
	m := measured{items: o.Count(), rate: rate, dev: dev}
	cut := func(t *tensor.Tensor) *tensor.Tensor {
		if t != nil {
			return t.Detach() // t is not recorded, and not released with the batch
		}
		return nil
	}
	o.Loss, o.Predictions, o.Targets = cut(o.Loss), cut(o.Predictions), cut(o.Targets)
	at := map[*tensor.Tensor]int{}
	index := func(t *tensor.Tensor) int {
		i, ok := at[t]
		if !ok {
			i = len(m.tensors)
			at[t] = i
			m.tensors = append(m.tensors, t.Keep())
		}
		return i
	}
	m.loss = index(o.Loss)
	for _, x := range g.metrics {
		var part []int
		for _, t := range x.Measure(o) {
			part = append(part, index(t))
		}
		m.parts = append(m.parts, part)
	}
	return m
}

// push adds a batch, which is part of update number step, to the next reading.
func (g *gauge) push(m measured, step int) {
	m.step = step
	g.waiting = append(g.waiting, m)
}

// attach adds tensors, one for each of metrics, to the last batch. It is called after the update of the batch; the tensors are
// read together with the other values of the batch.
func (g *gauge) attach(metrics []metric.Metric, ts ...*tensor.Tensor) {
	m := &g.waiting[len(g.waiting)-1]
	for i, x := range metrics {
		at := slices.Index(g.metrics, x)
		m.parts[at] = []int{len(m.tensors)}
		m.tensors = append(m.tensors, ts[i].Detach().Keep())
	}
}

// read waits for the pending measurements and updates the metrics.
func (g *gauge) read(ctx context.Context) ([]Reading, error) {
	var tx tensor.Transaction // one wait for all tensors
	read := make([][][]byte, len(g.waiting))
	for k, m := range g.waiting {
		read[k] = make([][]byte, len(m.tensors))
		for i, t := range m.tensors {
			tensor.FetchBytes(&tx, t, &read[k][i])
		}
	}
	if err := tx.Execute(ctx); err != nil {
		return nil, err
	}
	g.losses = g.losses[:0]
	for k, m := range g.waiting {
		arrays := make([]metric.Array, len(m.tensors))
		for i, t := range m.tensors {
			arrays[i] = metric.Array{Shape: t.Shape(), Data: tensor.Float64s(t.DType(), read[k][i])}
		}
		g.losses = append(g.losses, stepLoss{m.step, arrays[m.loss].Data[0]})
		now := g.now()
		s := metric.Sample{Items: m.items, Rate: m.rate, Device: m.dev, Took: now.Sub(g.last)}
		g.last = now
		for i, x := range g.metrics {
			s.Values = make([]metric.Array, len(m.parts[i]))
			for k, at := range m.parts[i] {
				s.Values[k] = arrays[at]
			}
			x.Update(s)
		}
	}
	g.drop()
	return g.readings(), nil
}

// drop releases the pending measurements.
func (g *gauge) drop() {
	for _, m := range g.waiting {
		m.release()
	}
	g.waiting = nil
}

func (g *gauge) readings() []Reading {
	out := make([]Reading, len(g.metrics))
	for i, m := range g.metrics {
		v := m.Value()
		out[i] = Reading{m.Info().Name, v, v}
		if l, ok := m.(metric.Momentary); ok {
			out[i].Last = l.Last()
		}
	}
	return out
}

func (g *gauge) infos() []metric.Info {
	out := make([]metric.Info, len(g.metrics))
	for i, m := range g.metrics {
		out[i] = m.Info()
	}
	return out
}
