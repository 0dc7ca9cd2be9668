package tomlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Kind is a kind of TOML file, with its limits.
type Kind struct {
	Name    string
	Bytes   int // greatest size of the file
	Entries int // greatest total number of key parts, sections and elements
}

// The kinds of files. Each limit is several times the need of a legal file.
var (
	Signature = Kind{"signature", 4 << 10, 32}
	Manifest  = Kind{"manifest", 16 << 10, 256}
	Settings  = Kind{"settings", 64 << 10, 4 << 10}
	Trust     = Kind{"trust file", 1 << 20, 1 << 14}
	Lock      = Kind{"lock", 1 << 20, 1 << 15}
	Receipt   = Kind{"receipt", 4 << 20, 1 << 16}
	State     = Kind{"state", 1 << 20, 1 << 15}
	Index     = Kind{"index", 4 << 20, 1 << 17}
)

// The limits, in parts and bytes, of one key together with the sections, inline tables and dotted keys that contain it. The parser
// stores this path for each key, and recurses for each level.
const (
	maxParts = 16
	maxPath  = 256
)

// Meta describes the keys of a document.
type Meta = toml.MetaData

// Decode decodes a document of a kind into to, as package toml does. For a document that exceeds a limit it returns ErrRefused, without
// parsing it.
func Decode(k Kind, text []byte, to any) (md Meta, err error) {
	if err := scan(k, text); err != nil {
		return md, err
	}
	defer func() { // the parser panics on internal errors
		if r := recover(); r != nil {
			err = fmt.Errorf("toml: the document cannot be parsed: %.200v", r)
		}
	}()
	md, err = toml.Decode(string(text), to)
	if err == nil {
		return md, nil
	}
	var pe toml.ParseError
	if errors.As(err, &pe) {
		return md, err
	}
	return md, fmt.Errorf("%s", cut(strings.TrimSpace(err.Error())))
}

// DecodeStrict is like Decode, but refuses keys without a field in to.
func DecodeStrict(k Kind, text []byte, to any) error {
	md, err := Decode(k, text, to)
	if err != nil {
		return fmt.Errorf("%s", cut(strings.TrimSpace(err.Error())))
	}
	if u := md.Undecoded(); len(u) > 0 {
		return fmt.Errorf("unknown key %q", cut(u[0].String()))
	}
	return nil
}

// Load reads and decodes a file: see Read and Decode.
func Load(k Kind, path string, to any) (Meta, error) {
	text, err := Read(path, k.Bytes)
	if err != nil {
		return Meta{}, err
	}
	md, err := Decode(k, text, to)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return md, err
}

func cut(s string) string {
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}
