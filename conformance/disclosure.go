package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// The files of a report package with the measurements of a run.
const (
	AccuracyFile = "accuracy.json" // []Accuracy
	TimingsFile  = "timings.json"  // of Perf
)

// Disclosure contains the facts of a report that are not verdicts: skipped cases, how the device computes, and the machine.
type Disclosure struct {
	Asked   int              `json:"asked"`  // cases that were selected
	Device  int              `json:"device"` // index of the device under test
	Devices []DeviceDocument `json:"devices,omitempty"`
	Holes   []Hole           `json:"holes,omitempty"`
	Modes   []Mode           `json:"modes,omitempty"`
	Machine Machine          `json:"machine"`
}

// DeviceDocument is a device of the backend with its own capabilities.
type DeviceDocument struct {
	Index        int           `json:"index"`
	Name         string        `json:"name"`
	Kind         string        `json:"kind"`
	Memory       int64         `json:"memory,omitempty"`
	Detail       string        `json:"detail,omitempty"` // text of the backend, such as the name of its driver
	Capabilities *capabilities `json:"capabilities,omitempty"`
	Error        string        `json:"error,omitempty"` // reason why it did not open
}

// Hole counts the cases of a profile that were skipped for one reason. A verdict of pass does not show that they were skipped. Cases that
// have nothing to check on the device are not counted.
type Hole struct {
	Profile Profile `json:"profile"`
	Reason  string  `json:"reason"`
	Cases   int     `json:"cases"`
}

// holes lists the holes of a profile, the largest first.
func (r *Report) holes(p Profile) []Hole {
	counts := map[string]int{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Status == Skipped && !x.Moot && (p == All || slices.Contains(x.Profiles, p)) {
			counts[x.Reason]++
		}
	}
	var l []Hole
	for reason, n := range counts {
		l = append(l, Hole{p, reason, n})
	}
	slices.SortFunc(l, func(a, b Hole) int { return cmp.Or(b.Cases-a.Cases, cmp.Compare(a.Reason, b.Reason)) })
	return l
}

// maxHoles is the greatest number of reasons that are printed with a verdict. The report package lists all.
const maxHoles = 6

// holeLines returns lines that list the holes of a profile, for its verdict.
func (r *Report) holeLines(p ProfileResult) []string {
	var lines []string
	all := r.holes(p.Profile)
	for i, h := range all {
		if i == maxHoles {
			rest := 0
			for _, h := range all[i:] {
				rest += h.Cases
			}
			lines = append(lines, fmt.Sprintf("%d not tested: %d other reasons", rest, len(all)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%d not tested: %s", h.Cases, h.Reason))
	}
	return lines
}

// Disclosure returns the facts of the report that are not verdicts.
func (r *Report) Disclosure() Disclosure {
	d := Disclosure{Asked: len(r.asked), Device: r.Options.Device, Devices: r.devices, Modes: r.Modes, Machine: r.Machine}
	for _, p := range Profiles() {
		if p != All { // All is the union of the others
			d.Holes = append(d.Holes, r.holes(p)...)
		}
	}
	return d
}

// missed returns the cases that were selected and have no result, in order.
func (r *Report) missed() []string {
	done := map[string]bool{}
	for i := range r.Results {
		done[r.Results[i].ID] = true
	}
	var l []string
	for _, id := range r.asked {
		if !done[id] {
			l = append(l, id)
		}
	}
	return l
}

// describe records the document of every device and measures the modes of the one under test. If a query or
// a measurement fails, describe omits its result, because cases report failures.
func (s *session) describe(ctx context.Context) {
	r := s.report
	r.Accuracy, r.Machine = s.accuracy.list(), machine()
	if s.options.Run != "" && r.Options.Profile != Timed { // only some cases were selected
		return
	}
	documents := make(chan []DeviceDocument, 1)
	err := s.attempt(ctx, contract("devices", func(ctx context.Context, q *queue) error {
		documents <- q.documents(ctx)
		return nil
	}))
	if err == nil {
		r.devices = <-documents
	}
	if s.options.Run != "" {
		return
	}
	modes := make(chan []Mode, 1)
	err = s.attempt(ctx, contract("modes", func(ctx context.Context, q *queue) error {
		l, err := measureModes(ctx, q)
		modes <- l
		return err
	}))
	if err == nil {
		r.Modes = <-modes
	}
}

// documents returns the document of every device of the backend. It opens the devices in turn.
func (q *queue) documents(ctx context.Context) []DeviceDocument {
	var l []DeviceDocument
	for _, i := range q.backend.Info().Devices {
		d := DeviceDocument{Index: i.Index, Name: i.Name, Kind: i.Kind, Memory: i.Memory, Detail: i.Detail}
		dev := q.dev
		if i.Index != q.options.Device {
			var err error
			if dev, err = q.backend.Open(ctx, i.Index); err != nil {
				d.Error = err.Error()
				l = append(l, d)
				continue
			}
		}
		c := capabilitiesOf(dev.Capabilities())
		d.Capabilities = &c
		if dev != q.dev {
			_ = dev.Close() // it was only queried
		}
		l = append(l, d)
	}
	return l
}

// timing is the form of a Timing in TimingsFile. Times are in microseconds.
type timing struct {
	Op       string  `json:"op"`
	Type     string  `json:"type"`
	Node     string  `json:"node,omitempty"`
	Median   float64 `json:"median_us,omitempty"`
	Least    float64 `json:"least_us,omitempty"`
	Greatest float64 `json:"greatest_us,omitempty"`
	Rounds   int     `json:"rounds,omitempty"`
	Nodes    int     `json:"nodes,omitempty"`
	Bytes    int64   `json:"bytes,omitempty"`
	Flops    int64   `json:"flops,omitempty"`
	Checked  bool    `json:"checked"`
	Error    string  `json:"error,omitempty"`
}

// disclosed adds the files with the measurements to the files of a package.
func (r *Report) disclosed(files map[string][]byte) error {
	if len(r.Accuracy) > 0 {
		if err := asJSON(files, AccuracyFile, r.Accuracy); err != nil {
			return err
		}
	}
	if len(r.Timings) == 0 {
		return nil
	}
	var l []timing
	for _, t := range r.Timings {
		x := timing{Op: t.Op, Type: t.Type.String(), Node: t.Node, Median: float64(t.Median.Nanoseconds()) / 1e3, Least: float64(t.Least.Nanoseconds()) / 1e3,
			Greatest: float64(t.Greatest.Nanoseconds()) / 1e3, Rounds: t.Rounds, Nodes: t.Nodes, Bytes: t.Bytes, Flops: t.Flops, Checked: t.Checked}
		if t.Err != nil {
			x.Error = t.Err.Error()
		}
		l = append(l, x)
	}
	return asJSON(files, TimingsFile, l)
}

func asJSON(files map[string][]byte, name string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	files[name] = b.Bytes()
	return nil
}
