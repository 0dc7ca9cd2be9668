package cli

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// sampler draws one of several choices by their scores. Only one goroutine may use it.
type sampler struct {
	temperature float64 // divides scores; 0 selects the best
	topK        int     // number of best choices to draw from; 0 for all
	topP        float64 // draw from the fewest best choices whose total probability reaches topP; 1 for all
	random      *rand.Rand
}

// newSampler returns a sampler that draws by the softmax of scores. Equal seeds result in equal draws.
func newSampler(seed int64) *sampler {
	return &sampler{temperature: 1, topP: 1, random: rand.New(rand.NewPCG(uint64(seed), 0))}
}

// draw returns the index of a score. Equal scores are ranked by index. A NaN score is never drawn unless all are NaN.
func (s *sampler) draw(scores []float32) int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) }) // NaN comes last
	best := float64(scores[order[0]])
	if s.temperature == 0 || math.IsNaN(best) || math.IsInf(best, 0) {
		return order[0]
	}
	if s.topK > 0 {
		order = order[:min(s.topK, len(order))]
	}
	weights, sum := make([]float64, len(order)), 0.0
	for i, k := range order {
		if w := math.Exp((float64(scores[k]) - best) / s.temperature); !math.IsNaN(w) {
			weights[i] = w
			sum += w
		}
	}
	if s.topP < 1 {
		kept := 0.0
		for i, w := range weights {
			if kept += w; kept >= s.topP*sum {
				order, sum = order[:i+1], kept
				break
			}
		}
	}
	at := s.random.Float64() * sum
	for i := range order {
		if at -= weights[i]; at < 0 {
			return order[i]
		}
	}
	return order[0] // by rounding: the rest is below the last bit
}
