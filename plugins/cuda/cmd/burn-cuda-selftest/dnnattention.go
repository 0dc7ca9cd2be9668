package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

func (c *dnn) attention(f format, causal bool) (string, error) {
	const batch, heads, length, size = 2, 3, 160, 64
	r := rand.New(rand.NewPCG(29, 30))
	n := batch * heads * length * size
	q, k, v := quarters(r, n, f), quarters(r, n, f), quarters(r, n, f)
	const scale = 0.125
	want := make([]float64, n)
	stats := make([]float64, batch*heads*length)
	for bh := range batch * heads {
		at := func(x []float64, i int) []float64 { return x[(bh*length+i)*size : (bh*length+i+1)*size] }
		for i := range length {
			scores := make([]float64, length)
			sum := 0.0
			for j := range length {
				if causal && j > i {
					continue
				}
				dot := 0.0
				for e, x := range at(q, i) {
					dot += x * at(k, j)[e]
				}
				scores[j] = math.Exp(scale * dot)
				sum += scores[j]
			}
			for j, p := range scores {
				for e, x := range at(v, j) {
					want[(bh*length+i)*size+e] += p / sum * x
				}
			}
			stats[bh*length+i] = math.Log(sum)
		}
	}
	d := dims(batch, heads, length, size)
	t := nv.TensorSpec{Type: f.dnn, Dims: d}
	g, pack := c.h.NewGraph(), &nv.Pack{}
	a := g.Attention(nv.AttentionSpec{Q: t, K: t, V: t, O: t, Causal: causal, Statistics: true})
	a.SetScalars(pack, c.libs.DNN, scale)
	for i, x := range [][]float64{q, k, v} {
		p, err := upload(c.bench, f.pack(x))
		if err != nil {
			return "", err
		}
		pack.Set([]nv.Tensor{a.Q, a.K, a.V}[i], p)
	}
	o, err := c.alloc(n * f.bytes)
	if err != nil {
		return "", err
	}
	ps, err := c.alloc(len(stats) * 4)
	if err != nil {
		return "", err
	}
	pack.Set(a.O, o)
	pack.Set(a.Statistics, ps)
	text, err := c.execute(g, nv.PlanOptions{}, pack)
	if err != nil {
		return text, err
	}
	got, err := c.read(f, o, n)
	if err != nil {
		return text, err
	}
	t1, err := near(got, want, 2*f.eps)
	if err != nil {
		return text, err
	}
	if got, err = c.read(f32, ps, len(stats)); err != nil {
		return text, err
	}
	t2, err := near(got, stats, 1e-3)
	return t1 + ", statistics: " + t2 + ", " + text, err
}

func (c *dnn) attentionSpeed() (string, error) {
	const batch, heads, length, size = 8, 16, 2048, 64
	n := batch * heads * length * size
	t := nv.TensorSpec{Type: nv.DNNBF16, Dims: dims(batch, heads, length, size)}
	g, pack := c.h.NewGraph(), &nv.Pack{}
	a := g.Attention(nv.AttentionSpec{Q: t, K: t, V: t, O: t, Causal: true})
	a.SetScalars(pack, c.libs.DNN, 0.125)
	for _, x := range []nv.Tensor{a.Q, a.K, a.V, a.O} {
		p, err := c.alloc(2 * n)
		if err != nil {
			return "", err
		}
		if err := c.d.Set32(p, 0x3e003e80, uint64(n/2), c.s); err != nil {
			return "", err
		}
		pack.Set(x, p)
	}
	text := ""
	for _, mode := range []nv.HeuristicMode{nv.HeuristicA, nv.HeuristicB} {
		began := time.Now()
		p, err := g.Build(nv.PlanOptions{Modes: []nv.HeuristicMode{mode}})
		if err != nil {
			text += fmt.Sprintf("mode %d: %.80v; ", mode, err)
			continue
		}
		built := time.Since(began)
		ws, err := c.alloc(int(p.Workspace))
		if err != nil {
			return text, err
		}
		ms, err := c.timed(20, func() error { return p.Execute(pack, ws) })
		if err != nil {
			return text, err
		}
		start := time.Now()
		if err := p.Execute(pack, ws); err != nil {
			return text, err
		}
		text += fmt.Sprintf("8x16x2048x64 causal, mode %d: %.3f ms, engine %d, host time %v, built in %v; ", mode, ms, p.Engine, time.Since(start), built.Round(time.Millisecond))
		saved, err := c.saved(p, pack, ws, a.O, 2*n)
		text += saved
		if err := errors.Join(err, c.d.SynchronizeStream(c.s), p.Close()); err != nil {
			return text, err
		}
	}
	return text, g.Close()
}

// saved saves a plan, loads it again, and compares the bits that both plans write to a tensor of the given size in bytes.
func (c *dnn) saved(p *nv.Plan, pack *nv.Pack, ws nv.Ptr, o nv.Tensor, bytes int) (string, error) {
	out := func(p *nv.Plan) ([]byte, error) {
		at, err := c.alloc(bytes)
		if err != nil {
			return nil, err
		}
		pack.Set(o, at)
		if err := errors.Join(c.d.Set8(at, 0xff, uint64(bytes), c.s), p.Execute(pack, ws)); err != nil {
			return nil, err
		}
		return download[byte](c.bench, at, bytes)
	}
	want, err := out(p)
	if err != nil {
		return "", err
	}
	began := time.Now()
	text, err := p.Save()
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	written := time.Since(began)
	began = time.Now()
	q, err := c.h.LoadPlan(text)
	if err != nil {
		return "", fmt.Errorf("load: %w", err)
	}
	loaded := time.Since(began)
	got, err := out(q)
	switch {
	case err != nil:
	case q.Workspace != p.Workspace || q.Engine != p.Engine:
		err = fmt.Errorf("loaded engine %d with %d bytes, want %d with %d", q.Engine, q.Workspace, p.Engine, p.Workspace)
	case !slices.Equal(got, want):
		err = errors.New("the loaded plan computes something else")
	}
	return fmt.Sprintf("saved in %v as %d bytes, loaded in %v; ", written.Round(time.Microsecond), len(text), loaded.Round(time.Microsecond)), errors.Join(err, q.Close())
}
