package text

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Vocabulary numbers pieces of text from 0. It is immutable and safe for concurrent use.
type Vocabulary struct {
	pieces  []string
	ids     map[string]int64
	unknown int64 // -1 for none
}

// NewVocabulary numbers pieces in their order. unknown is the piece that replaces unknown ones, and must be one of pieces; empty
// means that there is none.
func NewVocabulary(pieces []string, unknown string) (*Vocabulary, error) {
	v := &Vocabulary{slices.Clone(pieces), make(map[string]int64, len(pieces)), -1}
	for i, p := range pieces {
		if at, ok := v.ids[p]; ok {
			return nil, fmt.Errorf("text: piece %q is number %d and %d of the vocabulary, want it once", p, at, i)
		}
		v.ids[p] = int64(i)
	}
	if unknown != "" {
		id, ok := v.ids[unknown]
		if !ok {
			return nil, fmt.Errorf("text: the unknown piece %q is not in the vocabulary", unknown)
		}
		v.unknown = id
	}
	return v, nil
}

// Counter counts the pieces of texts for a vocabulary.
type Counter struct{ count map[string]int }

// Add counts pieces.
func (c *Counter) Add(pieces []string) {
	if c.count == nil {
		c.count = map[string]int{}
	}
	for _, p := range pieces {
		c.count[p]++
	}
}

// Vocabulary returns a vocabulary of the special pieces, followed by the pieces whose count is at least the minimum least, by decreasing
// count and then in byte order, up to size pieces in total; size 0 means no limit. Special pieces are never left out. The first one, if
// there is any, is the unknown piece.
func (c *Counter) Vocabulary(least, size int, special ...string) (*Vocabulary, error) {
	pieces := slices.Collect(maps.Keys(c.count))
	pieces = slices.DeleteFunc(pieces, func(p string) bool { return c.count[p] < least || slices.Contains(special, p) })
	slices.SortFunc(pieces, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.count[b], c.count[a]), cmp.Compare(a, b))
	})
	if room := max(size-len(special), 0); size > 0 && len(pieces) > room {
		pieces = pieces[:room]
	}
	unknown := ""
	if len(special) > 0 {
		unknown = special[0]
	}
	return NewVocabulary(append(slices.Clone(special), pieces...), unknown)
}

// Alphabet returns the vocabulary of the characters of a text, ordered by code point, without an unknown one.
func Alphabet(text string) *Vocabulary {
	seen := map[string]int64{}
	for _, c := range CutChars(text) {
		seen[c] = 0
	}
	v := &Vocabulary{slices.Sorted(maps.Keys(seen)), seen, -1}
	for i, p := range v.pieces {
		seen[p] = int64(i)
	}
	return v
}

// Len returns the number of pieces.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// ID returns the number of a piece, or of the unknown one; false if neither exists.
func (v *Vocabulary) ID(piece string) (int64, bool) {
	if id, ok := v.ids[piece]; ok {
		return id, true
	}
	return v.unknown, v.unknown >= 0
}

// Piece returns the piece with this number.
func (v *Vocabulary) Piece(id int64) (string, error) {
	if id < 0 || id >= int64(len(v.pieces)) {
		return "", fmt.Errorf("text: id %d, want 0 to %d", id, len(v.pieces)-1)
	}
	return v.pieces[id], nil
}

// stored is the JSON form of a vocabulary.
type stored struct {
	Pieces  [][]byte `json:"pieces"` // base64: a piece need not be valid UTF-8
	Unknown int64    `json:"unknown"`
}

// MarshalJSON encodes the vocabulary, to be stored with a model.
func (v *Vocabulary) MarshalJSON() ([]byte, error) {
	s := stored{make([][]byte, len(v.pieces)), v.unknown}
	for i, p := range v.pieces {
		s.Pieces[i] = []byte(p)
	}
	return json.Marshal(s)
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (v *Vocabulary) UnmarshalJSON(b []byte) error {
	var s stored
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("text: vocabulary: %w", err)
	}
	pieces := make([]string, len(s.Pieces))
	for i, p := range s.Pieces {
		pieces[i] = string(p)
	}
	read, err := NewVocabulary(pieces, "")
	if err != nil {
		return err
	}
	if s.Unknown < -1 || s.Unknown >= int64(len(pieces)) {
		return fmt.Errorf("text: vocabulary: unknown piece %d of %d", s.Unknown, len(pieces))
	}
	read.unknown = s.Unknown
	*v = *read
	return nil
}
