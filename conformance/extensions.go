package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
)

// extensionCases check how a device answers requests for extensions, by itself and behind decorators.
func extensionCases() []testCase {
	return []testCase{
		ruled("extensions/unknown", "Extend returns false for an extension that the device does not know, and leaves the target unchanged", extensionUnknown),
		ruled("extensions/stable", "a device has the same extensions at any time and for any goroutine", extensionStable),
		ruled("extensions/denied", "behind a decorator that knows no extension, a device has none and works without them", extensionsDenied),
		ruled("extensions/autodiff", "behind autodiff, a device has gradients and the same programs, memory statistics and profiling as without autodiff", extensionsBehindAutodiff),
		ruled("extensions/foreign-stream", "a program refuses a stream of another device, and both devices still work", foreignStream),
	}
}

// unheardOf is an extension that no device has.
type unheardOf interface{ UnheardOf() }

type heard struct{}

func (heard) UnheardOf() {}

func extensionUnknown(_ context.Context, q *queue) error {
	if _, ok := core.Extension[unheardOf](q.dev); ok {
		return errors.New("the device claims an extension that does not exist")
	}
	var t unheardOf = heard{}
	if q.dev.Extend(&t) || t != (heard{}) {
		return errors.New("the device grants an extension that does not exist, or changes the target")
	}
	for _, target := range []any{nil, new(int), "programs"} {
		if q.dev.Extend(target) {
			return fmt.Errorf("Extend accepted a target of type %T, which is no pointer to an extension", target)
		}
	}
	return nil
}

// has lists which of the extensions of core a device has.
func has(d core.Device) map[string]bool {
	m := map[string]bool{}
	_, m["programs"] = core.Extension[core.Programs](d)
	_, m["memory statistics"] = core.Extension[core.MemoryStats](d)
	_, m["host memory"] = core.Extension[core.HostMemory](d)
	_, m["pinning"] = core.Extension[core.Pinning](d)
	_, m["peer copy"] = core.Extension[core.PeerCopy](d)
	_, m["collectives"] = core.Extension[core.Collectives](d)
	_, m["gradients"] = core.Extension[core.Gradients](d)
	_, m["selective"] = core.Extension[core.Selective](d)
	_, m["profiling"] = core.Extension[core.Profiling](d)
	return m
}

// needs returns an extension of a device. A device without it skips the case.
func needs[T any](d core.Device, name string) (T, error) {
	x, ok := core.Extension[T](d)
	if !ok {
		return x, skip{"the device has no " + name}
	}
	return x, nil
}

func extensionStable(ctx context.Context, q *queue) error {
	want := has(q.dev)
	return q.atOnce(ctx, 4, func(_ int, s *queue) error {
		for range 20 {
			for name, got := range has(s.dev) {
				if got != want[name] {
					return fmt.Errorf("the device answers %v for %s, and answered %v before", got, name, want[name])
				}
			}
		}
		return s.stillGood(ctx)
	})
}

// silent is a decorator that knows no extension.
type silent struct{ core.Device }

func (silent) Extend(any) bool { return false }

func extensionsDenied(ctx context.Context, q *queue) error {
	t := *q
	t.dev = silent{q.dev}
	for name, got := range has(t.dev) {
		if got {
			return fmt.Errorf("the device has %s behind a decorator that denies every extension", name)
		}
	}
	return t.with(ctx, func(s *queue) error {
		d, err := s.busy(ctx, 20)
		if err != nil {
			return err
		}
		return errors.Join(s.counted(ctx, d, 20), s.stillGood(ctx))
	})
}

func extensionsBehindAutodiff(ctx context.Context, q *queue) error {
	t := *q
	t.backend = autodiff.Wrap(opened{q.backend, q.dev})
	var err error
	if t.dev, err = t.backend.Open(ctx, q.options.Device); err != nil {
		return err
	}
	defer func() { _ = t.dev.Close() }()
	below, above := has(q.dev), has(t.dev)
	if !above["gradients"] {
		return errors.New("autodiff does not claim gradients")
	}
	for _, name := range []string{"programs", "memory statistics", "profiling"} {
		if below[name] != above[name] {
			return fmt.Errorf("%s: the device claims it: %v, autodiff claims it: %v; want both or neither", name, below[name], above[name])
		}
	}
	if _, ok := core.Extension[unheardOf](t.dev); ok {
		return errors.New("autodiff claims an extension that does not exist")
	}
	return t.with(ctx, func(s *queue) error {
		if !above["programs"] {
			return s.stillGood(ctx)
		}
		p, x, err := s.affineOnTwo(ctx)
		if err != nil {
			return err
		}
		return errors.Join(p.computes(ctx, s, x), s.stillGood(ctx))
	})
}

func foreignStream(ctx context.Context, q *queue) error {
	p, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	return q.withApart(ctx, func(s *queue) error {
		x, err := s.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		if _, err := p.run(s, x); err == nil {
			return errors.New("a program ran on a stream of another device")
		}
		return errors.Join(s.holds(ctx, x, 1, 2), s.stillGood(ctx), q.stillGood(ctx))
	})
}
