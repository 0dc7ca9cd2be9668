package core

import "runtime"

// Info describes a backend.
type Info struct {
	Name    string // "cpu", "cuda"; decorators print what they wrap: "fusion<cuda>"
	Version string // semantic version of the backend
	Vendor  string
	Devices []DeviceInfo
}

// DeviceInfo describes one device of a backend.
type DeviceInfo struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`   // as reported by the hardware
	Kind   string `json:"kind"`   // "cpu", "gpu", "npu", ...
	Memory int64  `json:"memory"` // bytes, 0 when unknown
	// Detail is further information: threads, instruction sets, driver version.
	Detail string `json:"detail,omitempty"`
}

// Platform returns the os/arch pair that plugins are built for: "linux/amd64".
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
