// Package fakeplugin is a tiny backend for tests of the plugin machinery: f32 full, add, neg and copy over sdk/engine, with faults that
// options select. It must not be used outside tests.
//
// Options: The values of "panic", "hang" and "crash" are numbers of nodes of a stream, from 1: at that node the kernel panics, the stream
// hangs until it is closed, or the process ends with status 7. "slow" is the duration of every node, "slow_write" the duration of every
// Write. "write" = "fail" refuses writes as out of memory. "open" = "fail", "panic" or "hang" do so when the backend is opened. "plain"
// removes the extensions. "hog" is a number of bytes to allocate when the backend is opened. "panic_submit" is the number of the Submit
// with nodes, per stream, that panics. "selective" refuses neg of rank 5, which its capabilities claim. "gate" names a Gate at which every
// node waits, "gate_write" a Gate at which every Write waits.
package fakeplugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// driver is the fake driver. The value of a tensor is its elements.
type driver struct {
	opts    map[string]string
	threads int
}

// New returns the core.Opener of the fake backend.
func New(c core.Config) (core.Backend, error) {
	switch c.Options["open"] {
	case "fail":
		return nil, fmt.Errorf("no such device: %w", core.ErrNotFound)
	case "panic":
		panic("driver fell over")
	case "hang":
		select {}
	}
	if n, err := strconv.Atoi(c.Options["hog"]); err == nil {
		hogged = make([]byte, n)
		for i := 0; i < n; i += 4096 {
			hogged[i] = 1
		}
	}
	d := &driver{opts: c.Options, threads: c.Threads}
	return wrap(engine.New(d), d.opts), nil
}

// hogged is the memory that a backend with the option "hog" allocates.
var hogged []byte

// Info describes two devices; the detail of the first holds the number of threads.
func (d *driver) Info() core.Info {
	return core.Info{Name: "fake", Version: "0.9.1", Vendor: "test", Devices: []core.DeviceInfo{
		{Index: 0, Name: "fake 0", Kind: "npu", Memory: 1 << 30, Detail: fmt.Sprintf("threads %d", d.threads)},
		{Index: 1, Name: "fake 1", Kind: "npu"},
	}}
}

// Open opens one of the two devices.
func (d *driver) Open(context.Context, int) (engine.Device[[]byte], error) {
	return device{d.opts}, nil
}

// Close does nothing.
func (d *driver) Close() error { return nil }

// device is one of the two devices.
type device struct{ opts map[string]string }

// Capabilities claims the four ops on f32.
func (d device) Capabilities() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.SetOf(dtype.F32), Limits: core.Limits{Rank: 8, Bytes: 1 << 30}, Deterministic: true,
		Ops: map[string]core.OpCapability{}, Features: []string{"programs", "memory_stats"}}
	for _, name := range []string{"full", "add", "neg", "copy"} {
		code, ok := op.ByName(name)
		if !ok {
			panic("fake: no op " + name)
		}
		c.Ops[name] = core.Claim(op.Lookup(code), c.Types)
	}
	return c
}

// Upload copies data.
func (d device) Upload(desc op.Desc, data []byte) ([]byte, error) {
	if d.opts["write"] == "fail" {
		return nil, fmt.Errorf("write %v: %w", desc, core.ErrOutOfMemory)
	}
	pass(d.opts["gate_write"])
	if t, err := time.ParseDuration(d.opts["slow_write"]); err == nil {
		time.Sleep(t)
	}
	return append([]byte(nil), data...), nil
}

// Download copies the elements.
func (d device) Download(dst []byte, _ op.Desc, v []byte) error {
	copy(dst, v)
	return nil
}

// Release does nothing.
func (d device) Release([]byte) {}

// OpenQueue opens a queue with the configured faults.
func (d device) OpenQueue() (engine.Queue[[]byte], error) {
	at := func(name string) int { n, _ := strconv.Atoi(d.opts[name]); return n }
	q := &queue{panicAt: at("panic"), hangAt: at("hang"), crashAt: at("crash"), closing: make(chan struct{}), gate: d.opts["gate"]}
	q.slow, _ = time.ParseDuration(d.opts["slow"])
	return q, nil
}

// Close does nothing.
func (d device) Close() {}

// queue executes nodes.
type queue struct {
	panicAt, hangAt, crashAt, ran int
	slow                          time.Duration
	closing                       chan struct{}
	gate                          string
}

// Execute computes a node, or fails as configured.
func (q *queue) Execute(c *engine.Call[[]byte]) error {
	q.ran++
	switch q.ran {
	case q.panicAt:
		panic("kernel fell over")
	case q.hangAt:
		<-q.closing
	case q.crashAt:
		fmt.Fprintln(os.Stderr, "fake: the device is on fire")
		os.Exit(7)
	}
	pass(q.gate)
	if q.slow > 0 {
		time.Sleep(q.slow)
	}
	c.Out[0] = compute(c.Node, c.In)
	return nil
}

// Interrupt ends a hang.
func (q *queue) Interrupt() { close(q.closing) }

// Close does nothing.
func (q *queue) Close() {}

// compute runs one node on its inputs.
func compute(n *op.Node, in [][]byte) []byte {
	out := make([]byte, n.Outputs[0].Bytes())
	get := func(v []byte, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(v[4*i:]))
	}
	for i := range len(out) / 4 {
		var y float32
		switch n.Op.String() {
		case "full":
			y = float32(n.Attrs.Float("value"))
		case "neg":
			y = -get(in[0], i)
		case "copy":
			y = get(in[0], i)
		case "add":
			y = get(in[0], i%max(len(in[0])/4, 1)) + get(in[1], i%max(len(in[1])/4, 1))
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(y))
	}
	return out
}
