// Package autodiff is a decorator that adds gradients to any backend. It stands below the tensor library and above fusion and the backend.
// Its devices have the extension core.Gradients: they record the nodes that depend on tracked tensors, for as long as a gradient of a
// result can be requested, and compute gradients with nodes of the contract on the device below. So it works with built-in backends and
// plugins, and two nested decorators yield second derivatives. It must not compute elements itself: the rules of gradients are in
// core/program/gradient.
//
// The tape is reverse-mode differentiation by operator overloading (Griewank and Walther, Evaluating Derivatives, 2008): entries are linked
// from results to operands, and an entry is released as soon as neither the host nor a later entry holds one of its results. A forward pass
// without a backward pass leaves nothing behind.
//
// A device has one tape, which all of its streams record on. Like the streams of any device, they may be used concurrently: commands are
// recorded one at a time, and the tape frees a tensor only after the commands of other streams that read it.
package autodiff

import (
	"context"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

// Option sets how a wrapped backend records.
type Option func(*config)

type config struct{ checkpoint Checkpointing }

// WithCheckpointing chooses what is kept for the backward pass and what is computed again. The default is KeepAll.
func WithCheckpointing(c Checkpointing) Option { return func(o *config) { o.checkpoint = c } }

// Wrap returns b with the extension core.Gradients on its devices. Closing the result closes b.
//
// Of the other extensions, a wrapped device has only the ones listed here, if the device below has them. A program runs unchanged if none
// of its inputs is tracked, otherwise node by node. A donated tensor that the tape needs is kept. HostMemory, PeerCopy and Collectives
// create constants; on a stream that is not from Untracked, Collectives refuse tracked operands. MemoryStats, Pinning and Profiling are
// passed through to the device below. Selective exists if the device below is selective, or does not claim all composite ops that have a
// gradient rule.
func Wrap(b core.Backend, options ...Option) core.Backend {
	w := &backend{inner: b}
	for _, o := range options {
		o(&w.config)
	}
	return w
}

// Rule is a gradient rule for a custom op: see gradient.Custom.
type Rule = gradient.Custom

// Register registers the gradient rule of a custom op. It panics if the op is in the table or has a rule already.
func Register(c op.Code, r Rule) { gradient.Register(c, r) }

// Gradient returns how op c is differentiated: "rule", "decomposition", or "none" with the reason.
func Gradient(c op.Code) (how, reason string) { return gradient.How(c) }

// Device returns p with its backend wrapped.
func Device(p *core.Place, options ...Option) *core.Place {
	return p.With(func(b core.Backend) core.Backend { return Wrap(b, options...) })
}

type backend struct {
	inner core.Backend
	config
}

// Info names the decorator: "autodiff<cpu>".
func (b *backend) Info() core.Info {
	i := b.inner.Info()
	i.Name = "autodiff<" + i.Name + ">"
	return i
}

// Open opens the device below and creates its tape.
func (b *backend) Open(ctx context.Context, index int) (core.Device, error) {
	inner, err := b.inner.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	return newDevice(inner, b.inner.Info().Name, b.config), nil
}

// Close closes the backend below.
func (b *backend) Close() error { return b.inner.Close() }
