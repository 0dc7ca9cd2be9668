package bench

import (
	"context"
	"time"

	"github.com/goburn/burn/core"
)

// pause is the time in which spinning threads go to sleep before the next contestant begins.
const pause = 5 * time.Millisecond

// Row is the result of one case on one device.
type Row struct {
	Name string `json:"name"`
	Set  string `json:"set"`
	Op   string `json:"op"`
	Stats
	Native bool    `json:"native"` // the device has the op itself
	Bytes  int64   `json:"bytes"`  // of operands and results
	Flops  int64   `json:"flops,omitempty"`
	GBps   float64 `json:"gbps"`
	GFlops float64 `json:"gflops,omitempty"`
	// Limit names the machine limit, which is measured in turns with the case; LimitRate is its best rate in GFLOP/s or GB/s, and
	// OfLimit the fraction of it that the case reached at its best. Empty for devices that are not a processor of this machine.
	Limit     string  `json:"limit,omitempty"`
	LimitRate float64 `json:"limit_rate,omitempty"`
	OfLimit   float64 `json:"of_limit,omitempty"`
	Error     string  `json:"error,omitempty"` // why there are no figures
}

// balance is roughly the number of floating-point operations of a core in the time in which it reads one byte from its last cache.
const balance = 4

// LimitOf returns the probe that a case is compared with: the peak of its type for contractions that are bound by computation,
// else the smallest copy of CopySizes that has at least as many bytes as the case, or the largest one.
func LimitOf(c Case, threads int) (*Probe, error) {
	bytes, err := c.Bytes()
	if err != nil {
		return nil, err
	}
	if c.Flops() > balance*bytes {
		if p, ok := Compute(c.In[0].DType, threads); ok {
			return p, nil
		}
	}
	return Copy(atLeast(bytes), threads), nil
}

// atLeast returns the first copying working set of n or more, or the last.
func atLeast(n int64) int {
	for _, size := range CopySizes {
		if int64(size) >= n {
			return size
		}
	}
	return CopySizes[len(CopySizes)-1]
}

// MeasureOp times a case on a device for about total. If threads is above 0, the limit takes turns with it. An error of the case
// alone is recorded in the row.
func MeasureOp(ctx context.Context, d *core.Place, c Case, threads int, total time.Duration) (Row, error) {
	r := Row{Name: c.Name, Set: c.Set, Op: c.Op.String()}
	err := func() error {
		o, err := OpenOp(ctx, d, c)
		if err != nil {
			return err
		}
		defer o.Close()
		if threads <= 0 {
			if err := Race(ctx, total, pause, o); err != nil {
				return err
			}
			return r.Fill(o, nil)
		}
		p, err := LimitOf(c, threads)
		if err != nil {
			return err
		}
		if err := Race(ctx, total, pause, o, p); err != nil {
			return err
		}
		return r.Fill(o, p)
	}()
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r, nil
}

// Fill sets the figures of a case that has run, and of its limit, which may be nil.
func (r *Row) Fill(o *Op, p *Probe) error {
	bytes, err := o.Case.Bytes()
	if err != nil {
		return err
	}
	r.Stats, r.Native, r.Bytes, r.Flops = o.Stats(), o.Native(), bytes, o.Case.Flops()
	r.GBps, r.GFlops = Rate(r.Bytes, r.Median), Rate(r.Flops, r.Median)
	if p != nil {
		r.Limit, r.LimitRate = p.Name, p.Limit()
		work := r.Bytes
		if p.Level != "" {
			work = r.Flops
		}
		r.OfLimit = Rate(work, r.Best) / r.LimitRate
	}
	return nil
}
