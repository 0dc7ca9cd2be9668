package place

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noisy returns p with measured times and links that are wrong by up to a tenth: each time by itself or, with together, all times of a
// member by the same factor.
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

// bestSingle returns the least cost of all units on one member.
func bestSingle(p *Problem) float64 {
	least := math.Inf(1)
	for m := range p.Limit {
		least = min(least, p.Cost(slices.Repeat([]int{m}, len(p.Time))))
	}
	return least
}

// launched returns the true cost of an assignment if each run of successive units on one member has an overhead once. The times of p
// contain the overhead in every unit.
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

// The first way is not a split that is more than 3 % slower than the best single member, even if costs are wrong by a tenth.
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

// The way that a trial chooses has a true cost of at most 3 % more than the best single member. The test draws random programs whose
// measured costs are wrong by a tenth, each by itself or all of a member together, whose runs are timed with as much noise, and whose
// units are measured with an overhead that a longer program has once. Each trial ends within its bound.
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
				require.LessOrEqual(t, chosen, 1.03*cost(a), "seed %d: no way is more than 3 %% faster", seed)
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

// run observes the given time of each way until the trial is done, and returns the number of runs.
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
		"one way":                         {[]float64{1}, []float64{9}, 0, 5},
		"clear, as predicted":             {[]float64{1, 1.5}, []float64{1, 1.5}, 0, 24},
		"clear, against prediction":       {[]float64{1, 1.5}, []float64{1.5, 1}, 1, 24},
		"hopeless ones are not tried":     {[]float64{1, 3, 9}, []float64{1, 3, 9}, 0, 5},
		"hopeless, but the first is slow": {[]float64{1, 3, 9}, []float64{5, 2, 1}, 2, 0},
		"a way that came second":          {[]float64{1, 1.1, 1.2}, []float64{1.2, 1, 1.2}, 1, 0},
		"near each other: to the last":    {[]float64{1, 1}, []float64{1.01, 1}, 1, 2 * (128 + 6)},
		"all the same":                    {[]float64{0, 0}, []float64{0, 0}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			trial := NewTrial(c.predicted...)
			require.Equal(t, 0, trial.Next(), "a trial begins with the first way")
			runs := run(t, trial, c.true...)
			require.Equal(t, c.best, trial.Next())
			if c.runs > 0 {
				require.Equal(t, c.runs, runs)
			}
			before, n := trial.Time(c.best)
			trial.Observe(c.best, 100)
			after, m := trial.Time(c.best)
			require.Equal(t, before, after, "a trial that is done ignores observations")
			require.Equal(t, n, m)
		})
	}
}

// A way that is dropped is not chosen, and the trial goes on without it, whenever it is dropped.
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

// A trial ignores times of a way that is not the next one. They come from runs that were under way when the trial went on.
func TestTrialIgnoresLateRuns(t *testing.T) {
	trial := NewTrial(1, 1.2)
	for range 100 {
		trial.Observe(1-trial.Next(), 0.001)
	}
	_, runs := trial.Time(1)
	require.Zero(t, runs)
	require.Equal(t, 0, trial.Next())
}

// Other work on the machine that slows down all samples of the fastest way in the first round does not decide the trial.
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

// The text of a plan has the reasons and times of its units, and the predicted and measured times of the ways that were tried.
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
