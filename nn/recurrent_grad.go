package nn

import "github.com/goburn/burn/tensor"

// In training the recurrent layers are functions with custom gradients: backends run the layer as one op. The backward pass
// recomputes the gates of all steps at once from the saved hidden states, so that each step needs only a few products and sums.

// way is the backward pass of one direction, in the order of its steps: h is [T, B, H], or [B, H] for a single state.
type way struct {
	x, w, r, bias, biasR   *tensor.Tensor // of the direction
	before                 *tensor.Tensor // h before each step
	y, dy                  *tensor.Tensor // dy is nil if y has no gradient
	dh                     *tensor.Tensor // gradient of the last state, then of each earlier one
	steps, batch, in, size int
}

// part returns gate k of v[..., gates·H].
func (w *way) part(v *tensor.Tensor, k int) *tensor.Tensor { return v.Narrow(-1, k*w.size, w.size) }

// enter adds the gradient of step t's result.
func (w *way) enter(t int) {
	if w.dy != nil {
		w.dh = w.dh.Add(w.dy.Select(0, t))
	}
}

// flat returns v[T, B, n] as [T·B, n].
func (w *way) flat(v *tensor.Tensor) *tensor.Tensor { return v.Reshape(w.steps*w.batch, -1) }

// slope returns s·(1-s), the derivative of the sigmoid s.
func slope(s *tensor.Tensor) *tensor.Tensor { return s.Sub(s.Square()) }

// rest returns 1-t², the derivative of the tanh t.
func rest(t *tensor.Tensor) *tensor.Tensor { return t.Square().Neg().AddScalar(1) }

// trained runs forward on in = x, w, r, the biases and h0, and c0 if there are two states, and records back as the gradient of
// each direction. back returns da and du, the gradients of the products of x and of h, both [T, B, gates·H], and dfirst, the gradients
// of the initial states.
func (r *Recurrent) trained(name string, in []*tensor.Tensor, states int, forward func(in []*tensor.Tensor) []*tensor.Tensor,
	back func(w *way, first, dlast []*tensor.Tensor) (da, du *tensor.Tensor, dfirst []*tensor.Tensor)) []*tensor.Tensor {
	if r.inference || in[0].Shape()[0] == 0 {
		return forward(in)
	}
	n := len(in) - states
	return tensor.Function{Name: name,
		Forward: func(constants []*tensor.Tensor) (y, saved []*tensor.Tensor) {
			y = forward(constants)
			return y, append(append(saved, constants...), y[0])
		},
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor {
			sums := make([][]*tensor.Tensor, len(in))
			for d := range r.directions() {
				w := newWay(saved, grads[0], n, d)
				var first, dlast []*tensor.Tensor
				for i := range states {
					first = append(first, saved[n+i].Select(0, d))
					if g := grads[1+i]; g != nil {
						dlast = append(dlast, g.Select(0, d))
					} else {
						dlast = append(dlast, first[i].ZerosLike())
					}
				}
				w.dh = dlast[0]
				da, du, dfirst := back(w, first, dlast)
				dx := w.flat(da).MatMul(w.w).Reshape(w.steps, w.batch, w.in)
				if d == 1 {
					dx = dx.Flip(0)
				}
				all := []*tensor.Tensor{dx, w.flat(da).MatMulT(w.flat(w.x), true, false), w.flat(du).MatMulT(w.flat(w.before), true, false),
					w.flat(da).Sum(0)}
				if n > 4 {
					all = append(all, w.flat(du).Sum(0))
				}
				for i, g := range append(all, dfirst...) {
					sums[i] = append(sums[i], g)
				}
			}
			out := make([]*tensor.Tensor, len(in))
			for i, s := range sums {
				switch {
				case i > 0:
					out[i] = tensor.Stack(0, s...)
				case len(s) > 1:
					out[i] = s[0].Add(s[1])
				default:
					out[i] = s[0]
				}
			}
			return out
		}}.Apply(in...)
}

// newWay selects direction d from saved, which holds x, the n-1 parameters, the states, and all h [T, D, B, H].
func newWay(saved []*tensor.Tensor, dy *tensor.Tensor, n, d int) *way {
	y := saved[len(saved)-1]
	s := y.Shape()
	w := &way{x: saved[0], w: saved[1].Select(0, d), r: saved[2].Select(0, d), bias: saved[3].Select(0, d), y: y.Select(1, d), steps: s[0], batch: s[2],
		in: saved[0].Shape()[2], size: s[3]}
	if n > 4 {
		w.biasR = saved[4].Select(0, d)
	}
	if dy != nil {
		w.dy = dy.Select(1, d)
	}
	if d == 1 {
		if w.x, w.y = w.x.Flip(0), w.y.Flip(0); dy != nil {
			w.dy = w.dy.Flip(0)
		}
	}
	w.before = tensor.Concat(0, saved[n].Select(0, d).Unsqueeze(0), w.y.Narrow(0, 0, w.steps-1))
	return w
}

