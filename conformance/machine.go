package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Machine describes the parts of the machine that timings depend on. The program that opens the backend adds further information to Facts,
// such as the clocks of a GPU.
type Machine struct {
	Processor string `json:"processor,omitempty"`
	// MHz contains the least and the greatest clock frequency of the processors at the end of the run; MaxMHz is the limit. 0: unknown.
	MHz    [2]int `json:"mhz,omitzero"`
	MaxMHz int    `json:"max_mhz,omitempty"`
	// Governor is the policy by which the system chooses clocks.
	Governor string `json:"governor,omitempty"`
	// Drivers maps the names of kernel drivers to their versions.
	Drivers map[string]string `json:"drivers,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
}

// machine returns what the operating system reports about the machine. It is empty except on Linux.
func machine() Machine { return machineAt("/") }

func machineAt(root string) Machine {
	m := Machine{Drivers: map[string]string{}}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		return string(text)
	}
	var clocks []int
	for _, l := range strings.Split(read("proc/cpuinfo"), "\n") {
		name, value, _ := strings.Cut(l, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "model name":
			m.Processor = value
		case "cpu MHz":
			if f, err := strconv.ParseFloat(value, 64); err == nil {
				clocks = append(clocks, int(f))
			}
		}
	}
	if len(clocks) > 0 {
		m.MHz = [2]int{slices.Min(clocks), slices.Max(clocks)}
	}
	const scaling = "sys/devices/system/cpu/cpu0/cpufreq/"
	if khz, err := strconv.Atoi(strings.TrimSpace(read(scaling + "cpuinfo_max_freq"))); err == nil {
		m.MaxMHz = khz / 1000
	}
	m.Governor = strings.TrimSpace(read(scaling + "scaling_governor"))
	if first, _, _ := strings.Cut(read("proc/driver/nvidia/version"), "\n"); first != "" {
		m.Drivers["nvidia"] = strings.Join(strings.Fields(first), " ")
	}
	if v := strings.TrimSpace(read("sys/module/amdgpu/version")); v != "" {
		m.Drivers["amdgpu"] = v
	}
	return m
}
