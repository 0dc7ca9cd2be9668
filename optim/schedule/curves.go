package schedule

import (
	"math"
	"slices"
)

// Constant returns a scheduler that stays at rate.
func Constant(rate float64) Scheduler { return Curve(func(int) float64 { return rate }).Of() }

// Linear returns a scheduler that goes from first to last in the given number of steps, and stays there.
func Linear(first, last float64, steps int) Scheduler {
	return Curve(func(t int) float64 {
		if t >= steps {
			return last
		}
		return first + (last-first)*float64(t)/float64(steps)
	}).Of()
}

// Exponential returns the schedule rate·gamma^step.
func Exponential(rate, gamma float64) Scheduler {
	return Curve(func(t int) float64 { return rate * math.Pow(gamma, float64(t)) }).Of()
}

// Step returns the schedule rate·gamma^⌊step/every⌋. An every below 1 counts as 1.
func Step(rate, gamma float64, every int) Scheduler {
	return Curve(func(t int) float64 { return rate * math.Pow(gamma, float64(t/max(1, every))) }).Of()
}

// MultiStep returns a scheduler that begins with rate and multiplies it by gamma at each of the given steps.
func MultiStep(rate, gamma float64, at ...int) Scheduler {
	at = slices.Clone(at)
	return Curve(func(t int) float64 {
		passed := 0
		for _, a := range at {
			if a <= t {
				passed++
			}
		}
		return rate * math.Pow(gamma, float64(passed))
	}).Of()
}

// Noam returns the schedule factor/√size · min(1/√step, step/warmup^1.5) with steps counted from 1 (Vaswani et al., Attention is
// all you need, 2017).
func Noam(factor float64, size, warmup int) Scheduler {
	return Curve(func(t int) float64 {
		s := float64(t + 1)
		return factor / math.Sqrt(float64(size)) * min(1/math.Sqrt(s), s/math.Pow(float64(warmup), 1.5))
	}).Of()
}

// half returns (1+cos(π·x))/2, which falls from 1 to 0 along half a wave as x goes from 0 to 1.
func half(x float64) float64 { return (1 + math.Cos(math.Pi*x)) / 2 }

// Cosine returns a scheduler that goes from first to last along half a wave in the given number of steps, and then continues along the
// wave (Loshchilov and Hutter, SGDR, 2017): set the number of steps of the whole training, or let a constant follow by Sequence. A
// number below 1 counts as 1.
func Cosine(first, last float64, steps int) Scheduler {
	steps = max(1, steps)
	return Curve(func(t int) float64 { return last + (first-last)*half(float64(t)/float64(steps)) }).Of()
}

// WarmRestarts returns a scheduler that follows Cosine and begins again after the given number of steps. Each round is factor times as
// long as the previous one. Steps or a factor below 1 count as 1.
func WarmRestarts(first, last float64, steps, factor int) Scheduler {
	steps, factor = max(1, steps), max(1, factor)
	return Curve(func(t int) float64 {
		length := steps
		if factor == 1 {
			t %= steps
		}
		for t >= length {
			t -= length
			length *= factor
		}
		return last + (first-last)*half(float64(t)/float64(length))
	}).Of()
}

// OneCycleConfig holds the settings of OneCycle. Zeros mean PyTorch's defaults.
type OneCycleConfig struct {
	Warmup     float64 // fraction of the steps in which the rate grows; 0 means 0.3
	Divide     float64 // Peak/Divide is the first rate; 0 means 25
	FinalParts float64 // the last rate is the first rate divided by FinalParts; 0 means 1e4
	Linear     bool    // linear phases instead of half waves
	ThreePhase bool    // falls to the first rate in as many steps as it rises, then to the last rate
}

// OneCycle returns a scheduler that goes up to peak and down again in the given number of steps (Smith and Topin, Super-convergence,
// 2018). Later steps keep the last rate.
func OneCycle(peak float64, steps int, c OneCycleConfig) Scheduler {
	set := func(v *float64, def float64) {
		if *v == 0 {
			*v = def
		}
	}
	set(&c.Warmup, 0.3)
	set(&c.Divide, 25)
	set(&c.FinalParts, 1e4)
	steps = max(1, steps)
	first := peak / c.Divide
	last := first / c.FinalParts
	ends, rates := []float64{0, c.Warmup*float64(steps) - 1, float64(steps - 1)}, []float64{first, peak, last}
	if c.ThreePhase {
		ends = []float64{0, c.Warmup*float64(steps) - 1, 2*c.Warmup*float64(steps) - 2, float64(steps - 1)}
		rates = []float64{first, peak, first, last}
	}
	return Curve(func(t int) float64 {
		s := min(float64(t), float64(steps-1))
		for i := 1; i < len(ends); i++ {
			if s > ends[i] && i < len(ends)-1 {
				continue
			}
			if ends[i] == ends[i-1] { // a phase of one step has the rate of its end
				return rates[i]
			}
			x := (s - ends[i-1]) / (ends[i] - ends[i-1])
			if c.Linear {
				return rates[i-1] + (rates[i]-rates[i-1])*x
			}
			return rates[i] + (rates[i-1]-rates[i])*half(x)
		}
		return last
	}).Of()
}
