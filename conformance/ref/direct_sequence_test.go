package ref_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// alignments calls f with each of the classes^steps sequences of classes.
func alignments(classes, steps int, f func(path []int)) {
	path := make([]int, steps)
	for {
		f(path)
		k := steps - 1
		for ; k >= 0; k-- {
			if path[k]++; path[k] < classes {
				break
			}
			path[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// collapsed returns the labels of an alignment: it drops repetitions, then blanks.
func collapsed(path []int, blank int) (labels []int64) {
	for i, c := range path {
		if c != blank && (i == 0 || path[i-1] != c) {
			labels = append(labels, int64(c))
		}
	}
	return labels
}

// The loss is minus the logarithm of the summed probability of all alignments, listed one by one (Graves et al. 2006, equation 3).
func TestCTCByEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	const steps, classes, longest = 5, 3, 3
	for _, blank := range []int{0, 2} {
		for _, reduction := range []string{"none", "sum", "mean"} {
			for _, finite := range []bool{false, true} {
				const batch = 7
				logits := uniform(r, -2, 2, steps, batch, classes)
				probabilities := evaluated(t, op.LogSoftmax, []ref.Tensor{logits}, op.Int("axis", 2))
				targets := ref.Zeros(op.DescOf(dtype.I64, batch, longest))
				steplens, lengths := ivec(dtype.I64, 5, 5, 4, 3, 2, 0, 0), ivec(dtype.I64, 3, 2, 1, 2, 3, 0, 1)
				for i := range targets.I {
					if targets.I[i] = int64(r.IntN(classes)); targets.I[i] == int64(blank) {
						targets.I[i] = 1
					}
				}
				copy(targets.I[3:5], []int64{1, 1}) // a repetition needs a blank between
				losses := make([]float64, batch)
				for b := range batch {
					want := targets.I[b*longest:][:lengths.I[b]]
					total := 0.0
					alignments(classes, int(steplens.I[b]), func(path []int) {
						if fmt.Sprint(collapsed(path, blank)) != fmt.Sprint(want) {
							return
						}
						p := 0.0
						for s, c := range path {
							p += element(probabilities, s, b, c)
						}
						total += math.Exp(p)
					})
					if losses[b] = -math.Log(total); finite && math.IsInf(losses[b], 1) {
						losses[b] = 0
					}
				}
				got := evaluated(t, op.CTCLoss, []ref.Tensor{probabilities, targets, steplens, lengths}, op.Int("blank", blank), op.Str("reduction", reduction), op.Flag("zero_infinity", finite))
				want := losses
				if reduction != "none" {
					sum := 0.0
					for b, l := range losses {
						if reduction == "mean" {
							l /= float64(max(1, lengths.I[b])) * batch
						}
						sum += l
					}
					want = []float64{sum}
				}
				for k, w := range want {
					requireClose(t, w, got.F[k], 1e-12, "%s, blank %d, loss %d", reduction, blank, k)
				}
			}
		}
	}
}

// Attention equals its defining sum, with grouped heads, a past, windows, soft caps, and masks of both kinds.
func TestAttentionBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	for round := range 80 {
		groups, heads := 1+r.IntN(2), 1+r.IntN(2)
		s, n, d, e := 1+r.IntN(4), 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(3)
		q, k, v := uniform(r, -2, 2, 2, groups*heads, s, d), uniform(r, -2, 2, 2, heads, n, d), uniform(r, -2, 2, 2, heads, n, e)
		in := []ref.Tensor{q, k, v}
		scale, limit, past, window, causal := []float64{0, 0.7}[r.IntN(2)], []float64{0, 1.3}[r.IntN(2)], r.IntN(3), r.IntN(3), r.IntN(2) == 1
		var bias, seen ref.Tensor
		switch round % 3 {
		case 1:
			bias = uniform(r, -1, 1, 1, groups*heads, 1, n)
			in = append(in, bias)
		case 2:
			seen = ref.Zeros(op.DescOf(dtype.Bool, s, n))
			for i := range seen.I {
				seen.I[i] = int64(r.IntN(2))
			}
			in = append(in, seen)
		}
		got := evaluated(t, op.Attention, in, op.Float("scale", scale), op.Flag("causal", causal), op.Int("past", past), op.Int("window", window), op.Float("softcap", limit))
		if scale == 0 {
			scale = 1 / math.Sqrt(float64(d))
		}
		each([]int{2, groups * heads, s}, func(at []int) {
			kv := at[1] / groups
			weights, sum := make([]float64, n), 0.0
			for j := range n {
				if causal && j > at[2]+past || window > 0 && max(at[2]+past-j, j-at[2]-past) >= window || seen.I != nil && seen.I[at[2]*n+j] == 0 {
					continue
				}
				score := 0.0
				for x := range d {
					score += scale * element(q, at[0], at[1], at[2], x) * element(k, at[0], kv, j, x)
				}
				if limit > 0 {
					score = limit * math.Tanh(score/limit)
				}
				if bias.F != nil {
					score += element(bias, 0, at[1], 0, j)
				}
				weights[j] = math.Exp(score)
				sum += weights[j]
			}
			for x := range e {
				want := 0.0
				for j, w := range weights {
					if sum > 0 {
						want += w / sum * element(v, at[0], kv, j, x)
					}
				}
				require.InDelta(t, want, element(got, at[0], at[1], at[2], x), 1e-12, "round %d at %v", round, at)
			}
		})
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Recurrent layers follow the gate equations of PyTorch's documentation step by step, in both directions. The gates are in ONNX's order.
func TestRecurrentByStep(t *testing.T) {
	r := rand.New(rand.NewPCG(75, 76))
	const steps, batch, wide, hidden = 4, 2, 3, 2
	for _, direction := range []string{"forward", "reverse", "bidirectional"} {
		for _, kind := range []string{"tanh", "relu", "gru", "gru after", "lstm"} {
			ways, gates := 1, map[string]int{"tanh": 1, "relu": 1, "gru": 3, "gru after": 3, "lstm": 4}[kind]
			if direction == "bidirectional" {
				ways = 2
			}
			x, w, u := uniform(r, -1, 1, steps, batch, wide), uniform(r, -1, 1, ways, gates*hidden, wide), uniform(r, -1, 1, ways, gates*hidden, hidden)
			bias, biasR := uniform(r, -1, 1, ways, gates*hidden), uniform(r, -1, 1, ways, gates*hidden)
			h0, c0 := uniform(r, -1, 1, ways, batch, hidden), uniform(r, -1, 1, ways, batch, hidden)
			var got []ref.Tensor
			var err error
			switch kind {
			case "lstm":
				got, err = eval(t, op.LSTM, []ref.Tensor{x, w, u, bias, h0, c0}, op.Str("direction", direction))
			case "gru", "gru after":
				got, err = eval(t, op.GRU, []ref.Tensor{x, w, u, bias, biasR, h0}, op.Str("direction", direction), op.Flag("reset_after", kind == "gru after"))
			default:
				got, err = eval(t, op.RNN, []ref.Tensor{x, w, u, bias, h0}, op.Str("direction", direction), op.Str("activation", kind))
			}
			require.NoError(t, err)
			for way := range ways {
				backwards := direction == "reverse" || way == 1
				for b := range batch {
					h, c := make([]float64, hidden), make([]float64, hidden)
					for j := range hidden {
						h[j], c[j] = element(h0, way, b, j), element(c0, way, b, j)
					}
					for s := range steps {
						at := s
						if backwards {
							at = steps - 1 - s
						}
						given := func(g, j int) float64 { // of gate g from the input
							sum := element(bias, way, g*hidden+j)
							for k := range wide {
								sum += element(w, way, g*hidden+j, k) * element(x, at, b, k)
							}
							return sum
						}
						kept := func(g, j int, h []float64) float64 { // of gate g from the state
							sum := 0.0
							for k := range hidden {
								sum += element(u, way, g*hidden+j, k) * h[k]
							}
							return sum
						}
						next := make([]float64, hidden)
						reset := make([]float64, hidden)
						for j := range hidden {
							if gates == 3 {
								reset[j] = sigmoid(given(1, j) + kept(1, j, h) + element(biasR, way, hidden+j))
							}
						}
						for j := range hidden {
							switch kind {
							case "tanh":
								next[j] = math.Tanh(given(0, j) + kept(0, j, h))
							case "relu":
								next[j] = max(0, given(0, j)+kept(0, j, h))
							case "lstm":
								c[j] = sigmoid(given(2, j)+kept(2, j, h))*c[j] + sigmoid(given(0, j)+kept(0, j, h))*math.Tanh(given(3, j)+kept(3, j, h))
								next[j] = sigmoid(given(1, j)+kept(1, j, h)) * math.Tanh(c[j])
							default:
								z := sigmoid(given(0, j) + kept(0, j, h) + element(biasR, way, j))
								var candidate float64
								if kind == "gru after" {
									candidate = math.Tanh(given(2, j) + reset[j]*(kept(2, j, h)+element(biasR, way, 2*hidden+j)))
								} else {
									part := make([]float64, hidden)
									for k := range part {
										part[k] = reset[k] * h[k]
									}
									candidate = math.Tanh(given(2, j) + kept(2, j, part) + element(biasR, way, 2*hidden+j))
								}
								next[j] = (1-z)*candidate + z*h[j]
							}
						}
						h = next
						for j := range hidden {
							require.InDelta(t, h[j], element(got[0], at, way, b, j), 1e-12, "%s %s way %d step %d", kind, direction, way, s)
						}
					}
					for j := range hidden {
						require.InDelta(t, h[j], element(got[1], way, b, j), 1e-12)
						if kind == "lstm" {
							require.InDelta(t, c[j], element(got[2], way, b, j), 1e-12)
						}
					}
				}
			}
		}
	}
}

// A rotation keeps the length of each pair and adds angles: turned by a and then by b is turned by a+b.
func TestRotaryAngles(t *testing.T) {
	r := rand.New(rand.NewPCG(77, 78))
	for _, interleaved := range []bool{false, true} {
		for _, pairs := range []int{0, 1, 2, 3} {
			x, a, b := uniform(r, -1, 1, 3, 2, 7), uniform(r, -9, 9, 2, pairs), uniform(r, -9, 9, 2, pairs)
			turned := func(x, angle ref.Tensor) ref.Tensor {
				cos, sin := angle.Clone(), angle.Clone()
				for i, v := range angle.F {
					cos.F[i], sin.F[i] = math.Cos(v), math.Sin(v)
				}
				return evaluated(t, op.RotaryEmbedding, []ref.Tensor{x, cos, sin}, op.Flag("interleaved", interleaved))
			}
			both := a.Clone()
			for i := range both.F {
				both.F[i] += b.F[i]
			}
			once, twice := turned(x, both), turned(turned(x, a), b)
			require.InDeltaSlice(t, once.F, twice.F, 1e-14)
			each([]int{3, 2}, func(at []int) {
				for p := range pairs {
					i, j := p, p+pairs
					if interleaved {
						i, j = 2*p, 2*p+1
					}
					v := complex(element(x, at[0], at[1], i), element(x, at[0], at[1], j))
					angle := element(both, at[1], p)
					v *= complex(math.Cos(angle), math.Sin(angle))
					require.InDelta(t, real(v), element(once, at[0], at[1], i), 1e-14)
					require.InDelta(t, imag(v), element(once, at[0], at[1], j), 1e-14)
				}
				for k := 2 * pairs; k < 7; k++ {
					require.Equal(t, element(x, at[0], at[1], k), element(once, at[0], at[1], k), "the rest stays")
				}
			})
		}
	}
}
