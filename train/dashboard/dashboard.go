// Package dashboard shows training in a terminal: progress, the remaining time, and a live plot of each metric. It is a listener of package
// train, and must not influence training. Programs that do not import it do not link a terminal library.
package dashboard

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/mattn/go-isatty"

	"github.com/goburn/burn/train"
)

// Options are the settings of a Dashboard.
type Options struct {
	Output io.Writer // a terminal; nil for standard output
	Input  io.Reader // keys; nil for standard input
	// Interrupt is called at the key q or the first Ctrl-C. It should cancel the context of Run, which ends training after the
	// current step.
	Interrupt func()
	// Kill is called at the second Ctrl-C. It should cancel Learner.Kill, which ends training at once.
	Kill func()
	// Stay keeps the last frame after the end of training until one of the keys q, Esc, Enter or Ctrl-C is pressed.
	Stay bool
}

// Usable reports whether f is a terminal that can show a dashboard. It returns false if the environment requests plain lines: if the
// environment variable CI is not empty, or TERM is dumb.
func Usable(f *os.File) bool {
	return os.Getenv("CI") == "" && os.Getenv("TERM") != "dumb" && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// frame is the time between two frames.
const frame = 100 * time.Millisecond

// Dashboard is a listener that draws in its own goroutine. It owns the terminal until it ends.
type Dashboard struct {
	program *tea.Program
	inbox   *inbox
	done    chan error
}

// inbox holds events until the next frame.
type inbox struct {
	mu     sync.Mutex
	events []train.Event
}

func (b *inbox) put(e train.Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
}

func (b *inbox) take() []train.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events
	b.events = nil
	return e
}

// Start starts a dashboard, which takes over the terminal until it ends.
func Start(o Options) *Dashboard {
	d := &Dashboard{inbox: &inbox{}, done: make(chan error, 1)}
	options := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithFPS(20)}
	if o.Output != nil {
		options = append(options, tea.WithOutput(o.Output))
	}
	if o.Input != nil {
		options = append(options, tea.WithInput(o.Input))
	}
	d.program = tea.NewProgram(newScreen(o, d.inbox), options...)
	go func() {
		_, err := d.program.Run()
		d.done <- err
	}()
	return d
}

// Event stores e, which the next frame shows.
func (d *Dashboard) Event(e train.Event) { d.inbox.put(e) }

// Wait returns when the dashboard has ended and restored the terminal: after training, or with Options.Stay after one of its keys
// is pressed.
func (d *Dashboard) Wait() error {
	err := <-d.done
	d.done <- err
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Close ends the dashboard at once, and restores the terminal.
func (d *Dashboard) Close() error {
	d.program.Quit()
	return d.Wait()
}
