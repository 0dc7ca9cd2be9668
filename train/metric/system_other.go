//go:build !linux

package metric

import (
	"runtime"
	"runtime/metrics"
	"time"
)

var started = time.Now()

// cpuTimes returns the busy CPU seconds of this process, and the total seconds of all processors since its start. The busy seconds change
// only at garbage collections.
func cpuTimes() (busy, total float64) {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64() - s[1].Value.Float64(), time.Since(started).Seconds() * float64(runtime.NumCPU())
}

func resident() int64 { return goMemory() }
