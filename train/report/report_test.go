package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

func play(r *Report) {
	infos := []metric.Info{metric.Loss().Info(), {Name: "acc<uracy>", Unit: "%", Better: metric.Higher}, metric.LearningRate().Info()}
	s := train.Started{Name: "digits & more", Device: "cpu", Epochs: 2, Batches: map[train.Split]int{train.Train: 3, train.Valid: 1},
		Metrics: map[train.Split][]metric.Info{train.Train: infos, train.Valid: infos[:2]}}
	r.Event(s)
	step := 0
	for epoch := range 2 {
		for range 3 {
			step++
			v := 1 / float64(step)
			r.Event(train.Stepped{Split: train.Train, Step: step, Fresh: true, Readings: []train.Reading{{Name: "loss", Last: v}, {Name: "acc<uracy>", Last: 50}, {Name: "learning rate", Last: 0.1}}})
		}
		for k, split := range []train.Split{train.Train, train.Valid} {
			values := map[string]train.Number{"loss": train.Number(0.5 + float64(epoch-k)/10), "acc<uracy>": train.Number(math.NaN())}
			r.Event(train.EpochEnded{Record: train.Record{Split: split, Epoch: epoch, Step: step, Values: values}})
		}
	}
	r.Event(train.Warned{Text: "the <backend> was lost"})
	r.Event(train.Ended{Reason: train.Completed, Epochs: 2, Step: 6, Took: 90 * time.Second, Err: errors.New("no \"error\""), Time: time.Unix(1700000000, 0)})
}

func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	r := New(path)
	play(r)
	require.NoError(t, r.Err())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	html := string(b)
	for _, want := range []string{"<title>digits &amp; more</title>", "acc&lt;uracy&gt; (%)", "the &lt;backend&gt; was lost", "1m30s", "2023-11-14 22:13:20 UTC", "<td>completed</td>"} {
		require.Contains(t, html, want)
	}
	require.NotContains(t, html, "<backend>")
	require.NotRegexp(t, `(src|href)=`, html, "needs nothing else")
	// Every chart is well-formed XML whose points are on the canvas.
	charts := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(html, -1)
	require.Len(t, charts, 3)
	for _, c := range charts {
		require.NotContains(t, c, "NaN")
		d := xml.NewDecoder(strings.NewReader(c))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else {
				require.NoError(t, err)
			}
		}
	}
	// By hand: steps 1 to 6 span 494 pixels from 56; losses from 1/6 to 1 span 222 pixels from 10.
	require.Contains(t, charts[0], `<polyline class="batch" points="56.0,10.0 154.8,143.2 253.6,187.6 352.4,209.8 451.2,223.1 550.0,232.0"/>`)
	require.Contains(t, charts[0], `<circle class="valid" cx="253.6" cy="169.8" r="3"><title>valid 0.4, step 3</title></circle>`)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".report-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestTest evaluates after training has ended.
func TestTest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	r := New(path)
	play(r)
	r.Event(train.EpochEnded{Record: train.Record{Split: train.Test, Values: map[string]train.Number{"loss": 0.125}}})
	require.NoError(t, r.Err())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), "<h2>Test</h2>")
	require.Contains(t, string(b), "<td>loss</td><td>0.125</td>")
}

func TestUnwritable(t *testing.T) {
	r := New(filepath.Join(t.TempDir(), "none", "report.html"))
	play(r)
	require.ErrorContains(t, r.Err(), "report: ")
}

func TestFlatAndHuge(t *testing.T) {
	for _, y := range [][]float64{{0, 0}, {5}, {-math.MaxFloat64, math.MaxFloat64}, {1e-320, 2e-320}} {
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64(i)
		}
		p, ok := draw("t", "", []drawn{{"train", x, y}})
		require.True(t, ok)
		require.NotContains(t, p.Lines[0].Points, "NaN")
		require.NotContains(t, p.Lines[0].Points, "Inf")
	}
	_, ok := draw("t", "", nil)
	require.False(t, ok)
}
