package metric

import (
	"math"
	"runtime"
	"time"

	"github.com/goburn/burn/tensor"
)

// system is a metric that does not depend on the tensors of a step.
type system struct {
	info Info
	now  float64
	read func(s Sample, was float64) float64
}

func newSystem(name, unit string, read func(s Sample, was float64) float64) Metric {
	return &system{Info{Name: name, Unit: unit, System: true}, math.NaN(), read}
}

func (m *system) Info() Info                    { return m.info }
func (*system) Measure(Output) []*tensor.Tensor { return nil }
func (m *system) Update(s Sample)               { m.now = m.read(s, m.now) }
func (m *system) Value() float64                { return m.now }
func (m *system) Reset()                        { m.now = math.NaN() }

type speed struct{ Mean }

// Speed returns a metric: the number of items per second since the start of the epoch.
func Speed() Metric { return &speed{} }

func (*speed) Info() Info                      { return Info{Name: "speed", Unit: "items/s", Better: Higher, System: true} }
func (*speed) Measure(Output) []*tensor.Tensor { return nil }
func (m *speed) Update(s Sample) {
	m.Sum += float64(s.Items)
	m.Weight += s.Took.Seconds()
	m.last = ratio(float64(s.Items), s.Took.Seconds())
}

// LearningRate returns a metric: the learning rate of the last step.
func LearningRate() Metric {
	return newSystem("learning rate", "", func(s Sample, _ float64) float64 { return s.Rate })
}

// every is the least interval between system calls; in between, metrics repeat the last value.
const every = 500 * time.Millisecond

func sampled(name, unit string, ask func(s Sample) float64) Metric {
	var last time.Time
	return newSystem(name, unit, func(s Sample, was float64) float64 {
		if now := time.Now(); math.IsNaN(was) || now.Sub(last) >= every {
			last = now
			return ask(s)
		}
		return was
	})
}

// CPU returns a metric: the CPU usage in percent of all processors. On Linux it is the usage of the whole machine, which includes
// plugins; elsewhere it is the usage of this process.
func CPU() Metric {
	busy, total := cpuTimes()
	return sampled("cpu use", "%", func(Sample) float64 {
		b, t := cpuTimes()
		use := 100 * ratio(b-busy, t-total)
		busy, total = b, t
		return use
	})
}

// Memory returns a metric: the memory of this process in MiB. On Linux it is the resident memory, elsewhere the memory that the
// Go runtime has obtained from the system.
func Memory() Metric {
	return sampled("memory", "MiB", func(Sample) float64 { return float64(resident()) / (1 << 20) })
}

// goMemory returns the memory that the Go runtime has obtained from the system.
func goMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// DeviceMemory returns a metric: the device memory in use in MiB, NaN if the backend does not report it.
func DeviceMemory() Metric {
	return sampled("device memory", "MiB", func(s Sample) float64 {
		if s.Device != nil {
			if m, ok := s.Device.Memory(); ok {
				return float64(m.InUse) / (1 << 20)
			}
		}
		return math.NaN()
	})
}
