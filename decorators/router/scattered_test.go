package router_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/internal/long"
)

// scattered is a router whose commands prefer its two members in turn, so that most operands are transferred.
type scattered struct{ *router.Router }

func (b scattered) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Router.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	return scatteredDevice{d}, nil
}

type scatteredDevice struct{ core.Device }

func (d scatteredDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	x := &scatteredStream{Stream: s}
	for i := range x.views {
		if x.views[i], err = router.On(s, i); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (d scatteredDevice) Extend(target any) bool {
	switch t := target.(type) {
	case *core.MemoryStats, *core.Selective:
		return d.Device.Extend(target)
	case *core.Programs:
		return core.WrapExtension(d.Device, t, func(x core.Programs) core.Programs { return scatteredPrograms{x} })
	}
	return false
}

type scatteredPrograms struct{ core.Programs }

func (x scatteredPrograms) Define(ctx context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	return x.Programs.Define(ctx, s.(*scatteredStream).Stream, p, consts)
}

func (x scatteredPrograms) Run(s core.Stream, r core.Run) error {
	return x.Programs.Run(s.(*scatteredStream).Stream, r)
}

type scatteredStream struct {
	core.Stream
	views [2]core.Stream
	turn  int
}

func (s *scatteredStream) next() core.Stream {
	s.turn++
	return s.views[s.turn%2]
}

func (s *scatteredStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) < 2 {
		return s.next().Submit(nodes, free)
	}
	for i := range nodes {
		if err := s.next().Submit(nodes[i:i+1], nil); err != nil {
			return err
		}
	}
	return s.next().Submit(nil, free)
}

func (s *scatteredStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	return s.next().Write(ctx, d, data)
}

// The core profile passes if the preferred member changes with each command.
func TestScattered(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		o := conformance.Options{Profile: conformance.Core, Sample: 40}
		switch {
		case long.Tests():
			o.Sample = 2
		case testing.Short():
			o.Sample = 200
		}
		r, err := conformance.Check(t.Context(), func() (core.Backend, error) {
			b, err := router.New(places(t))
			return scattered{b}, err
		}, o)
		require.NoError(t, err)
		for _, x := range r.Results {
			if x.Status == conformance.Failed {
				t.Errorf("%s: %s", x.ID, x.Reason)
			}
		}
		require.Positive(t, r.Passed)
	})
}
