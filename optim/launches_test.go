package optim

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// gpt2 returns parameters with the shapes of GPT-2 small, each dimension divided by 16, and a gradient for each.
func gpt2(d *tensor.Device) ([]nn.Named, []*tensor.Tensor) {
	var params []nn.Named
	var grads []*tensor.Tensor
	add := func(name string, shape ...int) {
		params = append(params, nn.Named{Name: name, Param: nn.NewParam(d.Full(dtype.F32, 0.5, shape...))})
		grads = append(grads, d.Full(dtype.F32, 0.25, shape...))
	}
	const size = 768 / 16
	add("wte", 50257/16, size)
	add("wpe", 1024/16, size)
	for i := range 12 {
		for _, p := range []struct {
			name  string
			shape []int
		}{{"ln_1", []int{size}}, {"attn.c_attn", []int{size, 3 * size}}, {"attn.c_proj", []int{size, size}}, {"ln_2", []int{size}},
			{"mlp.c_fc", []int{size, 4 * size}}, {"mlp.c_proj", []int{4 * size, size}}} {
			add(fmt.Sprintf("h.%d.%s.weight", i, p.name), p.shape...)
			add(fmt.Sprintf("h.%d.%s.bias", i, p.name), p.shape[len(p.shape)-1])
		}
	}
	add("ln_f.weight", size)
	add("ln_f.bias", size)
	return params, grads
}

// gradientsOf returns grads as the gradients of params.
func gradientsOf(params []nn.Named, grads []*tensor.Tensor) *tensor.Gradients {
	g := &tensor.Gradients{}
	for i, p := range params {
		g.Set(p.Value(), grads[i])
	}
	return g
}

// launches counts the kernel launches of a program on a backend that has kernels for all kinds of groups, with and without
// batching. Reshapes, constants and slices are views or arguments, not launches.
func launches(p *program.Program) (nodes, groups, batches int) {
	g := group.NewGraph(p)
	kinds := group.Of(group.Elementwise, group.Reduction, group.Norm, group.Product, group.Convolution)
	list := g.Decide(group.Policy{Kinds: kinds, Absorb: kinds})
	free := func(x *group.Group) bool {
		if x.Kind != group.Single {
			return false
		}
		switch p.Nodes[x.Anchor].Op.String() {
		case "reshape", "full", "slice":
			return true
		}
		return false
	}
	for _, x := range list {
		if !free(x) {
			groups++
		}
	}
	for _, b := range g.Batches(list, group.Batching{Kinds: group.Of(group.Elementwise, group.Reduction)}) {
		if !free(b.Groups[0]) {
			batches++
		}
	}
	return len(p.Nodes), groups, batches
}

// A step of all parameters needs few launches on a backend that batches groups.
func TestLaunches(t *testing.T) {
	core1, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	d, err := tensor.On(context.Background(), core1)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, d.Close())
		require.NoError(t, core1.Close())
	}()
	for name, c := range map[string]struct {
		opt  Optimizer
		most int
	}{
		"sgd":      {NewSGD(SGDConfig{}), 2},
		"momentum": {NewSGD(SGDConfig{Momentum: 0.9, WeightDecay: 0.1}), 2},
		"adamw":    {NewAdamW(AdamWConfig{WeightDecay: 0.01}), 4},
	} {
		t.Run(name, func(t *testing.T) {
			params, grads := gpt2(d)
			require.Len(t, params, 148)
			require.NoError(t, c.opt.Step(1e-3, params, gradientsOf(params, grads)))
			count(t, programsOf(t, c.opt), len(params), c.most)
		})
		t.Run(name+" scaled", func(t *testing.T) {
			params, grads := gpt2(d)
			s, err := NewScaler(d, ScalerConfig{})
			require.NoError(t, err)
			require.NoError(t, c.opt.Restore(NewState()))
			require.NoError(t, s.Step(c.opt, 1e-3, params, gradientsOf(params, grads)))
			count(t, &s.progs, len(params), 8)
			count(t, programsOf(t, c.opt), len(params), c.most+4) // launches that select the numbers of the step
		})
	}
}

// programsOf returns the programs of o, which has run on one device.
func programsOf(t *testing.T, o Optimizer) *programs {
	var e *engine
	switch o := o.(type) {
	case *SGD:
		e = &o.engine
	case *AdamW:
		e = &o.engine
	}
	require.Len(t, e.progs, 1)
	for _, ps := range e.progs {
		return ps
	}
	return nil
}

// count checks that the programs of ps have at least the given number of groups, and at most the given number of batched launches.
func count(t *testing.T, ps *programs, least, most int) {
	nodes, groups, batches := 0, 0, 0
	for _, x := range ps.made {
		n, g, b := launches(x.Program())
		t.Logf("%d nodes, %d groups, %d batches", n, g, b)
		nodes, groups, batches = nodes+n, groups+g, batches+b
	}
	require.GreaterOrEqual(t, groups, least)
	require.LessOrEqual(t, batches, most)
}
