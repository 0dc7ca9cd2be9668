package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

// withReference is the name in --verify and --shadow for the reference kernels of the conformance suite.
const withReference = "reference"

func verifyFlag(cmd *cobra.Command, value *string) {
	fl := cmd.Flags()
	fl.StringVar(value, "verify", "", "check every node: compare its results with another `DEVICE`, find NaN of finite operands, and check order and lifetime (without a value: compare with reference kernels, which are slow)")
	fl.Lookup("verify").NoOptDefVal = withReference
}

// openVerified opens the device like open, behind decorators/verify if with names a device to compare with. Close of the result
// prints the faults, and returns an error if there are any.
func (a *app) openVerified(ctx context.Context, with string) (p *core.Place, err error) {
	if p, err = a.open(ctx); err != nil || with == "" {
		return p, err
	}
	var second *core.Place
	if with == withReference {
		second = &core.Place{Backend: ref.New(), Spec: withReference}
	} else if second, err = a.openSpec(ctx, with, false); err != nil {
		return nil, errors.Join(fmt.Errorf("--verify: %w", err), p.Close())
	}
	return a.verified(ctx, p, second)
}

// verified returns p behind decorators/verify, which compares it with second. It takes ownership of both, and closes them if it
// fails.
func (a *app) verified(ctx context.Context, p, second *core.Place) (_ *core.Place, err error) {
	v := &verified{app: a, second: second, skipped: map[string]skip{}}
	if v.device, err = second.Open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("--verify: %w", err), second.Close(), p.Close())
	}
	q := verify.Device(p, verify.PassOn(), verify.NotFinite(), verify.Against(v.device, v.note), verify.OnFault(v.log.Add))
	return q.With(func(b core.Backend) core.Backend { v.Backend = b; return v }), nil
}

// verified is a backend behind decorators/verify, with the faults found.
type verified struct {
	core.Backend
	app    *app
	second *core.Place
	device core.Device
	log    verify.Log

	mu       sync.Mutex // guards the fields below
	compared int
	skipped  map[string]skip
}

// skip counts the results of an op that were not compared, with the reason of the first time.
type skip struct {
	times  int
	reason error
}

func (v *verified) note(what string, skipped error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if skipped == nil {
		v.compared++
		return
	}
	s := v.skipped[what]
	if s.times++; s.reason == nil {
		s.reason = skipped
	}
	v.skipped[what] = s
}

// maxShown is the greatest number of faults printed.
const maxShown = 20

// Close closes both backends and prints the report.
func (v *verified) Close() error {
	err := errors.Join(v.Backend.Close(), v.device.Close(), v.second.Close())
	v.mu.Lock()
	defer v.mu.Unlock()
	faults, count := v.log.Report()
	for _, f := range faults[:min(len(faults), maxShown)] {
		plain.Fprintf(v.app.err, "%v: %v\n", f.Kind, f)
	}
	for _, what := range slices.Sorted(maps.Keys(v.skipped)) {
		s := v.skipped[what]
		plain.Fprintf(v.app.err, "verify: not compared: %s (%d): %v\n", what, s.times, s.reason)
	}
	plain.Fprintf(v.app.err, "verify: %d results compared with %s, %d not, %d faults\n", v.compared, strings.TrimSuffix(v.second.Spec, ":0"), total(v.skipped), count)
	if count > 0 {
		err = errors.Join(err, fmt.Errorf("verify: %d faults, the first: %w", count, faults[0]))
	}
	return err
}

func total(skipped map[string]skip) (n int) {
	for _, s := range skipped {
		n += s.times
	}
	return n
}
