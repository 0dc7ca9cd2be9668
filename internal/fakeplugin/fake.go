// Package fakeplugin is a tiny backend for tests of the plugin machinery: f32 full, add, neg and copy, computed one after another
// by a goroutine for each stream, with programs and memory figures, and with faults that are switched on by options.
//
// Options: "panic_submit", "panic", "hang", "crash" name the N-th node of a stream (from 1) at which Submit panics, the
// kernel panics, the stream hangs until it is closed, or the process ends with status 7. "slow" is a duration that every
// node takes. "slow_write" is one that every Write takes, and "write" = "fail" refuses them as out of memory. "open" = "fail", "panic" or "hang" do so when the
// backend is opened. "plain" leaves the optional interfaces out. "hog" is a number of bytes to take when the backend is opened. "exact" and "batches" declare the features of those names.
package fakeplugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Backend is the fake.
type Backend struct {
	opts     map[string]string
	threads  int
	asked    atomic.Int64
	mu       sync.Mutex
	streams  []*Stream
	isClosed bool
}

var _ core.Backend = (*Backend)(nil)

// New is its core.Opener.
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
	return &Backend{opts: c.Options, threads: c.Threads}, nil
}

// hogged is memory that a backend with the option "hog" takes.
var hogged []byte

// Info has two devices; the detail of the first holds the number of threads.
func (b *Backend) Info() core.Info {
	return core.Info{Name: "fake", Version: "0.9.1", Vendor: "test", Devices: []core.DeviceInfo{
		{Index: 0, Name: "fake 0", Kind: "npu", Memory: 1 << 30, Detail: fmt.Sprintf("threads %d", b.threads)},
		{Index: 1, Name: "fake 1", Kind: "npu"},
	}}
}

// Capabilities claims the four ops on f32.
func (b *Backend) Capabilities() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.SetOf(dtype.F32), MaxRank: 8, MaxBytes: 1 << 30, Deterministic: true,
		Ops: map[string]core.OpCapability{}}
	for _, name := range []string{"full", "add", "neg", "copy"} {
		code, ok := op.ByName(name)
		if !ok {
			panic("fake: no op " + name)
		}
		c.Ops[name] = core.OpCapability{Version: op.Lookup(code).Version, Types: c.Types}
	}
	if b.opts["plain"] == "" {
		c.Features = append(c.Features, "programs", "memory_stats")
	}
	if b.opts["exact"] != "" {
		c.Features = append(c.Features, "exact_capabilities")
	}
	if b.opts["batches"] != "" {
		c.Features = append(c.Features, "batches")
	}
	return c
}

// Supports refuses, beyond the document, neg of rank 5.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error {
	b.asked.Add(1)
	if n.Op.String() == "neg" && len(in[0].Shape) == 5 {
		return fmt.Errorf("neg of rank 5: %w", core.ErrUnsupported)
	}
	return b.Capabilities().Check(n, in)
}

// Asked is how often Supports was called.
func (b *Backend) Asked() int64 { return b.asked.Load() }

// OpenStream opens a stream on one of the two devices.
func (b *Backend) OpenStream(_ context.Context, device int) (core.Stream, error) {
	if device < 0 || device > 1 {
		return nil, fmt.Errorf("device %d: %w", device, core.ErrNotFound)
	}
	at := func(name string) int { n, _ := strconv.Atoi(b.opts[name]); return n }
	s := &Stream{b: b, panicSubmit: at("panic_submit"), panicAt: at("panic"), hangAt: at("hang"), crashAt: at("crash"),
		values: map[op.TensorID]value{}, programs: map[core.ProgramID]prog{}, closing: make(chan struct{})}
	s.slow, _ = time.ParseDuration(b.opts["slow"])
	s.cond = sync.NewCond(&s.mu)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed {
		return nil, core.ErrClosed
	}
	b.streams = append(b.streams, s)
	go s.work()
	if b.opts["plain"] != "" {
		return struct{ core.Stream }{s}, nil
	}
	return s, nil
}

// Close closes all streams.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed {
		return core.ErrClosed
	}
	b.isClosed = true
	for _, s := range b.streams {
		_ = s.Close()
	}
	return nil
}

// value is a tensor, or the error it was poisoned with.
type value struct {
	op.Desc
	data []byte
	err  error
}

func crash() {
	fmt.Fprintln(os.Stderr, "fake: the device is on fire")
	os.Exit(7)
}

// compute runs one node on its inputs.
func compute(n *op.Node, in []value) []byte {
	out := make([]byte, n.Outputs[0].Bytes())
	get := func(v value, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(v.data[4*i:]))
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
			y = get(in[0], i%max(len(in[0].data)/4, 1)) + get(in[1], i%max(len(in[1].data)/4, 1))
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(y))
	}
	return out
}
