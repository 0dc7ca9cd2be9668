package tomlfile

import (
	"bytes"
	"cmp"
	"fmt"
)

// path measures a key together with the keys that contain it.
type path struct{ parts, bytes int }

// scanner scans a document once, in constant memory. It knows just enough TOML to count entries and to measure paths. As long as
// the document is valid, its counts equal the parser's; at the first syntax error the parser stops, so that later counts do not
// matter.
type scanner struct {
	kind    Kind
	text    []byte
	at      int
	line    int
	entries int

	section path // path of the current section, which contains the top-level keys
	key     path // key being read; parts is the number of its dots
	inKey   bool // in a key, else in a value
	open    [maxParts]level
	depth   int

	began func(at int) // if not nil, called with the start of each top-level key or header
	top   bool         // no section has begun
	fresh bool         // only white space so far in this line
}

// level is an array or inline table that is open.
type level struct {
	table bool
	path  path // path of the level's content
}

// scan refuses documents that exceed a limit.
func scan(k Kind, text []byte) error {
	if len(text) > k.Bytes {
		return fmt.Errorf("%s: %w: want at most %d bytes, got %d", k.Name, ErrRefused, k.Bytes, len(text))
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff", "\xef\xbb\xbf"} { // which the parser skips
		if bytes.HasPrefix(text, []byte(mark)) {
			text = text[len(mark):]
			break
		}
	}
	s := newScanner(k, text)
	for s.at < len(s.text) {
		if err := s.step(); err != nil {
			return fmt.Errorf("%s: line %d: %w: %w", k.Name, s.line, ErrRefused, err)
		}
	}
	return nil
}

func newScanner(k Kind, text []byte) scanner {
	return scanner{kind: k, text: text, line: 1, inKey: true, top: true, fresh: true}
}

// step consumes a string, a comment or one other character.
func (s *scanner) step() error {
	c := s.text[s.at]
	if s.fresh && c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '#' {
		s.fresh = false
		if s.began != nil && (s.top || c == '[') {
			s.began(s.at)
		}
	}
	switch c {
	case '"', '\'':
		n := s.quoted()
		if s.inKey {
			s.key.bytes += n
			return s.measure()
		}
		return nil
	case '#':
		for s.at < len(s.text) && s.text[s.at] != '\n' {
			s.at++
		}
		return nil
	}
	s.at++
	switch c {
	case '\n':
		s.line++
		if s.depth == 0 {
			s.startKey()
			s.fresh = true
		}
	case '[':
		if s.inKey && s.depth == 0 {
			return s.header()
		}
		return s.push(false)
	case '{':
		return s.push(true)
	case ']', '}':
		if s.depth > 0 {
			s.depth--
			s.inKey = false
		}
	case ',':
		if s.depth > 0 && s.open[s.depth-1].table {
			s.startKey()
		}
		return s.count()
	case '=':
		if s.inKey {
			s.inKey = false
			return s.count()
		}
	case '.':
		if s.inKey {
			s.key.parts++
			return cmp.Or(s.measure(), s.count()) // the parser creates a table for each part
		}
	case ' ', '\t', '\r':
	default:
		if s.inKey {
			s.key.bytes++
			return s.measure()
		}
	}
	return nil
}

func (s *scanner) startKey() { s.inKey, s.key = true, path{} }

// around returns the path that contains the next key.
func (s *scanner) around() path {
	if s.depth > 0 {
		return s.open[s.depth-1].path
	}
	return s.section
}

// here returns the path of the key being read, or of the value read last.
func (s *scanner) here() path {
	p := s.around()
	if s.depth > 0 && !s.open[s.depth-1].table {
		return p // an element of an array has no key
	}
	return path{p.parts + s.key.parts + 1, p.bytes + s.key.bytes}
}

func (s *scanner) measure() error {
	p := s.here()
	switch {
	case p.parts > maxParts:
		return fmt.Errorf("a key nested too deeply, want at most %d parts", maxParts)
	case p.bytes > maxPath:
		return fmt.Errorf("a key is too long: want at most %d bytes together with the keys that contain it", maxPath)
	}
	return nil
}

func (s *scanner) count() error {
	if s.entries++; s.entries > s.kind.Entries {
		return fmt.Errorf("too many entries, want at most %d", s.kind.Entries)
	}
	return nil
}

// push opens an array or inline table.
func (s *scanner) push(table bool) error {
	if s.depth == maxParts {
		return fmt.Errorf("values nested too deeply, want at most %d levels", maxParts)
	}
	s.open[s.depth] = level{table, s.here()}
	s.depth++
	s.inKey = false
	if table {
		s.startKey()
	}
	return s.count()
}

// header scans the rest of a line that begins with a bracket: [a.b] or [[a.b]].
func (s *scanner) header() error {
	s.section, s.key, s.top = path{}, path{}, false
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		c := s.text[s.at]
		switch c {
		case '"', '\'':
			s.key.bytes += s.quoted()
		case '#':
			for s.at < len(s.text) && s.text[s.at] != '\n' {
				s.at++
			}
		case '.':
			s.key.parts++
			s.at++
			if err := s.count(); err != nil {
				return err
			}
		default:
			s.key.bytes++
			s.at++
		}
		if err := s.measure(); err != nil {
			return err
		}
	}
	s.section = s.here()
	s.inKey = false
	return s.count()
}

// quoted skips a string and returns its length. A string that is not closed extends to the end of its line or, if it has three
// quotes, to the end of the text.
func (s *scanner) quoted() int {
	start, q := s.at, s.text[s.at]
	escapes := q == '"'
	if s.run(q) >= 3 && !s.inKey {
		for s.at += 3; s.at < len(s.text); s.at++ {
			switch c := s.text[s.at]; {
			case c == '\n':
				s.line++
			case c == '\\' && escapes:
				if s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
					s.at++
				}
			case c == q:
				n := s.run(q)
				if n >= 3 { // up to two more belong to the text
					s.at += min(n, 5)
					return s.at - start
				}
				s.at += n - 1
			}
		}
		return len(s.text) - start
	}
	for s.at++; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && escapes:
			if s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
				s.at++
			}
		case c == q:
			s.at++
			return s.at - start
		}
	}
	s.at = min(s.at, len(s.text))
	return s.at - start
}

// run counts consecutive quotes from the current position.
func (s *scanner) run(q byte) int {
	n := 0
	for s.at+n < len(s.text) && s.text[s.at+n] == q {
		n++
	}
	return n
}
