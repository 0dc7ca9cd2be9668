package dashboard

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/goburn/burn/train"
)

// The styles use colours from the palette of the terminal.
var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	chosen   = lipgloss.NewStyle().Reverse(true).Bold(true)
	trainInk = lipgloss.NewStyle().Foreground(lipgloss.Color("12"))
	validInk = lipgloss.NewStyle().Foreground(lipgloss.Color("11"))
	alarm    = lipgloss.NewStyle().Foreground(lipgloss.Color("9"))
)

const (
	trainLine = iota
	validLine
)

// render returns the frame, which is no wider and no higher than the terminal.
func (s screen) render() string {
	if s.width < 1 || s.high < 1 {
		return ""
	}
	st := &s.story
	if st.start.Epochs == 0 {
		return s.fit([]string{"", " opening the device ..."})
	}
	head := append(s.header(), "")
	foot := append(s.table(), "")
	foot = append(foot, s.log()...)
	foot = append(foot, s.help())
	tabs := s.tabs()
	room := s.high - len(head) - len(foot) - len(tabs) - 1
	if room < 4 { // a low terminal shows no messages and no table
		foot = []string{s.help()}
		room = s.high - len(head) - len(foot) - len(tabs) - 1
	}
	lines := append(head, tabs...)
	if room >= 3 {
		lines = append(lines, s.chart(room)...)
		lines = append(lines, "")
	}
	return s.fit(append(lines, foot...))
}

// fit cuts lines to the size of the terminal.
func (s screen) fit(lines []string) string {
	if len(lines) > s.high {
		lines = append(lines[:s.high-1:s.high-1], lines[len(lines)-1])
	}
	cut := lipgloss.NewStyle().MaxWidth(s.width)
	for i, l := range lines {
		if lipgloss.Width(l) > s.width {
			lines[i] = cut.Render(l)
		}
	}
	return strings.Join(lines, "\n")
}

func bar(share float64, w int) string {
	n := int(share * float64(w))
	return trainInk.Render(strings.Repeat("█", n)) + faint.Render(strings.Repeat("░", w-n))
}

func (s screen) header() []string {
	st := &s.story
	share, left := st.progress()
	state := fmt.Sprintf("epoch %d/%d · step %d", min(st.epoch+1, st.start.Epochs), st.start.Epochs, st.step)
	var took time.Duration
	switch {
	case st.end != nil:
		took = st.end.Took
		state += " · " + string(st.end.Reason)
		if st.end.Reason == train.Completed {
			share = 1
		}
		left = 0
	case !s.now.IsZero() && !st.start.Time.IsZero():
		took = max(s.now.Sub(st.start.Time), 0)
	}
	state += " · " + train.Span(took)
	if left > 0 {
		state += " · " + train.Span(left) + " left"
	}
	if s.asked && st.end == nil {
		state += " · " + alarm.Render("stopping after this step")
	}
	w := max(min(s.width-24, 60), 5)
	done, all := st.done[st.split], st.start.Batches[st.split]
	part := 0.0
	if all > 0 {
		part = min(float64(done)/float64(all), 1)
	}
	return []string{
		" " + bold.Render(title(st)) + faint.Render("  "+st.start.Device+fmt.Sprintf("  %d parameters", st.start.Params.Trained)),
		" " + state,
		fmt.Sprintf(" %-6s %s %3.0f %%", "all", bar(share, w), 100*share),
		fmt.Sprintf(" %-6s %s %d/%d", string(st.split), bar(part, w), done, all),
	}
}

// tabs returns the names of the metrics, with the selected one marked, wrapped to the width of the terminal.
func (s screen) tabs() []string {
	var lines []string
	line, width := " ", 1
	for i, m := range s.story.metrics {
		name := " " + m.Name + " "
		if width+len(name)+1 > s.width && width > 1 {
			lines = append(lines, line)
			line, width = " ", 1
		}
		style := faint
		if i == s.selected {
			style = chosen
		}
		line += style.Render(name) + " "
		width += len(name) + 1
	}
	return append(lines, line)
}

func (s screen) chart(h int) []string {
	if s.selected >= len(s.story.metrics) {
		return make([]string, h)
	}
	m := s.story.metrics[s.selected]
	batches := series{m.all.X, m.all.Y}
	from := 0.0
	if s.recent {
		batches = m.last
		if n := len(batches.x); n > recentSteps {
			batches = series{batches.x[n-recentSteps:], batches.y[n-recentSteps:]}
		}
		if len(batches.x) > 0 {
			from = batches.x[0]
		}
	}
	lines := []inked{{batches, trainLine}}
	if len(batches.x) == 0 {
		lines = nil
		if e := m.epochs[train.Train]; e != nil {
			lines = append(lines, inked{*e, trainLine})
		}
	}
	if e := m.epochs[train.Valid]; e != nil {
		i := 0
		for i < len(e.x) && e.x[i] < from {
			i++
		}
		lines = append(lines, inked{series{e.x[i:], e.y[i:]}, validLine})
	}
	span := "full history"
	if s.recent {
		span = "recent steps"
	}
	key := fmt.Sprintf("%*s %s", gutter, "", m.Name)
	if m.Unit != "" {
		key += " in " + m.Unit
	}
	key += faint.Render(" · "+span+" · ") + trainInk.Render("train") + " " + validInk.Render("valid")
	return append([]string{key}, plot(s.width-1, h-1, lines, trainInk, validInk)...)
}

func (s screen) table() []string {
	rows := []string{faint.Render(fmt.Sprintf(" %-22s %16s %16s %16s", "", "train", "valid", "best"))}
	for i, m := range s.story.metrics {
		if i >= 8 {
			rows = append(rows, faint.Render(fmt.Sprintf(" and %d more", len(s.story.metrics)-i)))
			break
		}
		cell := func(split train.Split) string {
			if v, ok := m.now[split]; ok && v == v {
				return train.Format(v, m.Unit)
			}
			return "-"
		}
		best := "-"
		if m.has && !m.System {
			best = train.Format(m.best, m.Unit)
		}
		rows = append(rows, fmt.Sprintf(" %-22s %16s %16s %16s", m.Name, cell(train.Train), cell(train.Valid), best))
	}
	return rows
}

// log returns the three most recent messages.
func (s screen) log() []string {
	m := s.story.messages
	if len(m) > 3 {
		m = m[len(m)-3:]
	}
	var out []string
	for _, l := range m {
		style := faint
		if strings.HasPrefix(l, "warning") || strings.Contains(l, "failed") {
			style = alarm
		}
		out = append(out, style.Render(" "+strings.ReplaceAll(l, "\n", " ")))
	}
	return out
}

func (s screen) help() string {
	switch {
	case s.story.end != nil:
		return faint.Render(" tab: next metric · f: full or recent · q: close")
	case s.asked:
		return faint.Render(" tab: next metric · f: full or recent · ctrl+c: stop at once, unsaved")
	}
	return faint.Render(" tab: next metric · f: full or recent · q: stop after this step and save")
}
