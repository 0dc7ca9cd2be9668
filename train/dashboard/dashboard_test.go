package dashboard

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

var update = flag.Bool("update", false, "write the golden frames")

var zero = time.Unix(1700000000, 0)

var infos = []metric.Info{metric.Loss().Info(), {Name: "accuracy", Unit: "%", Better: metric.Higher}, metric.LearningRate().Info()}

// events returns the events of a run of 4 epochs of 50 training and 10 validation batches, a tenth of a second each, up to a
// number of steps.
func events(steps int) (out []train.Event) {
	at := zero
	s := train.Started{Name: "digits", Device: "builtin:cpu:0", Epochs: 4, Batches: map[train.Split]int{train.Train: 50, train.Valid: 10},
		Metrics: map[train.Split][]metric.Info{train.Train: infos, train.Valid: infos[:2]}, Time: at}
	s.Params.Trained = 12345
	out = append(out, s)
	step := 0
	for epoch := range 4 {
		for _, split := range []train.Split{train.Train, train.Valid} {
			n := s.Batches[split]
			out = append(out, train.EpochStarted{Split: split, Epoch: epoch})
			var loss float64
			for b := range n {
				at = at.Add(100 * time.Millisecond)
				if split == train.Train {
					if step == steps {
						return out
					}
					step++
				}
				loss = 2.3*math.Exp(-float64(step)/60) + 0.05*math.Sin(float64(step))
				if split == train.Valid {
					loss += 0.2
				}
				out = append(out, train.Stepped{Split: split, Epoch: epoch, Batch: b + 1, Batches: n, Step: step, Fresh: true, Time: at,
					Readings: []train.Reading{{Name: "loss", Value: loss, Last: loss}, {Name: "accuracy", Value: 100 - 30*loss, Last: 100 - 30*loss}, {Name: "learning rate", Value: 0.001, Last: 0.001}}[:len(s.Metrics[split])]})
			}
			out = append(out, train.EpochEnded{Record: train.Record{Split: split, Epoch: epoch, Step: step,
				Values: map[string]train.Number{"loss": train.Number(loss), "accuracy": train.Number(100 - 30*loss)}}})
		}
		out = append(out, train.Saved{Path: "/x/step-" + strings.Repeat("0", 7) + "50", Best: epoch == 0})
	}
	return append(out, train.Ended{Reason: train.Completed, Epochs: 4, Step: step, Took: 24 * time.Second})
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

func frames(t *testing.T, s screen, list []train.Event) screen {
	t.Helper()
	for _, e := range list {
		s.inbox.put(e)
	}
	m, _ := s.Update(tick(zero.Add(time.Duration(len(list)) * 100 * time.Millisecond)))
	return m.(screen)
}

func press(t *testing.T, s screen, keys ...tea.KeyPressMsg) (screen, tea.Cmd) {
	t.Helper()
	var cmd tea.Cmd
	for _, k := range keys {
		var m tea.Model
		m, cmd = s.Update(k)
		s = m.(screen)
	}
	return s, cmd
}

func char(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

var (
	tab   = tea.KeyPressMsg{Code: tea.KeyTab}
	back  = tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	ctrlC = tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
)

// golden compares a frame, without colours, and checks that it fits the terminal.
func golden(t *testing.T, name string, s screen) {
	t.Helper()
	frame := ansi.ReplaceAllString(s.View().Content, "")
	lines := strings.Split(frame, "\n")
	require.LessOrEqual(t, len(lines), s.high)
	for i, l := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(l), s.width, l)
		lines[i] = strings.TrimRight(l, " ")
	}
	frame = strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(frame), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), frame)
}

func TestFrames(t *testing.T) {
	s := newScreen(Options{Stay: true}, &inbox{})
	golden(t, "opening", s)
	golden(t, "begun", frames(t, s, events(0)))
	s = frames(t, s, events(130))
	golden(t, "middle", s)
	m, _ := s.Update(tea.WindowSizeMsg{Width: 110, Height: 40})
	golden(t, "large", m.(screen))
	m, _ = s.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	golden(t, "small", m.(screen))
	s, _ = press(t, s, tab, char('f'))
	golden(t, "accuracy", s)
	s, _ = press(t, s, char('q'))
	golden(t, "stopping", s)
	golden(t, "end", frames(t, newScreen(Options{Stay: true}, &inbox{}), events(1000)))
}

func TestSizes(t *testing.T) {
	s := frames(t, newScreen(Options{}, &inbox{}), events(130))
	for w := range 100 {
		for _, h := range []int{0, 1, 2, 5, 9, 16, 30} {
			m, _ := s.Update(tea.WindowSizeMsg{Width: w, Height: h})
			lines := strings.Split(ansi.ReplaceAllString(m.View().Content, ""), "\n")
			require.LessOrEqual(t, len(lines), max(h, 1))
			for _, l := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(l), max(w, 0), "%d x %d", w, h)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	interrupts, kills := 0, 0
	s := frames(t, newScreen(Options{Interrupt: func() { interrupts++ }, Kill: func() { kills++ }}, &inbox{}), events(20))
	s, _ = press(t, s, back)
	require.Equal(t, 2, s.selected)
	s, _ = press(t, s, tab)
	require.Equal(t, 0, s.selected)
	s, _ = press(t, s, char('2'), char('9'))
	require.Equal(t, 1, s.selected)
	s, cmd := press(t, s, char('q'))
	require.Nil(t, cmd)
	require.Equal(t, []int{1, 0}, []int{interrupts, kills})
	s, cmd = press(t, s, char('q')) // not a second request
	require.Nil(t, cmd)
	require.Equal(t, []int{1, 0}, []int{interrupts, kills})
	_, cmd = press(t, s, ctrlC)
	require.Equal(t, []int{1, 1}, []int{interrupts, kills})
	require.Equal(t, tea.QuitMsg{}, cmd())
}

func TestEnd(t *testing.T) {
	in := &inbox{}
	in.put(train.Ended{})
	_, cmd := newScreen(Options{}, in).Update(tick(zero))
	require.Equal(t, tea.QuitMsg{}, cmd())
	in.put(train.Ended{Reason: train.Failed, Err: errors.New("broken")})
	m, _ := newScreen(Options{Stay: true}, in).Update(tick(zero))
	_, cmd = m.Update(char('x'))
	require.Nil(t, cmd)
	_, cmd = m.Update(char('q'))
	require.Equal(t, tea.QuitMsg{}, cmd())
}

// TestResumed starts again before the end of the curves, as after the loss of a backend.
func TestResumed(t *testing.T) {
	list := events(130)
	s := frames(t, newScreen(Options{}, &inbox{}), list)
	start := list[0].(train.Started)
	start.Step, start.Epoch = 100, 2
	for _, e := range list {
		if r, ok := e.(train.EpochEnded); ok && r.Epoch < 2 {
			start.History = append(start.History, r.Record)
		}
	}
	s = frames(t, s, []train.Event{train.Warned{Text: "the backend was lost"}, start})
	loss := s.story.find("loss")
	require.Equal(t, 100.0, loss.all.X[len(loss.all.X)-1])
	require.Len(t, loss.epochs[train.Valid].x, 2)
	require.Contains(t, s.render(), "the backend was lost")
}

// TestProgram runs the whole program on pipes.
func TestProgram(t *testing.T) {
	var out bytes.Buffer
	keys, typed := io.Pipe()
	defer typed.Close()
	d := Start(Options{Output: &out, Input: keys})
	for _, e := range events(1000) {
		d.Event(e)
	}
	require.NoError(t, d.Wait())
	require.NoError(t, d.Close())
	require.NotZero(t, out.Len())
}
