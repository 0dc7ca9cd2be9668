package bench

import (
	"encoding/json"
	"io"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
)

// Format is the version of Report as JSON. It changes when a field changes its meaning or is removed.
const Format = 1

// Report is the JSON output of burn bench.
type Report struct {
	Format      int        `json:"format"`
	Time        time.Time  `json:"time"` // start of the run
	Machine     Machine    `json:"machine"`
	Device      string     `json:"device"` // spec to open the device again
	Backend     string     `json:"backend"`
	Threads     int        `json:"threads"`
	Limits      *Limits    `json:"limits,omitempty"`
	Ops         []Row      `json:"ops,omitempty"`
	Models      []ModelRow `json:"models,omitempty"`
	Interrupted bool       `json:"interrupted,omitempty"` // rows are missing
}

// Machine describes the machine of a run.
type Machine struct {
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`
	Go       string `json:"go"`
}

// NewReport starts a report for a device.
func NewReport(d *core.Place, threads int) *Report {
	info := d.Backend.Info()
	r := &Report{Format: Format, Time: time.Now().UTC().Truncate(time.Second), Device: d.Spec, Backend: info.Name + " " + info.Version, Threads: threads,
		Machine: Machine{Platform: core.Platform(), CPUs: runtime.NumCPU(), Go: runtime.Version()}}
	if d.Index < len(info.Devices) {
		r.Backend += ": " + info.Devices[d.Index].Name
	}
	return r
}

// Host reports whether a device is a processor of this machine, so that the limits measured here apply to it.
func Host(d *core.Place) bool {
	info := d.Backend.Info()
	return (d.Transport == "builtin" || d.Transport == "process" || d.Transport == "shared") && d.Index < len(info.Devices) && info.Devices[d.Index].Kind == "cpu"
}

// Write writes the report as indented JSON.
func (r *Report) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
