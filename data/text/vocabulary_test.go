package text_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goburn/burn/data/text"
	"github.com/stretchr/testify/require"
)

// sample draws a text of a few letters and spaces, with characters of all lengths in UTF-8 and bytes that are not UTF-8.
func sample(r *rand.Rand) string {
	letters := []string{"a", "b", "é", "世", "𝄞", "\xff", " ", " ", "\n"}
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(letters[r.IntN(len(letters))])
	}
	return b.String()
}

// A vocabulary has its special pieces first, then the others by count and, of equal counts, by bytes. The test selects the best of the
// remaining pieces, one after the other.
func TestCounterBySelection(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var c text.Counter
		count := map[string]int{}
		for range 1 + r.IntN(4) {
			pieces := text.CutChars(sample(r))
			c.Add(pieces)
			for _, p := range pieces {
				count[p]++
			}
		}
		least, size := r.IntN(4), r.IntN(9)
		special := []string{"<unk>", "a", "世"}[:r.IntN(4)]
		v, err := c.Vocabulary(least, size, special...)
		require.NoError(t, err)
		want := slices.Clone(special)
		for size == 0 || len(want) < size {
			best := ""
			for p, n := range count {
				if n >= least && !slices.Contains(want, p) && (best == "" || n > count[best] || n == count[best] && p < best) {
					best = p
				}
			}
			if best == "" {
				break
			}
			want = append(want, best)
		}
		var got []string
		for i := range v.Len() {
			p, err := v.Piece(int64(i))
			require.NoError(t, err)
			id, ok := v.ID(p)
			require.True(t, ok)
			require.EqualValues(t, i, id)
			got = append(got, p)
		}
		require.Equal(t, fmt.Sprintf("%q", want), fmt.Sprintf("%q", got), "least %d, size %d, special %q", least, size, special)
		id, ok := v.ID("no such piece")
		require.Equal(t, len(special) > 0, ok)
		require.Equal(t, map[bool]int64{true: 0, false: -1}[ok], id)
	}
}

// Encoding looks up each character, and decoding the ids returns the text without the unknown characters.
func TestCharsByLookup(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		known, given := sample(r), sample(r)
		alphabet := text.Alphabet(known)
		chars := text.Chars(alphabet)
		var want strings.Builder
		var ids []int64
		for _, p := range text.CutChars(given) {
			if slices.Contains(text.CutChars(known), p) {
				want.WriteString(p)
				var before int64 // the pieces are ordered by bytes
				seen := map[string]bool{}
				for _, k := range text.CutChars(known) {
					if k < p && !seen[k] {
						seen[k] = true
						before++
					}
				}
				ids = append(ids, before)
			}
		}
		got := chars.Encode(given)
		require.Equal(t, append([]int64{}, ids...), got)
		back, err := chars.Decode(got)
		require.NoError(t, err)
		require.Equal(t, want.String(), back)
	}
}

// The input of each item of a stream is a window of the tokens, and the target is the window one token later. No item reads beyond the last
// token.
func TestStreamByWindows(t *testing.T) {
	for n := range 9 {
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = int64(10 + i)
		}
		for length := 1; length < 5; length++ {
			for step := 1; step < 5; step++ {
				s, err := text.NewStream(ids, length, step)
				require.NoError(t, err)
				count := 0
				for start := 0; start+length < n; start += step {
					got, err := s.Get(count)
					require.NoError(t, err)
					require.Equal(t, ids[start:start+length], got.Input)
					require.Equal(t, ids[start+1:start+length+1], got.Target)
					require.Equal(t, length, cap(got.Input), "appending does not write to the tokens")
					count++
				}
				require.Equal(t, count, s.Len(), "%d tokens in runs of %d by %d", n, length, step)
				_, err = s.Get(count)
				require.Error(t, err)
			}
		}
	}
}
