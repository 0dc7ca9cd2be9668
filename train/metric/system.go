package metric

import (
	"math"
	"runtime"
	"time"

	"github.com/goburn/burn/tensor"
)

// system is a metric that needs nothing of a step's tensors.
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

// Speed returns how many items a second are worked off, since the start of the epoch.
func Speed() Metric { return &speed{} }

func (*speed) Info() Info                      { return Info{Name: "speed", Unit: "items/s", Better: Higher, System: true} }
func (*speed) Measure(Output) []*tensor.Tensor { return nil }
func (m *speed) Update(s Sample) {
	m.Sum += float64(s.Items)
	m.Weight += s.Took.Seconds()
	m.last = ratio(float64(s.Items), s.Took.Seconds())
}

// LearningRate returns the learning rate of the last step.
func LearningRate() Metric {
	return newSystem("learning rate", "", func(s Sample, _ float64) float64 { return s.Rate })
}

// every is how often the system is asked; a value between is the last one.
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

// CPU returns how busy the processors are, in percent of all of them: the whole machine's on Linux, so that plugins count, else this
// process's.
func CPU() Metric {
	busy, total := cpuTimes()
	return sampled("cpu use", "%", func(Sample) float64 {
		b, t := cpuTimes()
		use := 100 * ratio(b-busy, t-total)
		busy, total = b, t
		return use
	})
}

// Memory is what this process holds of the machine's memory, in MiB.
func Memory() Metric {
	return sampled("memory", "MiB", func(Sample) float64 { return float64(resident()) / (1 << 20) })
}

// goMemory is what the Go runtime holds from the system.
func goMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// DeviceMemory is what tensors hold of the device's memory, in MiB; NaN where the backend does not report it.
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