// rnnBack returns the gradient of h' = f(a + u).
func rnnBack(relu bool) func(w *way, first, dlast []*tensor.Tensor) (da, du *tensor.Tensor, dfirst []*tensor.Tensor) {
	return func(w *way, _, _ []*tensor.Tensor) (da, du *tensor.Tensor, dfirst []*tensor.Tensor) {
		factor := rest(w.y)
		if relu {
			factor = w.y.GreaterScalar(0).Cast(w.y.DType())
		}
		each := make([]*tensor.Tensor, w.steps)
		for t := w.steps - 1; t >= 0; t-- {
			w.enter(t)
			each[t] = w.dh.Mul(factor.Select(0, t))
			w.dh = each[t].MatMul(w.r)
		}
		da = tensor.Stack(0, each...)
		return da, da, []*tensor.Tensor{w.dh}
	}
}

// gruBack returns the gradient of z, r = sigmoid(a + u), n = tanh(a + r·u), h' = n + z·(h-n).
func gruBack(w *way, _, _ []*tensor.Tensor) (da, du *tensor.Tensor, dfirst []*tensor.Tensor) {
	a, u := w.x.LinearT(w.w, w.bias), w.before.LinearT(w.r, w.biasR)
	gate := func(k int) *tensor.Tensor { return w.part(a, k).Add(w.part(u, k)).Sigmoid() }
	z, r, inner := gate(0), gate(1), w.part(u, 2)
	n := w.part(a, 2).Add(r.Mul(inner)).Tanh()
	dn := z.Neg().AddScalar(1).Mul(rest(n))
	dz, dr := w.before.Sub(n).Mul(slope(z)), dn.Mul(inner).Mul(slope(r))
	of := tensor.Concat(2, dz, dr, dn.Mul(r))
	us, dhs := make([]*tensor.Tensor, w.steps), make([]*tensor.Tensor, w.steps)
	for t := w.steps - 1; t >= 0; t-- {
		w.enter(t)
		dhs[t] = w.dh
		us[t] = tensor.Concat(1, w.dh, w.dh, w.dh).Mul(of.Select(0, t))
		w.dh = us[t].MatMul(w.r).Add(w.dh.Mul(z.Select(0, t)))
	}
	dh := tensor.Stack(0, dhs...)
	du = tensor.Stack(0, us...)
	da = tensor.Concat(2, du.Narrow(2, 0, 2*w.size), dh.Mul(dn))
	return da, du, []*tensor.Tensor{w.dh}
}

// lstmBack returns the gradient of i, o, f = sigmoid(a + u), g = tanh(a + u), c' = f·c + i·g, h' = o·tanh(c').
func lstmBack(w *way, first, dlast []*tensor.Tensor) (da, du *tensor.Tensor, dfirst []*tensor.Tensor) {
	gates := w.x.LinearT(w.w, w.bias).Add(w.before.LinearT(w.r, nil))
	i, o, f := w.part(gates, 0).Sigmoid(), w.part(gates, 1).Sigmoid(), w.part(gates, 2).Sigmoid()
	g := w.part(gates, 3).Tanh()
	new, cells := i.Mul(g), []*tensor.Tensor{first[1]}
	for t := range w.steps {
		cells = append(cells, f.Select(0, t).Mul(cells[t]).Add(new.Select(0, t)))
	}
	top := tensor.Stack(0, cells[1:]...).Tanh()
	through := o.Mul(rest(top))
	of := tensor.Concat(2, g.Mul(slope(i)), top.Mul(slope(o)), tensor.Stack(0, cells[:w.steps]...).Mul(slope(f)), i.Mul(rest(g)))
	dc := dlast[1]
	each := make([]*tensor.Tensor, w.steps)
	for t := w.steps - 1; t >= 0; t-- {
		w.enter(t)
		dc = dc.Add(w.dh.Mul(through.Select(0, t)))
		each[t] = tensor.Concat(1, dc, w.dh, dc, dc).Mul(of.Select(0, t))
		w.dh = each[t].MatMul(w.r)
		dc = dc.Mul(f.Select(0, t))
	}
	da = tensor.Stack(0, each...)
	return da, da, []*tensor.Tensor{w.dh, dc}
}
