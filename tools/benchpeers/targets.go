package main

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/internal/bench"
)

// target is a line of the table of targets.
type target struct {
	what, want, got string
	reached         bool
	threads         int
}

// verdict returns "yes" or "no" for whether the target was reached, or "undecided" if the processors were shared.
func (t target) verdict(r *Result) string {
	switch {
	case t.threads > 1 && crowded(r, t.threads):
		return "undecided"
	case t.reached:
		return "yes"
	}
	return "no"
}

// crowded reports whether the threads shared processors with other work: their common peak is less than three quarters of the
// peak of one thread times their number. Ratios of such a run are not meaningful.
func crowded(r *Result, threads int) bool {
	rate := func(n int) float64 {
		for _, l := range r.Limits {
			if l.Threads == n && len(l.Flops) > 0 {
				return l.Flops[0].GFlops
			}
		}
		return 0
	}
	return rate(1) > 0 && rate(threads) > 0 && rate(threads) < 0.75*float64(threads)*rate(1)
}

// floor is the target of the speed, relative to a peer, in the worst case.
const floor = 0.7

// targets compares the figures with the targets. It omits lines whose figures were not measured.
func targets(r *Result) []target {
	var t []target
	for _, want := range []struct {
		name    string
		threads int
		part    float64
	}{{"matmul/square/1024x1024x1024", 1, 0.85}, {"matmul/square/1024x1024x1024", 2, 0.80}, {"matmul/square/256x256x256", 1, 0.70}, {"matmul/square/256x256x256", 2, 0.70}} {
		for _, o := range r.Ops {
			if o.Name == want.name && o.Threads == want.threads && o.LimitRate > 0 {
				t = append(t, target{fmt.Sprintf("%s, %s, of the f32 peak", o.Name, threadsText(o.Threads)), fmt.Sprintf("≥ %.0f %%", 100*want.part),
					fmt.Sprintf("%.0f %%", 100*o.OfLimit), o.OfLimit >= want.part, o.Threads})
			}
		}
	}
	for _, n := range threadCounts(r) {
		var list []speed
		for _, m := range r.Models {
			if m.Threads == n && m.ORT.Median > 0 {
				list = append(list, speed{m.Name, ratio(m.ORT.Median, m.Builtin.Median), ratio(m.ORT.Best, m.Builtin.Best)})
			}
		}
		t = append(t, against("models against ONNX Runtime", n, 1, list)...)
	}
	for _, n := range threadCounts(r) {
		var list []speed
		for _, o := range r.Ops {
			if o.Threads == n {
				list = append(list, speed{o.Name, o.Speed(), o.BestSpeed()})
			}
		}
		t = append(t, against("ops against PyTorch", n, 1.2, list)...)
	}
	for _, n := range threadCounts(r) {
		bound := memoryBound(r, n)
		if len(bound) == 0 {
			continue
		}
		worst := slices.MinFunc(bound, func(a, b OpResult) int { return order(a.OfLimit, b.OfLimit) })
		fit := 0
		for _, o := range bound {
			if o.OfLimit >= memoryPart {
				fit++
			}
		}
		t = append(t, target{fmt.Sprintf("memory-bound ops at 64 MiB, %s, of copying", threadsText(n)), fmt.Sprintf("all ≥ %.0f %%", 100*memoryPart),
			fmt.Sprintf("%d of %d; worst %.0f %%, %s", fit, len(bound), 100*worst.OfLimit, worst.Name), fit == len(bound), n})
	}
	return t
}

// memoryPart is the fraction of the copy bandwidth that memory-bound ops should reach.
const memoryPart = 0.85

// memoryBound returns the memory-bound ops that move at least 64 MiB, which exceed the caches.
func memoryBound(r *Result, threads int) []OpResult {
	var list []OpResult
	for _, o := range r.Ops {
		if o.Threads == threads && o.Memory && o.Bytes >= 64<<20 && o.LimitRate > 0 {
			list = append(list, o)
		}
	}
	return list
}

// speed is a speed relative to a peer, computed from medians and from the best samples.
type speed struct {
	name         string
	median, best float64
}

// against returns two lines, for the geometric mean of the speeds and for the worst case. Each contains the value from medians,
// followed by the value from the best samples.
func against(what string, threads int, mean float64, list []speed) []target {
	what += ", " + threadsText(threads)
	if len(list) == 0 {
		return nil
	}
	var medians, bests []float64
	below := 0
	for _, s := range list {
		medians, bests = append(medians, s.median), append(bests, s.best)
		if s.median < floor {
			below++
		}
	}
	low := slices.MinFunc(list, func(a, b speed) int { return order(a.median, b.median) })
	g := bench.GeoMean(medians)
	return []target{
		{what + ", geometric mean of speeds", fmt.Sprintf("≥ %.1f", mean), fmt.Sprintf("%.2f (%.2f of the best)", g, bench.GeoMean(bests)), g >= mean, threads},
		{what + ", worst", fmt.Sprintf("≥ %.1f", floor), fmt.Sprintf("%.2f (%.2f), %s; %d of %d below", low.median, low.best, low.name, below, len(list)), low.median >= floor, threads},
	}
}

func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// threadCounts returns the measured numbers of threads, in order.
func threadCounts(r *Result) []int {
	var ns []int
	for _, o := range r.Ops {
		ns = append(ns, o.Threads)
	}
	for _, m := range r.Models {
		ns = append(ns, m.Threads)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
