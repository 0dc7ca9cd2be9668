// Package text turns texts into numbers and batches: simple tokenizers with vocabularies, padding, and folders of text files. It reads
// datasets of package data, and models of package nn consume its batches. It must not contain layers.
package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Tokenizer converts texts to ids from 0 to Size()-1 and back. Implementations are safe for concurrent use.
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

// Decode returns the bytes as text.
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

// Pieces is a tokenizer that splits texts into pieces and looks them up.
type Pieces struct {
	vocabulary *Vocabulary
	cut        func(string) []string
	join       string
}

var _ Tokenizer = (*Pieces)(nil)

// Chars returns the tokenizer of Unicode characters. Invalid UTF-8 is split into bytes.
func Chars(v *Vocabulary) *Pieces { return &Pieces{v, CutChars, ""} }

// Words returns the tokenizer of words separated by white space; Decode puts one space between them.
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

// Vocabulary returns the vocabulary of the pieces.
func (p *Pieces) Vocabulary() *Vocabulary { return p.vocabulary }

// Encode returns the ids of the pieces. An unknown piece is encoded as the vocabulary's unknown piece, or omitted if the vocabulary has
// none.
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

// Decode joins the pieces of ids.
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
