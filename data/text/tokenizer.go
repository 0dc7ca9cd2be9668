// Package text turns texts into numbers and batches: simple tokenizers with vocabularies, padding, and folders of text files.
package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Tokenizer turns texts into ids from 0 to Size()-1 and back. Implementations are safe for concurrent use.
type Tokenizer interface {
	Encode(text string) []int64
	Decode(ids []int64) (string, error)
	Size() int
}

// Bytes is the tokenizer whose ids are the bytes of a text.
type Bytes struct{}

var _ Tokenizer = Bytes{}

// Size returns 256.
func (Bytes) Size() int { return 256 }

// Encode returns the bytes.
func (Bytes) Encode(text string) []int64 {
	out := make([]int64, len(text))
	for i := range len(text) {
		out[i] = int64(text[i])
	}
	return out
}

// Decode puts bytes together.
func (Bytes) Decode(ids []int64) (string, error) {
	b := make([]byte, len(ids))
	for i, id := range ids {
		if id < 0 || id > 255 {
			return "", fmt.Errorf("text: id %d, want 0 to 255", id)
		}
		b[i] = byte(id)
	}
	return string(b), nil
}

// Pieces is a tokenizer that cuts texts into pieces and looks them up.
type Pieces struct {
	vocabulary *Vocabulary
	cut        func(string) []string
	join       string
}

var _ Tokenizer = (*Pieces)(nil)

// Chars returns the tokenizer of Unicode characters. Invalid UTF-8 is cut into bytes.
func Chars(v *Vocabulary) *Pieces { return &Pieces{v, CutChars, ""} }

// Words returns the tokenizer of words between white space; Decode puts one space between them.
func Words(v *Vocabulary) *Pieces { return &Pieces{v, strings.Fields, " "} }

// CutChars returns the characters of a text.
func CutChars(text string) []string {
	out := make([]string, 0, len(text))
	for len(text) > 0 {
		_, n := utf8.DecodeRuneInString(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// Size returns the size of the vocabulary.
func (p *Pieces) Size() int { return p.vocabulary.Len() }

// Vocabulary is where pieces are looked up.
func (p *Pieces) Vocabulary() *Vocabulary { return p.vocabulary }

// Encode returns the ids of the pieces. A piece that is not known is the vocabulary's unknown one, or is left out if there
// is none.
func (p *Pieces) Encode(text string) []int64 {
	pieces := p.cut(text)
	out := make([]int64, 0, len(pieces))
	for _, piece := range pieces {
		if id, ok := p.vocabulary.ID(piece); ok {
			out = append(out, id)
		}
	}
	return out
}

// Decode puts the pieces of ids together.
func (p *Pieces) Decode(ids []int64) (string, error) {
	pieces := make([]string, len(ids))
	for i, id := range ids {
		piece, err := p.vocabulary.Piece(id)
		if err != nil {
			return "", err
		}
		pieces[i] = piece
	}
	return strings.Join(pieces, p.join), nil
}
