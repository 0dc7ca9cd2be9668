package bench

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/peak"
)

// Limits are the peak rates of this machine's processor on a number of threads, measured with loops that do nothing else.
type Limits struct {
	Threads int            `json:"threads"`
	Flops   []ComputeLimit `json:"flops"`
	Copy    []CopyLimit    `json:"copy"`
}

// ComputeLimit is a rate of multiplications and additions.
type ComputeLimit struct {
	Type   string  `json:"type"`
	Level  string  `json:"level"` // instruction set level
	GFlops float64 `json:"gflops"`
}

// CopyLimit is a rate of copying; bytes read and written both count.
type CopyLimit struct {
	Bytes int     `json:"bytes"` // source and destination together, over all threads
	GBps  float64 `json:"gbps"`
}

// CopySizes are the working sets that copying is measured at: within each cache level and beyond. The last working set is a copy of 64 MiB.
var CopySizes = []int{16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 128 << 20}

// computeTypes are the types whose peak is measured.
var computeTypes = []dtype.DType{dtype.F32, dtype.F64, dtype.I8}

// Measure measures each limit for about d and returns the best rates.
func Measure(ctx context.Context, threads int, d time.Duration) (Limits, error) {
	threads = Threads(threads)
	l := Limits{Threads: threads}
	var probes []*Probe
	for _, t := range computeTypes {
		if p, ok := Compute(t, threads); ok {
			probes = append(probes, p)
		}
	}
	compute := len(probes)
	for _, n := range CopySizes {
		probes = append(probes, Copy(n, threads))
	}
	for range Rounds {
		for _, p := range probes {
			if err := p.Turn(ctx, d/Rounds); err != nil {
				return l, err
			}
		}
	}
	for i, p := range probes {
		if i < compute {
			l.Flops = append(l.Flops, ComputeLimit{p.Type, p.Level, p.Limit()})
		} else {
			l.Copy = append(l.Copy, CopyLimit{CopySizes[i-compute], p.Limit()})
		}
	}
	return l, nil
}

// Threads returns the number of threads for the configured number n: n, or GOMAXPROCS if n is 0 or less.
func Threads(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// Probe is a Contestant that measures a machine limit, for comparison with a case.
type Probe struct {
	sampler
	Name  string // "f32 peak", "copy of 64 KiB"
	Type  string // type of the operands, for computation
	Level string // instruction set level, for computation
	Work  int64  // work of one call: flops, or bytes read and written
	run   func(calls int)
}

// Turn runs the loop for about d.
func (p *Probe) Turn(ctx context.Context, d time.Duration) error {
	return p.turn(ctx, d, func(calls int) error {
		p.run(calls)
		return nil
	})
}

// Limit returns the best rate seen, in GFLOP/s or GB/s.
func (p *Probe) Limit() float64 { return Rate(p.Work, p.Stats().Best) }

// Compute returns the probe of multiply-adds on operands of type d; ok is false if there is none.
func Compute(d dtype.DType, threads int) (p *Probe, ok bool) {
	l, ok := peak.Of(d)
	if !ok {
		return nil, false
	}
	const turns = 1024
	return &Probe{sampler: sampler{atLeast: probeSample}, Name: d.String() + " peak", Type: d.String(), Level: l.Name, Work: l.Flops * turns * int64(threads), run: func(calls int) {
		spread(threads, func(int) { l.Run(turns * calls) })
	}}, true
}

// Copy returns the probe of copying with a working set of that many bytes, source and destination together. Each thread copies
// its part.
func Copy(bytes, threads int) *Probe {
	part := max(64, bytes/2/threads)
	src, dst := make([]byte, part*threads), make([]byte, part*threads)
	for i := range src {
		src[i] = byte(i) // allocates the pages
	}
	return &Probe{sampler: sampler{atLeast: probeSample}, Name: "copy of " + Size(bytes/2), Work: int64(2 * part * threads), run: func(calls int) {
		spread(threads, func(i int) {
			for range calls {
				copy(dst[i*part:(i+1)*part], src[i*part:(i+1)*part])
			}
		})
	}}
}

// spread runs f on that many goroutines concurrently.
func spread(threads int, f func(i int)) {
	if threads == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
