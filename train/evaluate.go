package train

import (
	"context"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
)

// Evaluate runs the validation step and its metrics over the batches of loader, for example those of a test set, with the model
// in inference mode, and sends events to the listeners. It does not change the parameters, and leaves the model in training mode.
// It must not run concurrently with Run.
func (l *Learner[M, B]) Evaluate(ctx context.Context, p *Parts[M, B], loader Loader[B]) (Record, error) {
	if ctx == nil || loader == nil || l.TrainStep == nil && l.ValidStep == nil {
		return Record{}, fmt.Errorf("train: evaluate: the context, the loader or the step is nil, want all of them: %w", core.ErrAttr)
	}
	if err := p.check(); err != nil {
		return Record{}, err
	}
	r := &run[M, B]{Learner: l, soft: ctx, hard: ctx, parts: p, listeners: l.Listeners, valid: newGauge(l.metrics(Valid), time.Now)}
	if r.Dir != "" {
		logs, err := openArtifacts(l.Dir, nil)
		if err != nil {
			return Record{}, err
		}
		defer logs.close()
		r.listeners = append([]Listener{logs}, l.Listeners...)
	}
	began := time.Now()
	if err := r.judge(Test, loader, l.ValidStep, func() bool { return false }); err != nil {
		return Record{}, err
	}
	r.finish(Test, r.valid, began)
	return r.history[0], nil
}
