package dashboard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

// drawn returns the dots of the rows of a plot, from the left of the plot area.
func drawn(rows []string, skip int) map[[2]int]bool {
	dots := map[[2]int]bool{}
	for y, row := range rows {
		for x, r := range []rune(ansi.ReplaceAllString(row, ""))[skip:] {
			if r < 0x2800 || r > 0x28ff {
				continue
			}
			for down := range 4 {
				for across := range 2 {
					if byte(r-0x2800)&bits[down][across] != 0 {
						dots[[2]int{2*x + across, 4*y + down}] = true
					}
				}
			}
		}
	}
	return dots
}

// A line has a dot in each column, or row if it is steep, from end to end, and none farther than half a dot from the straight line.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const w, h = 12, 6
		x0, y0, x1, y1 := r.IntN(2*w), r.IntN(4*h), r.IntN(2*w), r.IntN(4*h)
		c := newCanvas(w, h, trainInk)
		c.line(x0, y0, x1, y1, 0)
		var rows []string
		for y := range h {
			rows = append(rows, c.row(y))
		}
		dots := drawn(rows, 0)
		long := max(abs(x1-x0), abs(y1-y0))
		require.Len(t, dots, long+1)
		require.True(t, dots[[2]int{x0, y0}] && dots[[2]int{x1, y1}])
		for d := range dots {
			across := float64((d[0]-x0)*(y1-y0)-(d[1]-y0)*(x1-x0)) / float64(max(long, 1)) // distance along the shorter axis
			require.LessOrEqual(t, math.Abs(across), 0.5, "%v on %d,%d to %d,%d", d, x0, y0, x1, y1)
		}
	}
	c := newCanvas(2, 1, trainInk)
	c.line(-5, -5, 20, 20, 0) // dots outside the canvas are not drawn
	require.Equal(t, map[[2]int]bool{{0, 0}: true, {1, 1}: true, {2, 2}: true, {3, 3}: true}, drawn([]string{c.row(0)}, 0))
}

// Plots of any size have the rows and columns that they were asked for, labels of their extremes, and a dot for each extreme; values that
// are no numbers are left out.
func TestPlots(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, y := range map[string][]float64{"rising": {1, 2, 3}, "one": {5}, "flat": {2, 2}, "holes": {nan, 1, inf, 3, -inf}, "nothing": {nan}, "none": nil, "vast": {-math.MaxFloat64, math.MaxFloat64}, "tiny": {0, 5e-324}} {
		for w := 1; w < 40; w += 7 {
			for h := 1; h < 9; h++ {
				s := series{}
				for i, v := range y {
					s.add(float64(i), v)
				}
				rows := plot(w, h, []inked{{s, 0}}, trainInk)
				require.Len(t, rows, h, "%s in %d by %d", name, w, h)
				for _, row := range rows {
					require.LessOrEqual(t, utf8.RuneCountInString(ansi.ReplaceAllString(row, "")), max(w, gutter+15), "%s in %d by %d", name, w, h)
				}
				if h < 3 || w < 30 {
					continue
				}
				switch name {
				case "nothing", "none":
					require.Contains(t, strings.Join(rows, ""), "no values yet")
				case "rising":
					require.Contains(t, rows[0], "3 │")
					require.Contains(t, rows[h-2], "1 │")
					require.Contains(t, rows[h-1], "step 2")
					dots := drawn(rows[:h-1], gutter+1)
					c := 2 * (w - gutter - 1)
					require.True(t, dots[[2]int{0, 4*(h-1) - 1}] && dots[[2]int{c - 1, 0}], "from the lower left to the upper right")
				}
			}
		}
	}
}

// Labels have four digits where they fit the gutter beside the plot.
func TestAxisLabels(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.23456: "1.235", -0.000012345: "-1.23e-05", -123456789: "-1.23e+08", 1e308: "1e+308", -1.2345e-300: "-1.2e-300", 123456: "1.235e+05", -0.5: "-0.5"} {
		require.Equal(t, want, axisLabel(v))
		require.Less(t, len(want), gutter)
	}
}

// A story keeps the last messages in order and forgets older ones; durations are means over batches.
func TestStory(t *testing.T) {
	s := newScreen(Options{}, &inbox{}).story
	s.add(train.Started{Epochs: 1, Batches: map[train.Split]int{train.Train: 100}, Metrics: map[train.Split][]metric.Info{train.Train: infos}})
	for i := range 70 {
		s.add(train.Warned{Text: fmt.Sprintf("%d %% of it", i)})
	}
	require.Len(t, s.messages, 50)
	require.Equal(t, "warning: 69 % of it", s.messages[49])
	require.Equal(t, "warning: 20 % of it", s.messages[0])
	require.Equal(t, 70, s.warnings)
	for i := range 5 {
		s.add(train.Stepped{Split: train.Train, Batch: i + 1, Step: i + 1, Time: zero.Add(time.Duration(i*i) * time.Second)})
	}
	require.Equal(t, 4*time.Second, s.pace[train.Train].mean(), "16 seconds over four distances")
	require.Zero(t, s.pace[train.Valid].mean())
	s.add(train.EpochStarted{Split: train.Train, Epoch: 1})
	s.add(train.Stepped{Split: train.Train, Batch: 1, Step: 6, Time: zero.Add(time.Hour)})
	require.Equal(t, 4*time.Second, s.pace[train.Train].mean(), "the time between epochs is not a batch")
}
