// Package burn opens devices to compute on, by the names that `burn devices` lists: a program that uses package tensor begins here.
//
//	dev, err := burn.Open(ctx, "cuda:0", burn.WithGradients())
//	if err != nil {
//		return err
//	}
//	defer dev.Close() // the device, and the plugin that it came from
//
// A backend that is linked into the program is imported for its side effect, like a driver of database/sql:
//
//	import _ "github.com/goburn/burn/plugins/cpu"
//
// Open combines three steps, which a program can also call separately: host.Open finds a backend and starts it, decorators such as
// fusion.Device and autodiff.Device change its behaviour, and tensor.On opens one of its devices. A program that needs no plugins uses
// tensor.Open, which links neither gRPC nor the search for plugins. This package must only combine these steps: it must not implement any
// of them.
package burn

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/tensor"
)

// Option changes how a device is opened.
type Option func(*config)

type config struct {
	host    host.Options
	unfused bool
	fusion  []fusion.Option
	wrap    []func(*core.Place) *core.Place
}

// WithGradients makes the device record operations on tracked tensors, so that Backward works on it. If given twice, the gradients
// that the outer decorator computes can be differentiated again, for second derivatives.
func WithGradients(options ...autodiff.Option) Option {
	return WithDecorator(func(p *core.Place) *core.Place { return autodiff.Device(p, options...) })
}

// WithFusion sets options of fusion (package decorators/fusion), which every device has unless WithoutFusion switches it off: op
// sequences that the streams of the device repeat become programs, so that a training loop written op by op runs as a few
// programs per step. Fusion is closest to the backend, below gradients, regardless of its position among the options.
func WithFusion(options ...fusion.Option) Option {
	return func(c *config) { c.unfused, c.fusion = false, append(c.fusion, options...) }
}

// WithoutFusion makes the device run every op by itself, as it is written: for comparisons, and to follow ops one by one. The last
// of WithFusion and WithoutFusion applies.
func WithoutFusion() Option { return func(c *config) { c.unfused = true } }

// WithDecorator wraps the backend in a decorator. The first of several is closest to the backend, above fusion. Closing the backend that the
// decorator returns must close the wrapped one, as all of package decorators do.
func WithDecorator(wrap func(*core.Place) *core.Place) Option {
	return func(c *config) { c.wrap = append(c.wrap, wrap) }
}

// WithHost sets where plugins are searched, how they are started and which resources they may use. The last of several applies.
// Without it, the host has the defaults of host.Options.
func WithHost(o host.Options) Option { return func(c *config) { c.host = o } }

// Open opens a device by its name, NAME[:INDEX] with an optional transport before it: "cpu", "cuda:0", "process:cpu". Close of
// the device ends everything that Open started: streams, tensors, the backend, and the process of a plugin. Nothing is left
// running when Open fails.
//
// ctx limits only the opening. Open returns the errors of host.Open: for an unknown name or index, core.ErrNotFound.
func Open(ctx context.Context, spec string, options ...Option) (*tensor.Device, error) {
	var c config
	for _, o := range options {
		o(&c)
	}
	p, err := host.Open(ctx, spec, c.host)
	if err != nil {
		return nil, err
	}
	if !c.unfused {
		p = fusion.Device(p, c.fusion...)
	}
	for _, wrap := range c.wrap {
		p = wrap(p)
	}
	return tensor.Own(ctx, p)
}

// Gradients opens a device that records gradients over the backend of dev, which is already open. The two devices have separate
// memory: To copies a tensor from one to the other. Close of the result leaves dev open; close dev after it.
func Gradients(ctx context.Context, dev *tensor.Device, options ...autodiff.Option) (*tensor.Device, error) {
	if dev == nil {
		return nil, errors.New("burn: gradients of a nil device, want one that is open")
	}
	return tensor.On(ctx, autodiff.Device(dev.Place(), options...))
}
