package fusion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/window"
)

// The text of programs is JSON: a head, then one object for each program. It contains the original nodes, but nothing compiled and nothing
// specific to a device.

type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

var textHead = head{"burn fusion", 1}

// Limits of a text.
const (
	maxText  = 64 << 20
	maxTexts = 4096
)

type planText struct {
	Program *program.Program `json:"program"`         // the original nodes; its outputs are the tensors that outlive the window
	Given   []op.TensorID    `json:"given,omitempty"` // inputs that are donated
	Apart   []int            `json:"apart,omitempty"` // sources that run separately, with any attributes
}

// Save writes the programs of all open devices as text, device by device, each with the most recently used program last.
func (r *Report) Save(w io.Writer) error {
	r.mu.Lock()
	var plans []*plan
	for _, d := range r.devices {
		plans = append(plans, d.cache.kept()...)
	}
	r.mu.Unlock()
	e := json.NewEncoder(w)
	if err := e.Encode(textHead); err != nil {
		return fmt.Errorf("fusion: save: %w", err)
	}
	for _, p := range plans {
		if err := e.Encode(p.text()); err != nil {
			return fmt.Errorf("fusion: save %s: %w", p.name, err)
		}
	}
	return nil
}

// kept returns the plans that may run, the most recently used one last.
func (c *cache) kept() []*plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ps []*plan
	for e := c.order.Back(); e != nil; e = e.Prev() {
		if p := e.Value.(*plan); p.broken == "" {
			ps = append(ps, p)
		}
	}
	return ps
}

func (p *plan) text() planText {
	whole := p.Program("", nil)
	t := planText{Program: whole.Program}
	for i, given := range whole.Donated {
		if given {
			t.Given = append(t.Given, t.Program.Inputs[i].ID)
		}
	}
	for at, is := range p.lifted {
		if is {
			t.Apart = append(t.Apart, at)
		}
	}
	return t
}

// Load reads and checks the text that Save wrote. Devices that are opened later with r know these programs, and run them at first
// sight. A text that is damaged, or of another format, is an error, and changes nothing. Programs with ops that this build does
// not have, or has in another version, are left out.
func (r *Report) Load(from io.Reader) error {
	d := json.NewDecoder(io.LimitReader(from, maxText))
	var h head
	if err := d.Decode(&h); err != nil || h != textHead {
		return fmt.Errorf("fusion: load: got the head %+v, want %+v: %w", h, textHead, errors.Join(err, core.ErrProtocol))
	}
	var plans []*plan
	for i := 0; ; i++ {
		var t planText
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && i >= maxTexts {
			err = fmt.Errorf("more than %d programs: %w", maxTexts, core.ErrProtocol)
		}
		var p *plan
		if err == nil {
			p, err = t.plan()
		}
		switch {
		case errors.Is(err, core.ErrUnsupported):
		case err != nil:
			return fmt.Errorf("fusion: load: program %d: %w", i, errors.Join(err, core.ErrProtocol))
		default:
			plans = append(plans, p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = append(r.loaded, plans...)
	r.loaded = r.loaded[max(0, len(r.loaded)-maxTexts):]
	return nil
}

// plan checks the text of a program and returns its plan.
func (t *planText) plan() (*plan, error) {
	q := t.Program
	if q == nil || len(q.Nodes) == 0 || len(q.Nodes) > maxNodes || len(q.Consts) > 0 {
		return nil, fmt.Errorf("want 1 to %d nodes, and no constants", maxNodes)
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	w, err := window.Record(q, t.Given)
	if err != nil {
		return nil, err
	}
	var lifted []bool
	for _, i := range t.Apart {
		if i < 0 || i >= len(w.Nodes) || !w.IsSource(i) {
			return nil, fmt.Errorf("node %d is apart, want a source", i)
		}
		if lifted == nil {
			lifted = make([]bool, len(w.Nodes))
		}
		lifted[i] = true
	}
	return newPlan(w, lifted), nil
}
