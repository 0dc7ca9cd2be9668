package fusion

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Stats counts what the decorator did on one device.
type Stats struct {
	Device    string           // "cpu:0"
	Windows   int64            // windows that have ended
	Hits      int64            // windows that ran as a program
	Misses    int64            // windows whose nodes were submitted unchanged
	Fused     int64            // nodes of hits
	Passed    int64            // nodes of misses
	Compiled  int64            // programs that were compiled and defined
	Refused   int64            // programs that could not be compiled or defined, or that failed when they ran
	Panics    int64            // panics while a program was compiled
	Programs  int              // programs in the cache
	Bytes     int64            // memory of the structures in the cache
	Evictions int64            // programs that were evicted for others
	Unfused   map[string]int64 // misses by their reason
}

func (s *Stats) reason(why string, nodes int) {
	if len(s.Unfused) >= 64 && s.Unfused[why] == 0 {
		why = "other"
	}
	s.Unfused[why]++
	s.Passed += int64(nodes)
}

// count changes the statistics.
func (c *cache) count(f func(*Stats)) {
	c.counts.Lock()
	defer c.counts.Unlock()
	f(&c.stats)
}

// snapshot returns a copy of the statistics.
func (c *cache) snapshot() Stats {
	c.counts.Lock()
	defer c.counts.Unlock()
	s := c.stats
	s.Unfused = maps.Clone(s.Unfused)
	return s
}

// Report collects statistics and programs of all devices behind the decorators that were made with it (see With), and transfers programs
// from one process to the next. The zero Report is ready to use. It is safe for concurrent use.
type Report struct {
	mu      sync.Mutex
	devices []*device
	closed  []Stats // the devices that were closed last
	loaded  []*plan // from Load; devices begin with them
}

const maxClosed = 64

func (r *Report) enter(d *device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.devices = append(r.devices, d)
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	for _, p := range r.loaded {
		q := *p
		d.cache.enter(&q)
	}
}

func (r *Report) leave(d *device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.devices, d); i >= 0 {
		r.devices = slices.Delete(r.devices, i, i+1)
		r.closed = append(r.closed, d.cache.snapshot())
		r.closed = r.closed[max(0, len(r.closed)-maxClosed):]
	}
}

// Stats returns the statistics of every device: first of the closed devices, then of the open ones.
func (r *Report) Stats() []Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.closed)
	for _, d := range r.devices {
		all = append(all, d.cache.snapshot())
	}
	return all
}

// Explain writes the statistics of every device, with the reasons why windows did not run as programs. For each open device, it also lists
// the programs and how often they ran.
func (r *Report) Explain(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Stats() {
		fmt.Fprintf(&b, "%s: %d windows, %d ran as programs (%d nodes), %d passed (%d nodes); %d programs made, %d kept (%d bytes), %d given up, %d refused\n",
			s.Device, s.Windows, s.Hits, s.Fused, s.Misses, s.Passed, s.Compiled, s.Programs, s.Bytes, s.Evictions, s.Refused)
		for _, why := range slices.Sorted(maps.Keys(s.Unfused)) {
			fmt.Fprintf(&b, "  passed %d times: %s\n", s.Unfused[why], why)
		}
	}
	r.mu.Lock()
	open := slices.Clone(r.devices)
	r.mu.Unlock()
	for _, d := range open {
		d.cache.explain(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// explain lists the plans of a device.
func (c *cache) explain(b *strings.Builder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*plan)
		fmt.Fprintf(b, "%s, %s: %d runs", c.stats.Device, p.name, p.runs)
		switch {
		case p.broken != "":
			fmt.Fprintf(b, "; not run any more: %s\n", p.broken)
		case !p.ready:
			fmt.Fprint(b, "; loaded\n")
		default:
			given := 0
			for _, d := range p.program.Donated {
				if d {
					given++
				}
			}
			fmt.Fprintf(b, ", %d inputs (%d donated), %d outputs, %d sources apart\n", len(p.program.Inputs), given, len(p.program.Outputs), len(p.program.Apart))
		}
	}
}
