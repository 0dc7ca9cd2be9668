package onnx

import (
	"github.com/goburn/burn/core/op"
)

func init() {
	register("NegativeLogLikelihoodLoss", 12, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		return []value{t.likelihoodLoss(n, n.input(0))}
	})
	register("SoftmaxCrossEntropyLoss", 12, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		logs := t.do(op.LogSoftmax, []value{n.input(0)}, op.Int("axis", t.axis(1, n.input(0).rank())))
		return []value{t.likelihoodLoss(n, logs), logs}
	})
}

// likelihoodLoss returns the negative log probability, along axis 1, of the class in target, weighted by class. Targets equal to
// ignore_index have weight 0.
func (t *tracer) likelihoodLoss(n *node, logs value) value {
	target, weight, c := n.input(1), n.input(2), calc{t}
	if logs.rank() < 2 || target.rank() != logs.rank()-1 {
		t.fail("scores are %v and targets %v, want one dimension less", logs.shape(), target.shape())
	}
	var ignored value
	if n.has("ignore_index") {
		ignored = c.equal(target, c.like(target, float64(n.int("ignore_index", 0))))
		target = c.where(ignored, c.like(target, 0), target)
	}
	picked := t.do(op.GatherElements, []value{logs, t.unsqueeze(target, 1)}, op.Int("axis", 1))
	loss := c.neg(t.squeeze(picked, 1))
	var w value
	if weight.present() {
		w = c.gather(weight, target, 0, 0)
	} else if ignored.present() {
		w = t.expand(c.like(logs, 1), target.shape())
	}
	if ignored.present() {
		w = c.where(ignored, c.like(w, 0), w)
		loss = c.where(ignored, c.like(loss, 0), loss)
	}
	if w.present() {
		loss = c.mul(loss, w)
	}
	all := span(0, loss.rank())
	switch reduction := n.str("reduction", "mean"); reduction {
	case "none":
		return loss
	case "sum":
		return c.sum(loss, false, all...)
	case "mean":
		if w.present() {
			return c.div(c.sum(loss, false, all...), c.sum(w, false, all...))
		}
		return t.reduce(op.Mean, loss, false, all...)
	default:
		t.fail("reduction is %q, want none, sum or mean", reduction)
	}
	return value{}
}
