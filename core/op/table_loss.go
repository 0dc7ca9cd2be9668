package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var reductionAttr = choice("reduction", "mean", "what becomes of the losses: none keeps them", "mean", "sum", "none")

// loss returns the row of an op that computes a loss for each element, or their mean or sum. Narrow floats are computed in f32.
func loss(c Code, name, doc string, operands []Operand, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "loss", Traits: Cheap, Doc: doc, Operands: operands, Results: []string{"loss"},
		Attrs: append(attrs, reductionAttr), Constraints: constraints, Tolerance: perTerm(8), Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := infer(in, a)
			if err == nil && a.Str("reduction") != "none" {
				outs[0].Shape = shape.Shape{}
			}
			return outs, err
		}}}
}

var sameShapeRule = []Constraint{{"C1", "the operands have one shape"}}

func inferSameShapes(in []Desc, _ Attrs) ([]Desc, error) {
	for i := range in[1:] {
		if err := sameShape("C1", "operand "+string(rune('1'+i)), in[1+i].Shape, in[0].Shape); err != nil {
			return nil, err
		}
	}
	return one(in[0].DType, in[0].Shape), nil
}

// distance returns the row of a loss that compares x with a target of the same shape.
func distance(c Code, name, doc string, attrs ...AttrSpec) entry {
	return loss(c, name, doc, []Operand{in("x", dtype.Floats), same("target", 1)}, attrs, sameShapeRule, inferSameShapes)
}

// above adds the constraint that a float attribute is greater than zero.
func above(e entry, attr string) entry {
	id := "C" + string(rune('1'+len(e.row.Constraints)))
	e.row.Constraints = append(slices.Clone(e.row.Constraints), Constraint{id, attr + " is greater than zero"})
	infer := e.row.Infer
	e.row.Infer = func(in []Desc, a Attrs) ([]Desc, error) {
		if v := a.Float(attr); !(v > 0) {
			return nil, violation(ErrAttr, id, "%s is %v", attr, v)
		}
		return infer(in, a)
	}
	return e
}

func within(e entry, domain ...Domain) entry {
	e.row.Domain = domain
	return e
}

