package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// CallersRow compares goroutines that run one session at the same time with a single goroutine that runs it alone.
type CallersRow struct {
	Callers int `json:"callers"`
	// Alone and Together are runs per second: of one caller, which uses all threads, and of all callers together.
	Alone    float64 `json:"alone"`
	Together float64 `json:"together"`
	// MemoryAlone and Memory are the bytes in use on the device after the runs; 0 if the device does not report them.
	MemoryAlone int64 `json:"memory_alone"`
	Memory      int64 `json:"memory"`
}

// crowd is a contestant: several concurrent callers of one session.
type crowd struct {
	p    *Model
	n    int
	want map[string]onnxtest.Value

	mu      sync.Mutex
	calls   []time.Duration // of all callers together
	elapsed time.Duration
	memory  int64
}

// Turn runs the session from all callers for about d. Every result must be bitwise equal to the first.
func (c *crowd) Turn(ctx context.Context, d time.Duration) error {
	var all sync.WaitGroup
	errs := make([]error, c.n)
	begin := time.Now()
	end := begin.Add(d)
	for i := range c.n {
		all.Go(func() {
			for errs[i] == nil && time.Now().Before(end) {
				start := time.Now()
				got, err := c.p.Once(ctx)
				took := time.Since(start)
				if err == nil {
					err = same(got, c.want)
				}
				errs[i] = err
				c.mu.Lock()
				c.calls = append(c.calls, took)
				c.mu.Unlock()
			}
		})
	}
	all.Wait()
	c.elapsed += time.Since(begin)
	if m, ok := c.p.dev.Memory(); ok {
		c.memory = max(c.memory, m.InUse)
	}
	return errors.Join(errs...)
}

func same(got, want map[string]onnxtest.Value) error {
	exact := &onnxtest.Tolerance{}
	for name, w := range want {
		if m := onnxtest.CompareValues(name, got[name], w, exact); m != nil {
			return fmt.Errorf("a run beside others differs from a run alone: %w", m)
		}
	}
	return nil
}

// Stats returns the statistics of the calls of all callers.
func (c *crowd) Stats() Stats { return Summarize(c.calls) }

func (c *crowd) perSecond() float64 { return float64(len(c.calls)) / c.elapsed.Seconds() }

// MeasureCallers runs a model, loaded from path, from one goroutine and from n concurrent ones, in turns, for about total each.
// All runs must produce the same bytes.
func MeasureCallers(ctx context.Context, d *core.Place, m *onnx.Model, path string, batch, n int, total time.Duration) (CallersRow, error) {
	feed, _, err := Inputs(m, path, batch)
	if err != nil {
		return CallersRow{}, err
	}
	p, err := OpenModel(ctx, d, m, feed)
	if err != nil {
		return CallersRow{}, err
	}
	defer p.Close()
	want, err := p.Once(ctx)
	if err != nil {
		return CallersRow{}, err
	}
	alone, together := &crowd{p: p, n: 1, want: want}, &crowd{p: p, n: n, want: want}
	if err := alone.Turn(ctx, total/10); err != nil { // before the other callers use memory
		return CallersRow{}, err
	}
	memory := alone.memory
	if err := Race(ctx, total, pause, alone, together); err != nil {
		return CallersRow{}, err
	}
	return CallersRow{Callers: n, Alone: alone.perSecond(), Together: together.perSecond(), MemoryAlone: memory, Memory: together.memory}, nil
}
