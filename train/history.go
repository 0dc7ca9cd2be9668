package train

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goburn/burn/train/metric"
)

// Number is a float64 that can be encoded in JSON even if it is not finite.
type Number = metric.Number

// Record holds the metrics of a split at the end of an epoch.
type Record struct {
	Split   Split             `json:"split"`
	Epoch   int               `json:"epoch"` // from 0
	Step    int               `json:"step"`
	Values  map[string]Number `json:"values"`
	Seconds float64           `json:"seconds"` // duration of the split in this process
}

// History is the list of records of a run, in order.
type History []Record

// Series returns the values of a metric by epoch.
func (h History) Series(split Split, name string) (epochs []int, values []float64) {
	for _, r := range h {
		if v, ok := r.Values[name]; ok && r.Split == split {
			epochs, values = append(epochs, r.Epoch), append(values, float64(v))
		}
	}
	return epochs, values
}

// Watch names a metric of a split on which a decision depends. The zero value is the loss in validation.
type Watch struct {
	Split  Split  // Valid if empty
	Metric string // "loss" if empty
}

func (w Watch) fill() Watch {
	if w.Split == "" {
		w.Split = Valid
	}
	if w.Metric == "" {
		w.Metric = "loss"
	}
	return w
}

// in returns w with its defaults filled in. validation reports whether there is validation; without it the default split is
// Train.
func (w Watch) in(validation bool) Watch {
	if w.Split == "" && !validation {
		w.Split = Train
	}
	return w.fill()
}

// String returns the split and the metric, such as "valid loss".
func (w Watch) String() string {
	w = w.fill()
	return fmt.Sprintf("%s %s", w.Split, w.Metric)
}

// Best returns the first record with the best value of w in the direction d. It returns false if all values are NaN or there are
// none.
func (h History) Best(w Watch, d metric.Direction) (Record, bool) {
	w = w.fill()
	var best Record
	found := false
	for _, r := range h {
		v, ok := r.Values[w.Metric]
		if !ok || r.Split != w.Split || math.IsNaN(float64(v)) {
			continue
		}
		if !found || d.Better(float64(v), float64(best.Values[w.Metric])) {
			best, found = r, true
		}
	}
	return best, found
}

// EarlyStop ends training when a metric no longer improves.
type EarlyStop struct {
	Watch
	Patience int     // consecutive epochs without improvement after which training ends; 0 means 1
	MinDelta float64 // least improvement that counts
}

// done reports whether to stop after the epochs of h. It depends only on h, so that a resumed run stops at the same epoch.
func (s *EarlyStop) done(h History, d metric.Direction) bool {
	w := s.fill()
	_, values := h.Series(w.Split, w.Metric)
	delta := s.MinDelta
	if d == metric.Higher {
		delta = -delta
	}
	best, bad := math.NaN(), 0
	for _, v := range values {
		if math.IsNaN(best) && !math.IsNaN(v) || d.Better(v, best-delta) {
			best, bad = v, 0
		} else {
			bad++
		}
	}
	return bad >= max(s.Patience, 1)
}

// sortedNames returns the names of a set in alphabetical order, with "loss" first.
func sortedNames(set map[string]bool) []string {
	names := slices.Sorted(maps.Keys(set))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "loss":
			return -1
		case b == "loss":
			return 1
		}
		return 0
	})
	return names
}
