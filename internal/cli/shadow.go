package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func shadowFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "shadow", "", "compute a share of the runs on another device too and compare: `DEVICE:SHARE`, for instance cpu:1% (reference:1% uses the reference kernels, which are slow)")
}

// parseShadow splits DEVICE:SHARE. The share is a percentage.
func parseShadow(text string) (device string, share float64, err error) {
	i := strings.LastIndexByte(text, ':')
	if i > 0 {
		number, ok := strings.CutSuffix(text[i+1:], "%")
		share, err = strconv.ParseFloat(number, 64)
		if ok && err == nil && share > 0 && share <= 100 {
			return text[:i], share / 100, nil
		}
	}
	return "", 0, usage("--shadow: want DEVICE:SHARE with a share above 0%% up to 100%%, as cpu:1%%, got %q", text)
}

// openChecked opens the device like open, with --verify or --shadow.
func (a *app) openChecked(ctx context.Context, with, shadow string) (*core.Place, error) {
	if shadow == "" {
		return a.openVerified(ctx, with)
	}
	if with != "" {
		return nil, usage("--verify, --shadow: use only one of them")
	}
	spec, share, err := parseShadow(shadow)
	if err != nil {
		return nil, err
	}
	p, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	second := &core.Place{Spec: withReference}
	if spec == withReference {
		second.Backend = ref.New()
	} else if second, err = a.openSpec(ctx, spec, false); err != nil {
		return nil, errors.Join(fmt.Errorf("--shadow: %w", err), p.Close())
	}
	return a.shadowed(ctx, p, second, share)
}

// shadowed returns p with a share of its work compared with second. It takes ownership of both, and closes them if it fails.
func (a *app) shadowed(ctx context.Context, p, second *core.Place, share float64) (_ *core.Place, err error) {
	s := &shadowed{app: a, second: second, skipped: map[string]skip{}}
	if s.device, err = second.Open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("--shadow: %w", err), second.Close(), p.Close())
	}
	q := verify.Device(p, verify.PassOn(), verify.Audit(s.device, share, s.note), verify.OnFault(s.found))
	return q.With(func(b core.Backend) core.Backend { s.Backend = b; return s }), nil
}

// shadowed is a backend with a share of its work compared, and the differences found.
type shadowed struct {
	core.Backend
	app    *app
	second *core.Place
	device core.Device

	mu       sync.Mutex // guards the fields below
	compared int
	differ   int
	first    error
	skipped  map[string]skip
}

func (s *shadowed) note(what string, skipped error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if skipped == nil {
		s.compared++
		return
	}
	x := s.skipped[what]
	if x.times++; x.reason == nil {
		x.reason = skipped
	}
	s.skipped[what] = x
}

// found prints a difference when it occurs, as a server may run for a long time. Other faults are ignored.
func (s *shadowed) found(f *verify.Fault) {
	if f.Kind != verify.Difference {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.differ++; s.first == nil {
		s.first = f
	}
	if s.differ <= maxShown {
		plain.Fprintf(s.app.err, "shadow: %v\n", f)
	}
}

// Close closes both backends and prints the counts. It returns an error if results differ.
func (s *shadowed) Close() error {
	err := errors.Join(s.Backend.Close(), s.device.Close(), s.second.Close())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(s.skipped)) {
		plain.Fprintf(s.app.err, "shadow: not compared: %s (%d): %v\n", what, s.skipped[what].times, s.skipped[what].reason)
	}
	plain.Fprintf(s.app.err, "shadow: %d compared with %s, %d not, %d differ\n", s.compared, strings.TrimSuffix(s.second.Spec, ":0"), total(s.skipped), s.differ)
	if s.differ > 0 {
		err = errors.Join(err, fmt.Errorf("shadow: %d results differ, the first: %w", s.differ, s.first))
	}
	return err
}
