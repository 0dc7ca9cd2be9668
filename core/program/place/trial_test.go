package place

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noisy returns p as it is measured: each time off by up to a tenth, and the times of each member off by up to so much together.
func noisy(rnd *rand.Rand, p *Problem, together bool) *Problem {
	const noise = 0.1
	off := func() float64 { return 1 + noise*(2*rnd.Float64()-1) }
	q := *p
	q.Time = nil
	members := make([]float64, len(p.Limit))
	for m := range members {
		members[m] = off()
	}
	for _, row := range p.Time {
		row = slices.Clone(row)
		for m := range row {
			if together {
				row[m] *= members[m]
			} else {
				row[m] *= off()
			}
		}
		q.Time = append(q.Time, row)
	}
	links := map[[2]int]float64{}
	q.Link = func(from, to int, bytes int64) float64 {
		k := [2]int{from, to}
		if links[k] == 0 {
			links[k] = off()
		}
		return p.Link(from, to, bytes) * links[k]
	}
	return &q
}

// bestSingle returns the least cost of a single member.
func bestSingle(p *Problem) float64 {
	least := math.Inf(1)
	for m := range p.Limit {
		least = min(least, p.Cost(slices.Repeat([]int{m}, len(p.Time))))
	}
	return least
}

// launched returns what a way costs in truth where each run of units on one member costs an overhead, which a measurement of a
// single unit has in each.
func launched(p *Problem, overhead []float64, assigned []int) float64 {
	sum := p.Cost(assigned)
	for i, m := range assigned {
		if i > 0 && assigned[i-1] == m {
			sum -= overhead[m]
		}
	}
	return sum
}

func isSplit(assigned []int) bool { return len(slices.Compact(slices.Clone(assigned))) > 1 }

// A split is never begun with that is more than 3 % slower than the best single member, however costs that are off by a tenth
// mislead.
func TestWaysAreCautious(t *testing.T) {
	splits := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		p := random(rnd, 2+rnd.IntN(10), 2+rnd.IntN(2), false)
		ways, costs := noisy(rnd, p, seed%2 == 0).Ways()
		require.Len(t, costs, len(ways))
		if single := bestSingle(p); isSplit(ways[0]) && !math.IsInf(single, 1) {
			splits++
			require.LessOrEqual(t, p.Cost(ways[0]), 1.03*single, "seed %d", seed)
		}
	}
	require.Greater(t, splits, 30, "splits that are worth it")
}

// Whatever is chosen in the end costs, in truth, at most 3 % more than the best single member: over random programs whose measured
// costs are off by a tenth, each by itself or all of a member together, whose runs are timed with as much noise, and of which single
// units are measured with an overhead that a longer program has once. The trial ends within its bound.
func TestTrialIsNeverSlowerThanOneMember(t *testing.T) {
	longest, corrected, sum := 0, 0, 0
	const programs = 300
	for seed := range uint64(programs) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		p := random(rnd, 2+rnd.IntN(10), 2+rnd.IntN(2), seed%3 == 0)
		overhead := make([]float64, len(p.Limit))
		if seed%4 == 0 {
			for m := range overhead {
				overhead[m] = rnd.Float64() * 2
			}
			for _, row := range p.Time {
				for m := range row {
					row[m] += overhead[m]
				}
			}
		}
		cost := func(a []int) float64 { return launched(p, overhead, a) }
		ways, predicted := noisy(rnd, p, seed%2 == 0).Ways()
		if ways == nil {
			continue
		}
		trial := NewTrial(predicted...)
		runs := 0
		for ; !trial.Done(); runs++ {
			require.Less(t, runs, Bound(len(ways)), "seed %d", seed)
			way := trial.Next()
			trial.Observe(way, cost(ways[way])*(0.9+0.2*rnd.Float64()))
		}
		chosen := cost(ways[trial.Next()])
		for m := range p.Limit {
			require.LessOrEqual(t, chosen, 1.03*cost(slices.Repeat([]int{m}, len(p.Time))), "seed %d, member %d", seed, m)
		}
		for _, a := range ways {
			if !math.IsInf(p.Cost(a), 1) {
				require.LessOrEqual(t, chosen, 1.03*cost(a), "seed %d: all ways were looked at", seed)
			}
		}
		if cost(ways[0]) > 1.03*chosen {
			corrected++
		}
		longest, sum = max(longest, runs), sum+runs
	}
	require.Greater(t, corrected, 10, "first choices that runs correct")
	t.Logf("%d first choices were corrected; a trial took %d runs on average, %d at most", corrected, sum/programs, longest)
}

// run observes runs of the true times until a trial is done, and returns their number.
func run(t *testing.T, trial *Trial, times ...float64) (runs int) {
	for ; !trial.Done(); runs++ {
		require.Less(t, runs, Bound(len(times)))
		trial.Observe(trial.Next(), times[trial.Next()])
	}
	return runs
}

