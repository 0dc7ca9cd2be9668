package schedule_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/optim/schedule"
)

type fixture struct {
	Schedules map[string][]float64
	Metric    []float64
}

// load reads the trajectories that ../testdata/trajectories.py wrote with PyTorch.
func load(t *testing.T) fixture {
	b, err := os.ReadFile("../testdata/trajectories.json")
	require.NoError(t, err)
	var f fixture
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

var made = map[string]func() schedule.Scheduler{
	"constant":       func() schedule.Scheduler { return schedule.Constant(0.5) },
	"linear":         func() schedule.Scheduler { return schedule.Linear(0.125, 0.375, 10) },
	"exponential":    func() schedule.Scheduler { return schedule.Exponential(0.5, 0.9) },
	"step":           func() schedule.Scheduler { return schedule.Step(0.5, 0.3, 7) },
	"multi_step":     func() schedule.Scheduler { return schedule.MultiStep(0.5, 0.5, 3, 9, 9, 30) },
	"cosine":         func() schedule.Scheduler { return schedule.Cosine(0.5, 0.05, 15) },
	"restarts":       func() schedule.Scheduler { return schedule.WarmRestarts(0.5, 0.05, 5, 2) },
	"restarts_equal": func() schedule.Scheduler { return schedule.WarmRestarts(0.5, 0, 6, 0) },
	"one_cycle":      func() schedule.Scheduler { return schedule.OneCycle(0.5, 41, schedule.OneCycleConfig{}) },
	"one_cycle_three": func() schedule.Scheduler {
		return schedule.OneCycle(0.5, 41, schedule.OneCycleConfig{Warmup: 0.4, Divide: 10, FinalParts: 100, Linear: true, ThreePhase: true})
	},
	"noam": func() schedule.Scheduler { return schedule.Noam(2, 64, 10) },
	"product": func() schedule.Scheduler {
		return schedule.Product(schedule.Sequence(schedule.Phase{Scheduler: schedule.Constant(0.5), Steps: 6}, schedule.Phase{Scheduler: schedule.Constant(1)}),
			schedule.Exponential(0.5, 0.9))
	},
	"sequence": func() schedule.Scheduler {
		return schedule.Sequence(schedule.Phase{Scheduler: schedule.Linear(0.05, 0.5, 8), Steps: 8}, schedule.Phase{Scheduler: schedule.Exponential(0.5, 0.9)})
	},
}

func TestSequencesOfPyTorch(t *testing.T) {
	f := load(t)
	for name, want := range f.Schedules {
		if name == "plateau" || name == "plateau_max" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			require.Contains(t, made, name)
			s := made[name]()
			var got []float64
			for i := range want {
				if i == len(want)/2 { // a new one continues from the state
					next := made[name]()
					require.NoError(t, next.Restore(s.State()))
					s = next
				}
				got = append(got, schedule.Next(s))
			}
			require.InDeltaSlice(t, want, got, 1e-12)
			require.Error(t, s.Restore(map[string]float64{"step": -1, "phase": 0}))
			require.Error(t, s.Restore(nil))
			require.Equal(t, made[name]().Rate(), want[0])
		})
	}
}

func TestPlateau(t *testing.T) {
	f := load(t)
	for name, c := range map[string]schedule.PlateauConfig{"plateau": {Patience: 2},
		"plateau_max": {Maximise: true, Patience: 1, Threshold: 0.02, Absolute: true, Cooldown: 3, Factor: 0.5, Least: 0.1}} {
		s := schedule.NewPlateau(0.5, c)
		var got []float64
		for i, m := range f.Metric {
			if c.Maximise {
				m = 2 - m
			}
			if i == 9 {
				next := schedule.NewPlateau(0.5, c)
				require.NoError(t, next.Restore(s.State()))
				s = next
			}
			s.Observe(m)
			got = append(got, s.Rate())
			s.Advance()
		}
		require.InDeltaSlice(t, f.Schedules[name], got, 1e-12, name)
		require.Error(t, s.Restore(map[string]float64{"bad": 0, "cooling": 0, "count": 0}))
		require.Error(t, s.Restore(nil))
	}
}

func TestMean(t *testing.T) {
	s := schedule.Mean(schedule.Linear(0, 1, 10), schedule.Constant(0.5))
	require.Equal(t, 0.25, schedule.Next(s))
	require.InDelta(t, 0.3, s.Rate(), 1e-15)
	state := s.State()
	s.Advance()
	require.Error(t, s.Restore(map[string]float64{"0/step": 3}), "the second is missing, so the first goes back")
	require.InDelta(t, 0.35, s.Rate(), 1e-15)
	require.NoError(t, s.Restore(state))
	require.InDelta(t, 0.3, s.Rate(), 1e-15)
}
