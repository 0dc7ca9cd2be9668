package npy

import (
	"fmt"
	"strconv"
	"strings"
)

// header is the dictionary at the start of a file.
type header struct {
	name    string // name of the dtype
	kind    byte
	size    int
	big     bool // big endian
	fortran bool
	shape   []int
}

// parseHeader reads the dictionary, a Python literal such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func parseHeader(text string) (*header, error) {
	p := &literal{text: text}
	h := new(header)
	seen := map[string]bool{}
	if err := p.expect('{'); err != nil {
		return nil, err
	}
	for !p.accept('}') {
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("header: key %q twice", key)
		}
		seen[key] = true
		if err := p.expect(':'); err != nil {
			return nil, err
		}
		switch key {
		case "descr":
			err = h.descr(p)
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.tuple()
		default:
			err = fmt.Errorf("header: unknown key %q", key)
		}
		if err != nil {
			return nil, err
		}
		if !p.accept(',') && p.peek() != '}' {
			return nil, p.fail("',' or '}'")
		}
	}
	if p.peek() != 0 || p.at < len(p.text) {
		return nil, p.fail("the end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, fmt.Errorf("header: key %q missing", key)
		}
	}
	return h, nil
}

// descr parses an element type: byte order, kind, size.
func (h *header) descr(p *literal) error {
	if c := p.peek(); c == '[' || c == '(' {
		return fmt.Errorf("header: structured arrays are not supported")
	}
	s, err := p.str()
	if err != nil {
		return err
	}
	if len(s) < 3 {
		return fmt.Errorf("header: dtype %q is not supported", s)
	}
	for _, d := range dtypes {
		if s[1] != d.kind || s[2:] != strconv.Itoa(d.size) {
			continue
		}
		if s[0] == '<' || s[0] == '>' || s[0] == '|' && d.size == 1 {
			h.name, h.kind, h.size, h.big = d.name, d.kind, d.size, s[0] == '>'
			return nil
		}
	}
	return fmt.Errorf("header: dtype %q is not supported, want a bool, integer or float of 1 to 8 bytes", s)
}

// literal is a cursor in the text of a Python literal.
type literal struct {
	text string
	at   int
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *literal) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *literal) accept(c byte) bool {
	if p.peek() != c || p.at == len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *literal) expect(c byte) error {
	if !p.accept(c) {
		return p.fail("'" + string(rune(c)) + "'")
	}
	return nil
}

func (p *literal) fail(want string) error {
	got := "the end"
	if p.at < len(p.text) {
		got = strconv.Quote(p.text[p.at:min(len(p.text), p.at+12)])
	}
	return fmt.Errorf("header: at byte %d: want %s, got %s", p.at, want, got)
}

// str parses a quoted string. No valid string in the header needs an escape.
func (p *literal) str() (string, error) {
	q := p.peek()
	if q != '\'' && q != '"' {
		return "", p.fail("a string")
	}
	n := strings.IndexByte(p.text[p.at+1:], q)
	if n < 0 {
		return "", p.fail("a string that ends")
	}
	s := p.text[p.at+1:][:n]
	p.at += n + 2
	return s, nil
}

func (p *literal) boolean() (bool, error) {
	p.peek()
	for word, v := range map[string]bool{"True": true, "False": false} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return v, nil
		}
	}
	return false, p.fail("True or False")
}

// tuple parses a tuple of sizes: (), (3,), (3, 4). Files written by Python 2 may have sizes like 3L.
func (p *literal) tuple() ([]int, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	out := []int{}
	for !p.accept(')') {
		p.peek()
		end := p.at
		for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
			end++
		}
		v, err := strconv.Atoi(p.text[p.at:end])
		if err != nil {
			return nil, p.fail("a size")
		}
		if p.at = end; strings.HasPrefix(p.text[end:], "L") {
			p.at++
		}
		if out = append(out, v); len(out) > maxRank {
			return nil, fmt.Errorf("header: rank above %d", maxRank)
		}
		if p.accept(',') {
			continue
		}
		if p.peek() != ')' {
			return nil, p.fail("',' or ')'")
		}
		if len(out) == 1 { // (3) is a number in Python, not a tuple
			return nil, p.fail("','")
		}
	}
	return out, nil
}
