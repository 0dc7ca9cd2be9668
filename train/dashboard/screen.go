package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/goburn/burn/train"
)

// tick is the message that starts a frame.
type tick time.Time

// screen is the state of the display, a model in the sense of Bubble Tea.
type screen struct {
	o     Options
	inbox *inbox
	width int
	high  int

	story    story
	selected int
	recent   bool // whether the chart shows only the last steps
	now      time.Time
	asked    bool // whether the user has asked to stop
	killed   bool
}

func newScreen(o Options, b *inbox) screen {
	return screen{o: o, inbox: b, width: 80, high: 24, story: story{done: map[train.Split]int{}, pace: map[train.Split]*pace{}}}
}

func next() tea.Cmd { return tea.Tick(frame, func(t time.Time) tea.Msg { return tick(t) }) }

// Init starts the timer of frames.
func (s screen) Init() tea.Cmd { return next() }

// Update handles a message.
func (s screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		s.width, s.high = m.Width, m.Height
	case tick:
		s.now = time.Time(m)
		for _, e := range s.inbox.take() {
			s.story.add(e)
		}
		if s.story.end != nil && !s.o.Stay {
			return s, tea.Quit
		}
		return s, next()
	case tea.KeyPressMsg:
		return s.key(m.String())
	}
	return s, nil
}

func (s screen) key(k string) (tea.Model, tea.Cmd) {
	n := max(len(s.story.metrics), 1)
	switch k {
	case "tab", "right", "l", "down", "j":
		s.selected = (s.selected + 1) % n
	case "shift+tab", "left", "h", "up", "k":
		s.selected = (s.selected + n - 1) % n
	case "f", "r", "space":
		s.recent = !s.recent
	case "q", "esc", "ctrl+c", "enter":
		switch {
		case s.story.end != nil:
			return s, tea.Quit
		case k == "enter" || k == "esc":
		case !s.asked:
			s.asked = true
			call(s.o.Interrupt)
		case k == "ctrl+c":
			s.killed = true
			call(s.o.Kill)
			return s, tea.Quit
		}
	default:
		if len(k) == 1 && k[0] >= '1' && k[0] <= '9' && int(k[0]-'1') < n {
			s.selected = int(k[0] - '1')
		}
	}
	return s, nil
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// View draws the screen.
func (s screen) View() tea.View {
	v := tea.NewView(s.render())
	v.AltScreen = true
	v.WindowTitle = title(&s.story)
	return v
}

func title(s *story) string {
	if s.start.Name == "" {
		return "training"
	}
	return s.start.Name
}
