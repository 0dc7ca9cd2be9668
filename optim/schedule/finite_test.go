package schedule

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// rates returns the first n rates of a scheduler.
func rates(s Scheduler, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = Next(s)
	}
	return list
}

// No rate is NaN or infinite, whatever number of steps a schedule has: a single such rate would destroy the weights.
func TestRatesAreFinite(t *testing.T) {
	for _, steps := range []int{-3, 0, 1, 2, 3, 4, 10, 20} {
		for name, s := range map[string]Scheduler{
			"linear": Linear(0.1, 0.5, steps), "cosine": Cosine(0.1, 0.5, steps), "restarts": WarmRestarts(0.1, 0.5, steps, 2), "restarts 0": WarmRestarts(0.1, 0.5, steps, 0),
			"step": Step(0.1, 0.5, steps), "noam": Noam(1, 64, max(0, steps)),
		} {
			for i, r := range rates(s, 30) {
				require.False(t, math.IsNaN(r) || math.IsInf(r, 0), "%s in %d steps: rate %v at step %d", name, steps, r, i)
			}
		}
	}
}

// One cycle stays between its last rate and its peak, and keeps the last rate from its last step on, even if a phase has no steps.
func TestOneCycleBounds(t *testing.T) {
	const peak = 0.5
	for _, steps := range []int{0, 1, 2, 3, 4, 5, 10, 20, 100} {
		for _, warmup := range []float64{0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5} {
			for _, linear := range []bool{false, true} {
				for _, three := range []bool{false, true} {
					name := fmt.Sprintf("%d steps, warmup %v, linear %v, three phases %v", steps, warmup, linear, three)
					list := rates(OneCycle(peak, steps, OneCycleConfig{Warmup: warmup, Linear: linear, ThreePhase: three}), steps+3)
					last := peak / 25 / 1e4
					for i, r := range list {
						require.True(t, r >= last*(1-1e-9) && r <= peak*(1+1e-9), "%s: rate %v at step %d", name, r, i)
						if i >= steps-1 && (!three || warmup < 0.5) {
							require.InEpsilon(t, last, r, 1e-6, "%s: step %d", name, i)
						}
					}
					if up := warmup*float64(steps) - 1; up >= 0 && up == math.Trunc(up) && int(up) < steps-1 {
						require.InEpsilon(t, peak, list[int(up)], 1e-9, name)
					}
				}
			}
		}
	}
}
