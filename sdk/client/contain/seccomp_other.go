//go:build linux && !amd64 && !arm64

package contain

import "runtime"

// filter enforces nothing: there is no list of system calls for this architecture.
func filter(r *Rules, l *landlock) Report {
	why := "there is no list of system calls for " + runtime.GOARCH
	network := Measure{Network, r.Network || l.network, "over TCP"}
	if !l.network {
		network.Detail = why
	}
	return Report{network, {SystemCalls, false, why}}
}
