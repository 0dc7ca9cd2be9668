package metric

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// cpuTimes returns the busy and the total ticks of all processors since boot, from /proc/stat.
func cpuTimes() (busy, total float64) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(string(line))
	for i, f := range fields {
		if i == 0 || i > 8 { // guest time, after the eighth, is part of user time
			continue
		}
		v, _ := strconv.ParseFloat(f, 64)
		total += v
		if i != 4 && i != 5 { // idle, waiting
			busy += v
		}
	}
	return busy, total
}

// resident returns the size of the resident set in bytes.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		if f := strings.Fields(string(data)); len(f) > 1 {
			if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	return goMemory()
}