// labelled returns the row of a loss that compares x [N, C, ...] with class indices target [N, ...].
func labelled(c Code, name, doc string, attrs ...AttrSpec) entry {
	return loss(c, name, doc, []Operand{in("x", dtype.Floats), in("target", dtype.Indices), optional(same("weight", 1))},
		append([]AttrSpec{defaults(Int("ignore_index", -100), "label that does not count")}, attrs...),
		[]Constraint{{"C1", "x has rank 2 or more"}, {"C2", "target has x's shape without axis 1"}, {"C3", "weight has shape [C]"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if len(s) < 2 {
				return nil, violation(ErrShape, "C1", "rank %d, want 2 or more", len(s))
			}
			if err := sameShape("C2", "target", in[1].Shape, slices.Delete(s.Clone(), 1, 2)); err != nil {
				return nil, err
			}
			if len(in) > 2 {
				if err := sameShape("C3", "weight", in[2].Shape, s[1:2]); err != nil {
					return nil, err
				}
			}
			return one(in[0].DType, in[1].Shape), nil
		})
}

// embedded returns the row of a loss that compares vectors along the last axis.
func embedded(c Code, name, doc string, operands []Operand, vectors int, attrs ...AttrSpec) entry {
	rules := []Constraint{{"C1", "the vectors have rank 1 or more and one shape"}}
	if len(operands) > vectors {
		rules = append(rules, Constraint{"C2", "y has the vectors' shape without the last axis"})
	}
	return loss(c, name, doc, operands, attrs, rules, func(in []Desc, a Attrs) ([]Desc, error) {
		s := in[0].Shape
		if len(s) < 1 {
			return nil, violation(ErrShape, "C1", "rank 0, want 1 or more")
		}
		if _, err := inferSameShapes(in[:vectors], a); err != nil {
			return nil, err
		}
		if len(in) > vectors {
			if err := sameShape("C2", "y", in[vectors].Shape, s[:len(s)-1]); err != nil {
				return nil, err
			}
		}
		return one(in[0].DType, s[:len(s)-1]), nil
	})
}

func margin(v float64) AttrSpec { return defaults(Float("margin", v), "distance that costs nothing") }

var probability = Domain{Lo: 0.01, Hi: 0.99}

var lossRows = []entry{
	labelled(NLLLoss, "nll_loss", "Negative log likelihood: -weight[t]·x[n, t] for log probabilities x and the class t that target names; without weight "+
		"all are 1. The mean divides by the sum of the weights. Labels equal to ignore_index give 0 and do not count; another label outside [0, C) is ErrIndex."),
	labelled(CrossEntropyLoss, "cross_entropy_loss", "nll_loss of log_softmax(x) along axis 1. With label smoothing e, 1-e times that plus e/C times the sum over classes c of "+
		"-weight[c]·log_softmax(x)[n, c]; the mean divides by the sum of the target's weights.", defaults(Float("label_smoothing", 0), "share that goes to all classes")),
	distance(MSELoss, "mse_loss", "(x-target)²."),
	distance(L1Loss, "l1_loss", "|x-target|."),
	above(distance(HuberLoss, "huber_loss", "d²/2 for d = |x-target| up to delta, else delta·(d-delta/2).", defaults(Float("delta", 1), "where it becomes linear")), "delta"),
	above(distance(SmoothL1Loss, "smooth_l1_loss", "d²/(2·beta) for d = |x-target| below beta, else d-beta/2.", defaults(Float("beta", 1), "where it becomes linear")), "beta"),
	within(distance(BCELoss, "bce_loss", "Binary cross entropy -(target·log(x) + (1-target)·log(1-x)) of a probability x; logarithms are at least -100."), probability, Domain{Lo: 0, Hi: 1}),
	within(loss(BCEWithLogitsLoss, "bce_with_logits_loss", "Binary cross entropy of sigmoid(x), without overflow: -(pos_weight·target·log(sigmoid(x)) + "+
		"(1-target)·log(1-sigmoid(x))); without pos_weight it is 1.",
		[]Operand{in("x", dtype.Floats), same("target", 1), optional(same("pos_weight", 1))}, nil,
		[]Constraint{{"C1", "the operands have one shape"}, {"C2", "pos_weight broadcasts to x"}}, func(in []Desc, a Attrs) ([]Desc, error) {
			if len(in) > 2 {
				if err := shape.CanExpand(in[2].Shape, in[0].Shape); err != nil {
					return nil, violation(ErrShape, "C2", "%v", err)
				}
			}
			return inferSameShapes(in[:2], a)
		}), Domain{Lo: -2, Hi: 2}, Domain{Lo: 0, Hi: 1}, Domain{Lo: 0.5, Hi: 2}),
	within(distance(KLDivLoss, "kl_div_loss", "Kullback-Leibler divergence target·(log(target)-x) of log probabilities x, 0 where target is 0; with log_target "+
		"exp(target)·(target-x).", defaults(Flag("log_target", false), "target is logarithms")), Domain{Lo: -2, Hi: 0}, probability),
	within(distance(PoissonNLLLoss, "poisson_nll_loss", "exp(x)-target·x, or without log_input x-target·log(x+epsilon). With full, "+
		"target·log(target)-target+log(2·pi·target)/2 is added where target is above 1.", defaults(Flag("log_input", true), "x is a logarithm"),
		defaults(Flag("full", false), "add Stirling's approximation"), defaults(Float("epsilon", 1e-8), "added to x")), Domain{Lo: 0.1, Hi: 1}, Domain{Lo: 0, Hi: 3}),
	embedded(CosineEmbeddingLoss, "cosine_embedding_loss", "1-c where y is above 0, else max(0, c-margin), with c = a·b/sqrt((a·a+1e-12)·(b·b+1e-12)) along the last axis.",
		[]Operand{in("a", dtype.Floats), same("b", 1), same("y", 1)}, 2, margin(0)),
	distance(HingeLoss, "hinge_loss", "max(0, margin-x·target) for targets -1 and 1.", margin(1)),
	distance(HingeEmbeddingLoss, "hinge_embedding_loss", "x where target is above 0, else max(0, margin-x).", margin(1)),
	loss(MarginRankingLoss, "margin_ranking_loss", "max(0, margin-y·(a-b)): y is 1 where a should be the greater, -1 where b should.",
		[]Operand{in("a", dtype.Floats), same("b", 1), same("y", 1)}, []AttrSpec{margin(0)}, sameShapeRule, inferSameShapes),
	above(embedded(TripletMarginLoss, "triplet_margin_loss", "max(0, d(anchor, positive)-d(anchor, negative)+margin) with the distance d(u, v) = (Σ|u-v+epsilon|^p)^(1/p) along "+
		"the last axis; with swap, the lesser of d(anchor, negative) and d(positive, negative) counts.",
		[]Operand{in("anchor", dtype.Floats), same("positive", 1), same("negative", 1)}, 3, margin(1), defaults(Float("p", 2), "degree of the norm"),
		defaults(Float("epsilon", 1e-6), "added to differences"), defaults(Flag("swap", false), "use the nearer of anchor and positive")), "p"),
	loss(CTCLoss, "ctc_loss", "Connectionist temporal classification: minus the logarithm of the probability, summed over all alignments, that "+
		"log probabilities [T, B, C] give the first target_lengths of targets [B, S] within the first input_lengths steps; Inf if there is none, or the length is outside [0, S]. The mean "+
		"divides each loss by the length of its target, at least 1, and then by B.",
		[]Operand{in("log_probabilities", dtype.Floats), in("targets", dtype.Indices), in("input_lengths", dtype.Indices), in("target_lengths", dtype.Indices)},
		[]AttrSpec{defaults(Int("blank", 0), "class of no label"), defaults(Flag("zero_infinity", false), "infinite losses count as 0")},
		[]Constraint{{"C1", "log_probabilities has rank 3"}, {"C2", "targets has shape [B, S], and both lengths [B]"}, {"C3", "blank is in [0, C)"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, t := in[0].Shape, in[1].Shape
			if len(s) != 3 {
				return nil, violation(ErrShape, "C1", "rank %d, want 3", len(s))
			}
			if len(t) != 2 || t[0] != s[1] || !in[2].Shape.Equal(t[:1]) || !in[3].Shape.Equal(t[:1]) {
				return nil, violation(ErrShape, "C2", "targets and lengths are %v, %v and %v for %d sequences", t, in[2].Shape, in[3].Shape, s[1])
			}
			if b := a.Int("blank"); b < 0 || b >= s[2] {
				return nil, violation(ErrAttr, "C3", "blank is %d, want one in [0,%d)", b, s[2])
			}
			return one(in[0].DType, t[:1]), nil
		}),
}
