// Package costs remembers how long programs and transfers take. A Table contains the measured times of programs on devices, and of links
// between devices. The caller chooses the names: the name of a device includes whatever its times depend on, such as driver and version.
// Repeated measurements are smoothed, so that a single disturbed one changes little. A table is kept in a file from one process to the next
// (Load, Save). Program and Link measure.
//
// It must not decide anything: core/program/place computes the cost of a placement, and decorators/router chooses one.
//
// Times are in seconds.
package costs

import (
	"sync"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// smoothing is the weight of a new time among the old ones.
const smoothing = 0.1

// Table holds the times that were measured so far. It is safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	units   map[string]map[string]float64 // by device and unit
	links   map[string]map[string]Line    // by devices: from, to
	rate    map[string][2]float64         // by device: sum of measured times, and of sizes
	changed bool                          // since it was saved
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{units: map[string]map[string]float64{}, links: map[string]map[string]Line{}, rate: map[string][2]float64{}}
}

// Line is the time of a transfer as a line: the time of an empty tensor, and the time of each byte.
type Line [2]float64

// Time returns the transfer time of a tensor of the given size in bytes.
func (l Line) Time(bytes int64) float64 { return l[0] + l[1]*float64(bytes) }

// Unit returns the time of a unit on a device.
func (t *Table) Unit(device, unit string) (seconds float64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seconds, ok = t.units[device][unit]
	return seconds, ok
}

// Learn adds a measured time of a unit, and returns the smoothed mean of its times. size, if above 0, is the size of the unit: see Size and
// Guess.
func (t *Table) Learn(device, unit string, seconds float64, size int64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.units[device] == nil {
		t.units[device] = map[string]float64{}
	}
	if old, ok := t.units[device][unit]; ok {
		seconds = old + smoothing*(seconds-old)
	} else if r := t.rate[device]; size > 0 {
		t.rate[device] = [2]float64{r[0] + seconds, r[1] + float64(size)}
	}
	t.units[device][unit], t.changed = seconds, true
	return seconds
}

// Guess estimates the time of a unit that was not measured, from its size and the times of other units that this process has measured on
// the device. Without such times, it assumes 1 ns for each unit of size.
func (t *Table) Guess(device string, size int64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rate[device]; r[1] > 0 {
		return float64(size) * r[0] / r[1]
	}
	return float64(size) * 1e-9
}

// Link returns the transfer time of a link.
func (t *Table) Link(from, to string) (l Line, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok = t.links[from][to]
	return l, ok
}

// SetLink sets the transfer time of a link.
func (t *Table) SetLink(from, to string, l Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.links[from] == nil {
		t.links[from] = map[string]Line{}
	}
	t.links[from][to], t.changed = l, true
}

// Size returns the size of a program: flops, plus the bytes of its inputs, constants and outputs, plus 1. Guess assumes that times are
// proportional to sizes.
func Size(p *program.Program, flops int64) int64 {
	size := flops + 1
	for _, list := range [][]op.Desc{p.Inputs, p.Consts, p.OutputDescs()} {
		for _, d := range list {
			size += int64(d.Bytes())
		}
	}
	return size
}
