package onnx

import (
	"encoding/binary"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func init() { register("TfIdfVectorizer", 9, tfIdfNode) }

// gram is an n-gram to count.
type gram struct {
	at     int // its index in the result
	weight float64
}

// vectorizer counts n-grams whose number of tokens is between least and most, with up to skip tokens omitted between neighbours.
// appendToken creates the keys of index.
type vectorizer struct {
	index             map[string]int // index into grams, which are in the order of the pool
	grams             []gram
	least, most, skip int
	width             int // length of the result
	mode              string
}

// tfIdfNode counts on the host, as the lookup of sequences is no tensor op. It supports pools of integers only.
func tfIdfNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	if n.has("pool_strings") {
		t.unsupported("a pool of strings")
	}
	if x.rank() != 1 && x.rank() != 2 || x.dtype() != dtype.I32 && x.dtype() != dtype.I64 {
		t.fail("x is %v%v, want i32 or i64 of rank 1 or 2", x.dtype(), x.shape())
	}
	v := t.vectorizer(n)
	s := append(x.shape()[:x.rank()-1].Clone(), v.width)
	t.reserve(dtype.F32, s...)
	return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) {
		tokens, line := toInts(in[0].DType, in[0].Data), in[0].Shape[len(in[0].Shape)-1]
		out := make([]byte, 0, 4*shape.Shape(s).Size())
		for i := range s[:len(s)-1].Size() {
			for _, f := range v.count(tokens[i*line : (i+1)*line]) {
				out = appendFloat(out, dtype.F32, f)
			}
		}
		return []hostTensor{{DType: dtype.F32, Shape: s, Data: out}}, nil
	})
}

func (t *tracer) vectorizer(n *node) *vectorizer {
	v := &vectorizer{index: map[string]int{}, least: n.int("min_gram_length", 0), most: n.int("max_gram_length", 0),
		skip: n.int("max_skip_count", -1), mode: n.str("mode", "")}
	starts, places, pool := n.ints("ngram_counts"), n.ints("ngram_indexes"), n.ints("pool_int64s")
	weights := n.floats("weights")
	switch {
	case v.mode != "TF" && v.mode != "IDF" && v.mode != "TFIDF":
		t.fail("mode is %q, want TF, IDF or TFIDF", v.mode)
	case v.least < 1 || v.most < v.least || v.skip < 0:
		t.fail("n-grams of %d to %d tokens with up to %d skipped", v.least, v.most, v.skip)
	case len(starts) == 0 || len(places) == 0 || slices.Min(places) < 0:
		t.fail("ngram_counts is %v and ngram_indexes %v, want them not empty and not negative", starts, places)
	case len(weights) != 0 && len(weights) != len(places):
		t.fail("%d weights for %d n-grams", len(weights), len(places))
	}
	t.within(dtype.F32, min(slices.Max(places), 1<<58))
	v.width = slices.Max(places) + 1
	id := 0
	for i, start := range starts {
		size, end := i+1, len(pool)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if start < 0 || end < start || end > len(pool) || (end-start)%size != 0 {
			t.fail("%d-grams from %d to %d of %d tokens", size, start, end, len(pool))
		}
		for tokens := range slices.Chunk(pool[start:end], size) {
			if id >= len(places) {
				t.fail("more n-grams than the %d of ngram_indexes", len(places))
			}
			g := gram{at: places[id], weight: 1}
			if len(weights) > 0 && v.mode != "TF" {
				g.weight = weights[id]
			}
			id++
			if size < v.least || size > v.most {
				continue
			}
			key := ""
			for _, token := range tokens {
				key = appendToken(key, token)
			}
			if _, twice := v.index[key]; twice {
				t.fail("the pool has %v twice", tokens)
			}
			v.index[key] = len(v.grams)
			v.grams = append(v.grams, g)
		}
	}
	if id != len(places) {
		t.fail("%d n-grams, want as many as ngram_indexes has, %d", id, len(places))
	}
	return v
}

func appendToken(key string, token int) string {
	return string(binary.LittleEndian.AppendUint64([]byte(key), uint64(token)))
}

// count returns the result for a line of tokens. Counts of n-grams with the same index in the result are added; with IDF the last
// one wins.
func (v *vectorizer) count(line []int) []float64 {
	found := make([]int, len(v.grams))
	for size := v.least; size <= v.most && size <= len(line); size++ {
		for step := 1; step <= v.skip+1 && step*(size-1) < len(line); step++ {
			for first := 0; first+step*(size-1) < len(line); first++ {
				key := ""
				for i := range size {
					key = appendToken(key, line[first+i*step])
				}
				if i, ok := v.index[key]; ok {
					found[i]++
				}
			}
			if size == 1 { // nothing to skip
				break
			}
		}
	}
	out := make([]float64, v.width)
	for i, n := range found {
		switch g := v.grams[i]; {
		case n == 0:
		case v.mode == "IDF":
			out[g.at] = g.weight
		default:
			out[g.at] += float64(n) * g.weight
		}
	}
	return out
}
