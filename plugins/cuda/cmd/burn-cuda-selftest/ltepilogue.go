package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

func gelu(v float64) float64 {
	return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
}

func geluGradient(v float64) float64 {
	const h = 1e-5
	return (gelu(v+h) - gelu(v-h)) / (2 * h)
}

func (l *lt) epilogue(e nv.Epilogue, f format, act func(float64) float64, bias bool) (string, error) {
	const m, n, k = 64, 96, 32
	r := rand.New(rand.NewPCG(7, 8))
	x, y, add := quarters(r, m*k, f), quarters(r, k*n, f), make([]float64, n)
	if bias {
		add = quarters(r, n, f)
	}
	spec := l.spec(m, n, k, f, f, false, false)
	spec.Epilogue = e
	got, err := l.run(spec, f, f, x, y, m*n, func(r *nv.MatmulRun) (err error) {
		if bias {
			r.Bias, err = upload(l.bench, f.pack(add))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	want := product(x, y, m, n, k, false, false)
	for i := range want {
		want[i] = act(want[i] + add[i%n])
	}
	return near(got, want, max(f.eps, 2e-4)) // tanh of the device is an approximation
}

// gradient runs a layer forward with the auxiliary output, then the product of the backward pass with the gradient of the
// activation and the bias gradient in its epilogue.
func (l *lt) gradient(relu bool) (string, error) {
	const m, n, k = 128, 128, 64 // rows of the batch, columns, inner
	f := bf16
	r := rand.New(rand.NewPCG(9, 10))
	x, w, bias := quarters(r, m*k, f), quarters(r, k*n, f), make([]float64, n)
	for i := range w {
		w[i] /= 8
	}
	for i := range bias { // odd multiples of 1/256, of 8 bits, beside sums of multiples of 1/128: no value is 0, where the slope of relu is a convention
		bias[i] = float64(2*r.IntN(256)-255) / 256
	}
	forward, backward := nv.EpilogueGeluAuxBias, nv.EpilogueDGeluBGrad
	if relu {
		forward, backward = nv.EpilogueReluAuxBias, nv.EpilogueDReluBGrad
	}
	aux, err := l.alloc(m * n * 4)
	if err != nil {
		return "", err
	}
	spec := l.spec(m, n, k, f, f, false, false)
	spec.Epilogue, spec.AuxLD = forward, n
	got, err := l.run(spec, f, f, x, w, m*n, func(r *nv.MatmulRun) (err error) {
		r.Aux = aux
		r.Bias, err = upload(l.bench, f.pack(bias))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("forward: %w", err)
	}
	before := product(x, w, m, n, k, false, false)
	want := make([]float64, m*n)
	for i := range before {
		before[i] += bias[i%n]
		if want[i] = gelu(before[i]); relu {
			want[i] = max(before[i], 0)
		}
	}
	if _, err := near(got, want, f.eps); err != nil {
		return "", fmt.Errorf("forward: %w", err)
	}
	// d[m,n] = (g[m,j] v[j,n]) * act'(before), and its sums over the rows
	const j = 64
	g, v := quarters(r, m*j, f), quarters(r, j*n, f)
	spec = l.spec(m, n, j, f, f, false, false)
	spec.Epilogue, spec.AuxLD = backward, n
	var sums nv.Ptr
	if got, err = l.run(spec, f, f, g, v, m*n, func(r *nv.MatmulRun) (err error) {
		r.Aux = aux
		sums, err = l.alloc(n * 4)
		r.Bias = sums
		return err
	}); err != nil {
		return "", fmt.Errorf("backward: %w", err)
	}
	want = product(g, v, m, n, j, false, false)
	total := make([]float64, n)
	for i := range want {
		slope := geluGradient(before[i])
		if relu {
			if slope = 1; before[i] <= 0 {
				slope = 0
			}
		}
		want[i] *= slope
		total[i%n] += want[i]
	}
	text, err := near(got, want, 2*f.eps)
	if err != nil {
		return "", fmt.Errorf("backward: %w", err)
	}
	raw, err := download[byte](l.bench, sums, n*f.bytes)
	if err != nil {
		return "", err
	}
	t2, err := near(f.unpack(raw), total, 3*f.eps)
	return text + "; sums: " + t2, err
}

// biasGradients computes products whose epilogue also sums an operand over the inner dimension, and checks the sums.
func (l *lt) biasGradients() (string, error) {
	const m, n, k = 64, 96, 128
	f := bf16
	r := rand.New(rand.NewPCG(11, 12))
	x, y := quarters(r, m*k, f), quarters(r, k*n, f)
	text := ""
	for _, e := range []nv.Epilogue{nv.EpilogueBGradA, nv.EpilogueBGradB} {
		spec := l.spec(m, n, k, f, f, e == nv.EpilogueBGradB, e == nv.EpilogueBGradB)
		spec.Epilogue = e
		var sums nv.Ptr
		_, err := l.run(spec, f, f, x, y, m*n, func(r *nv.MatmulRun) (err error) {
			sums, err = l.alloc(4 * max(m, n))
			r.Bias = sums
			return err
		})
		if errors.Is(err, nv.ErrUnsupported) {
			text += fmt.Sprintf("%d: %v; ", e, err)
			continue
		}
		if err != nil {
			return text, err
		}
		var want []float64
		if e == nv.EpilogueBGradA { // the first operand of cuBLASLt is y: sums over k for each of n
			want = make([]float64, n)
			for i, v := range y {
				want[i%n] += v
			}
		} else { // x^T is stored k by m: sums over k for each of m
			want = make([]float64, m)
			for i, v := range x {
				want[i%m] += v
			}
		}
		raw, err := download[byte](l.bench, sums, len(want)*f.bytes)
		if err != nil {
			return text, err
		}
		t, err := near(f.unpack(raw), want, f.eps)
		if err != nil {
			return text, fmt.Errorf("%d: %w", e, err)
		}
		text += fmt.Sprintf("%d: %s; ", e, t)
	}
	return text, nil
}
