package bench

import (
	"math"
	"slices"
	"time"
)

// Stats sums up the samples of one contestant. The zero Stats is of no samples.
type Stats struct {
	Runs   int           `json:"runs"` // calls, of which a sample may hold several
	Median time.Duration `json:"median_ns"`
	Best   time.Duration `json:"best_ns"`
	Low    time.Duration `json:"low_ns"`  // first quartile
	High   time.Duration `json:"high_ns"` // third quartile
}

// Summarize sorts samples, each the time of one call, and sums them up.
func Summarize(samples []time.Duration) Stats {
	if len(samples) == 0 {
		return Stats{}
	}
	slices.Sort(samples)
	return Stats{Runs: len(samples), Median: quantile(samples, 0.5), Best: samples[0], Low: quantile(samples, 0.25), High: quantile(samples, 0.75)}
}

// quantile interpolates between the samples next to q.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + time.Duration((at-float64(i))*float64(sorted[i+1]-sorted[i]))
}

// Spread returns the distance between the quartiles relative to the median: the half of the samples lies within it.
func (s Stats) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return float64(s.High-s.Low) / float64(s.Median)
}

// GeoMean returns the geometric mean of positive numbers, NaN of none.
func GeoMean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}

// Rate returns n per second in billions.
func Rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds() / 1e9
}
