package fakeplugin

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// Gate holds up fakes in this process. Its name is the value of the options "gate" and "gate_write". All methods may be called from any
// number of goroutines at once.
type Gate struct {
	name            string
	reached, opened chan struct{}
	once            [2]sync.Once
}

var (
	gates sync.Map // *Gate by name
	made  atomic.Int64
)

// NewGate returns a gate that is closed.
func NewGate() *Gate {
	g := &Gate{name: strconv.FormatInt(made.Add(1), 10), reached: make(chan struct{}), opened: make(chan struct{})}
	gates.Store(g.name, g)
	return g
}

// Name returns the value for options.
func (g *Gate) Name() string { return g.name }

// Reached returns a channel that is closed when something waits at the gate, or has passed it.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets everything pass, from now on.
func (g *Gate) Open() {
	g.once[1].Do(func() {
		gates.Delete(g.name)
		close(g.opened)
	})
}

// pass waits until the gate of a name is open. Other names are no gates.
func pass(name string) {
	if found, ok := gates.Load(name); ok {
		g := found.(*Gate)
		g.once[0].Do(func() { close(g.reached) })
		<-g.opened
	}
}
