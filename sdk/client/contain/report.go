package contain

import "slices"

// The measures of a Report.
const (
	Privileges  = "privileges"   // no capabilities, and no way to gain any by executing another program
	Files       = "files"        // which files may be read, written and executed
	Devices     = "devices"      // which devices may be used
	Network     = "network"      // which sockets may be opened
	SystemCalls = "system calls" // which system calls are refused
	Signals     = "signals"      // which processes may be signaled
	Children    = "children"     // how processes that the plugin starts are ended with it
	Bounds      = "limits"       // limits of memory, processes and files
)

// Measure is one kind of rule and whether it is in force.
type Measure struct {
	Name    string `json:"name"`
	InForce bool   `json:"in_force"`
	// Detail describes the rule, or says why there is no rule.
	Detail string `json:"detail"`
}

// Report lists the measures for one process.
type Report []Measure

// Missing returns the measures that are not in force, among the measures that protect resources of others: privileges, files, devices,
// network and system calls.
func (r Report) Missing() []Measure {
	var missing []Measure
	for _, m := range r {
		if !m.InForce && slices.Contains([]string{Privileges, Files, Devices, Network, SystemCalls}, m.Name) {
			missing = append(missing, m)
		}
	}
	return missing
}

// Off returns the report of a process without rules. why is the reason.
func Off(why string) Report {
	var r Report
	for _, name := range []string{Privileges, Files, Devices, Network, SystemCalls, Signals} {
		r = append(r, Measure{name, false, why})
	}
	return r
}
