package cpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// TestTuner runs a plan of two steps whose times are made up.
func TestTuner(t *testing.T) {
	for _, c := range []struct {
		name          string
		shared, alone [2]time.Duration
		want          [2]bool
	}{
		{"both on all threads", [2]time.Duration{10, 20}, [2]time.Duration{20, 40}, [2]bool{true, true}},
		{"both alone", [2]time.Duration{30, 30}, [2]time.Duration{10, 10}, [2]bool{false, false}},
		{"each its own", [2]time.Duration{10, 30}, [2]time.Duration{40, 10}, [2]bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var u tuner
			u.init(2)
			run := func() (on [2]bool) {
				u.begin()
				for i := range on {
					on[i] = u.on(i)
					d := c.alone[i]
					if on[i] {
						d = c.shared[i]
					}
					if u.measured {
						u.took(i, d*time.Millisecond/10)
						u.began = u.began.Add(-d * time.Millisecond / 10)
					}
				}
				u.end()
				return on
			}
			seen := map[[2]bool]bool{}
			for range warmRuns + 3*sampleRuns {
				seen[run()] = true
			}
			require.True(t, seen[[2]bool{true, true}] && seen[[2]bool{}], "both ways are tried")
			for range 50 {
				require.Equal(t, c.want, run())
			}
			// The machine has changed: what was faster is slower.
			c.shared, c.alone = c.alone, c.shared
			for range tuneAgain {
				run()
			}
			want := [2]bool{!c.want[0], !c.want[1]}
			require.Equal(t, want, run())
		})
	}
}

// TestTuningKeepsResults runs a program through all ways to run it.
func TestTuningKeepsResults(t *testing.T) {
	b := newBed(t)
	k, x := newSketch(300, 300)
	y := k.Do(op.MatMul, k.Do(op.Exp, x), k.constant(300, 300))
	y = k.Reduce(op.Sum, k.Do(op.Tanh, y), false, 0)
	id, _ := k.bind(t, b, y)
	in := put(b, random(3, 300*300), 300, 300)
	var first []float32
	for i := range warmRuns + 3*sampleRuns + 3 {
		out := y
		out.ID = b.id()
		require.NoError(t, b.Stream.(core.Programs).Run(id, []op.TensorID{in.ID}, []op.TensorID{out.ID}))
		got := get[float32](b, out)
		if i == 0 {
			first = got
		}
		require.Equal(t, first, got, "run %d", i)
	}
}
