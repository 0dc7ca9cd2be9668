package fusion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
)

// Random windows detect each planted fault: typical faults of such a decorator.
func TestMutantsAreCaught(t *testing.T) {
	for name, mutant := range map[string]fusion.Option{
		"zeroed scalar":    fusion.ForgetAttrs(),
		"alias overlooked": fusion.ForgetOperands(),
		"wrong donation": fusion.DonateAs(func(donated []bool) {
			for i := range donated {
				donated[i] = true
			}
		}),
		"no donation": fusion.DonateAs(func(donated []bool) { clear(donated) }),
	} {
		t.Run(name, func(t *testing.T) {
			fused, plain := over(t, reference(), mutant), bare(t, reference())
			require.True(t, caught(fused, plain), "the random windows did not detect the fault")
		})
	}
}

// caught reports whether random windows behave differently on fused and plain: in results, in errors or in the number of tensors that
// remain.
func caught(fused, plain *rig) (found bool) {
	for s := range uint64(40) {
		want := script(plain, s)
		probe := &testing.T{}
		done := make(chan bool)
		go func() { // a failure of probe ends its goroutine
			ended := false
			defer func() { done <- ended }()
			r := *fused
			r.t = probe
			if got := script(&r, s); near(want, got) && r.tensors() == 0 {
				ended = true
			}
		}()
		if !<-done {
			return true
		}
	}
	return false
}

// A plan is not used for windows with other shapes. If fusion is planted to ignore shapes ("planted"), the same test fails.
func TestStalePlan(t *testing.T) {
	for name, mutant := range map[string]fusion.Option{"planted": fusion.ForgetTypes(), "sound": nil} {
		t.Run(name, func(t *testing.T) {
			var options []fusion.Option
			if mutant != nil {
				options = append(options, mutant)
			}
			r := over(t, reference(), options...)
			sum := func(x op.Desc) op.Desc {
				y := r.do(op.Neg, 0, ds{x})
				return r.do(op.Exp, 1, ds{y})
			}
			a, b := r.write(0, 0), r.write(0, 0, 0)
			for range 4 {
				r.read(sum(a))
			}
			d := sum(b)
			err := r.fetch(d)
			if mutant != nil {
				require.Error(t, err, "the plan of another shape was run")
				return
			}
			require.NoError(t, err)
		})
	}
}

// Colliding hashes change nothing: plans are compared in full.
func TestCollidingHashes(t *testing.T) {
	fused, plain := over(t, reference(), fusion.CollidingHashes()), bare(t, reference())
	require.Zero(t, differ(t, fused, plain, 60, 1))
	require.Positive(t, fused.stats().Hits)
}
