package train

import (
	"context"
	"time"
)

// Evaluate runs the validation step and its metrics over l, as over a test set, with the model in inference mode, and tells the
// listeners. It does not change the parts.
func (l *Learner[M, B]) Evaluate(ctx context.Context, p *Parts[M, B], loader Loader[B]) (Record, error) {
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