func TestTrial(t *testing.T) {
	for name, c := range map[string]struct {
		predicted, true []float64
		best, runs      int
	}{
		"one way":                      {[]float64{1}, []float64{9}, 0, 5},
		"clear, as predicted":          {[]float64{1, 1.5}, []float64{1, 1.5}, 0, 24},
		"clear, and the other":         {[]float64{1, 1.5}, []float64{1.5, 1}, 1, 24},
		"hopeless ones are not tried":  {[]float64{1, 3, 9}, []float64{1, 3, 9}, 0, 5},
		"but for a worse surprise":     {[]float64{1, 3, 9}, []float64{5, 2, 1}, 2, 0},
		"a way that came second":       {[]float64{1, 1.1, 1.2}, []float64{1.2, 1, 1.2}, 1, 0},
		"near each other: to the last": {[]float64{1, 1}, []float64{1.01, 1}, 1, 2 * (128 + 6)},
		"all the same":                 {[]float64{0, 0}, []float64{0, 0}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			trial := NewTrial(c.predicted...)
			require.Equal(t, 0, trial.Next(), "it begins with the first")
			runs := run(t, trial, c.true...)
			require.Equal(t, c.best, trial.Next())
			if c.runs > 0 {
				require.Equal(t, c.runs, runs)
			}
			before, n := trial.Time(c.best)
			trial.Observe(c.best, 100)
			after, m := trial.Time(c.best)
			require.Equal(t, before, after, "it is over")
			require.Equal(t, n, m)
		})
	}
}

// A way that cannot be run is not chosen, and the trial goes on without it, at whatever point that is found.
func TestTrialDrop(t *testing.T) {
	for after := range 30 {
		for way := range 3 {
			trial, times := NewTrial(1, 1.2, 1.4), []float64{1, 1.01, 1.02}
			for range after {
				trial.Observe(trial.Next(), times[trial.Next()])
			}
			trial.Drop(way)
			require.NotEqual(t, way, trial.Next())
			run(t, trial, times...)
			require.NotEqual(t, way, trial.Next())
		}
	}
	trial := NewTrial(1, 2)
	trial.Drop(1)
	trial.Drop(0)
	require.True(t, trial.Done())
}

// Times of a way that is not the next one change nothing: runs that were on their way when the trial went on.
func TestTrialIgnoresLateRuns(t *testing.T) {
	trial := NewTrial(1, 1.2)
	for range 100 {
		trial.Observe(1-trial.Next(), 0.001)
	}
	_, runs := trial.Time(1)
	require.Zero(t, runs)
	require.Equal(t, 0, trial.Next())
}

// Other work that hits all samples that the fastest way has in the first round does not decide the trial.
func TestTrialSurvivesABurst(t *testing.T) {
	trial, first := NewTrial(1, 1.1), 5
	for runs := 0; !trial.Done(); runs++ {
		require.Less(t, runs, Bound(2))
		seconds := 1.86
		if trial.Next() == 0 {
			if seconds = 1; first > 0 {
				first--
				seconds = 2.6
			}
		}
		trial.Observe(trial.Next(), seconds)
	}
	require.Equal(t, 0, trial.Next())
}

// A way that is tried once more because of its first samples, and is then as fast as the other one, needs 4 samples more than that: its
// first 5 runs do not count, and it has 5 blocks of runs after them. The other way has 128 samples in 6 blocks.
func TestTrialBound(t *testing.T) {
	trial, runs, first := NewTrial(1, 1), 0, 5
	for ; !trial.Done(); runs++ {
		seconds := 1.0
		if trial.Next() == 1 && first > 0 {
			first--
			seconds = 1.5
		}
		trial.Observe(trial.Next(), seconds)
	}
	require.Equal(t, (128+6)+(5+128+5), runs)
	require.LessOrEqual(t, runs, Bound(2))
}

// A plan prints what it was made by, and what runs took.
func TestPlanText(t *testing.T) {
	p := Plan{Program: "p", Units: []PlannedUnit{{Ops: []string{"matmul", "add"}, Member: "a", Reason: "least time of the whole",
		Predicted: 2 * time.Millisecond, Measured: 3 * time.Millisecond, Bytes: 64}},
		Tried: []Tried{{Members: []string{"a"}, Predicted: 4 * time.Millisecond, Time: 5 * time.Millisecond, Runs: 8, Chosen: true},
			{Members: []string{"a", "b"}, Predicted: 6 * time.Millisecond, Time: 6 * time.Millisecond}}}
	require.Equal(t, `program "p"
unit        member  reason                   predicted  measured  bytes moved
matmul add  a       least time of the whole  2ms        3ms       64
on a: 5ms by 8 runs, 4ms predicted, chosen
on a and b: 6ms predicted
`, p.String())
	require.Equal(t, 3.0, NewTrial(2, 3).Predicted(1))
}
