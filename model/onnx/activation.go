package onnx

import (
	"slices"
	"strings"

	"github.com/goburn/burn/core/op"
)

// activationFunc is an activation of a recurrent operator, with its coefficients applied.
type activationFunc func(c calc, x value) value

// recurrentActivations lists, per activation, the coefficients that it reads from activation_alpha and activation_beta, and their
// defaults.
var recurrentActivations = map[string]struct {
	alpha, beta       bool
	alphaDef, betaDef float64
	apply             func(c calc, x value, alpha, beta float64) value
}{
	"relu":     {apply: func(c calc, x value, _, _ float64) value { return c.un(op.Relu, x) }},
	"tanh":     {apply: func(c calc, x value, _, _ float64) value { return c.un(op.Tanh, x) }},
	"sigmoid":  {apply: func(c calc, x value, _, _ float64) value { return c.un(op.Sigmoid, x) }},
	"softsign": {apply: func(c calc, x value, _, _ float64) value { return c.un(op.Softsign, x) }},
	"softplus": {apply: func(c calc, x value, _, _ float64) value { return c.un(op.Softplus, x) }},
	"affine": {true, true, 1, 0, func(c calc, x value, alpha, beta float64) value {
		return c.addN(c.mulN(x, alpha), beta)
	}},
	"scaledtanh": {true, true, 1, 1, func(c calc, x value, alpha, beta float64) value {
		return c.mulN(c.un(op.Tanh, c.mulN(x, beta)), alpha)
	}},
	"hardsigmoid": {true, true, 0.2, 0.5, func(c calc, x value, alpha, beta float64) value {
		return c.do(op.HardSigmoid, []value{x}, op.Float("alpha", alpha), op.Float("beta", beta))
	}},
	"leakyrelu": {true, false, 0.01, 0, func(c calc, x value, alpha, _ float64) value {
		return c.do(op.LeakyRelu, []value{x}, op.Float("alpha", alpha))
	}},
	"thresholdedrelu": {true, false, 1, 0, func(c calc, x value, alpha, _ float64) value {
		return c.do(op.ThresholdedRelu, []value{x}, op.Float("alpha", alpha))
	}},
	"elu": {true, false, 1, 0, func(c calc, x value, alpha, _ float64) value {
		return c.do(op.Elu, []value{x}, op.Float("alpha", alpha))
	}},
}

// activations returns the activation functions of all directions, or nil when they are the defaults of the cell.
func (t *tracer) activations(n *node, k cell, dirs int) []activationFunc {
	names := n.strs("activations")
	if len(names) == 0 || slices.EqualFunc(names, slices.Repeat(k.activations, dirs), strings.EqualFold) {
		return nil
	}
	if len(names) != dirs*len(k.activations) {
		t.fail("%d activations, want %d", len(names), dirs*len(k.activations))
	}
	return t.named(names, n.floats("activation_alpha"), n.floats("activation_beta"))
}

// named resolves functions by name. Functions with coefficients read the next ones from alphas and betas.
func (t *tracer) named(names []string, alphas, betas []float64) []activationFunc {
	take := func(from *[]float64, wanted bool, def float64) float64 {
		if !wanted || len(*from) == 0 {
			return def
		}
		v := (*from)[0]
		*from = (*from)[1:]
		return v
	}
	var fs []activationFunc
	for _, name := range names {
		a, ok := recurrentActivations[strings.ToLower(name)]
		if !ok {
			t.fail("activation %q", name)
		}
		alpha, beta := take(&alphas, a.alpha, a.alphaDef), take(&betas, a.beta, a.betaDef)
		fs = append(fs, func(c calc, x value) value { return a.apply(c, x, alpha, beta) })
	}
	return fs
}
