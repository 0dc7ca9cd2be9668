package bench

import (
	"math"
	"slices"
	"time"
)

// Stats summarises the samples of one contestant. The zero Stats has no samples.
type Stats struct {
	Runs   int           `json:"runs"` // calls; a sample may contain several
	Median time.Duration `json:"median_ns"`
	Best   time.Duration `json:"best_ns"`
	Low    time.Duration `json:"low_ns"`  // first quartile
	High   time.Duration `json:"high_ns"` // third quartile
}

// Summarize sorts samples, each the time of one call, and computes their statistics.
func Summarize(samples []time.Duration) Stats {
	if len(samples) == 0 {
		return Stats{}
	}
	slices.Sort(samples)
	return Stats{Runs: len(samples), Median: quantile(samples, 0.5), Best: samples[0], Low: quantile(samples, 0.25), High: quantile(samples, 0.75)}
}

// quantile returns quantile q, in [0, 1], interpolated linearly between the neighbouring samples.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + time.Duration((at-float64(i))*float64(sorted[i+1]-sorted[i]))
}

// Spread returns the interquartile range relative to the median.
func (s Stats) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return float64(s.High-s.Low) / float64(s.Median)
}

// GeoMean returns the geometric mean of positive numbers, NaN if there are none.
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
