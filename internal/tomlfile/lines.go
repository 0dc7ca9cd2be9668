package tomlfile

import (
	"strconv"
	"strings"
)

// Lines returns the line number, from 1, where each top-level key first occurs, as a key or in the header of a section. text is a
// document that Decode has accepted.
func Lines(text []byte) map[string]int {
	lines := map[string]int{}
	s := newScanner(Kind{"", len(text), len(text)}, text)
	s.began = func(at int) {
		if name := firstPart(string(text[at:min(len(text), at+2*maxPath)])); lines[name] == 0 {
			lines[name] = s.line
		}
	}
	for s.at < len(s.text) && s.step() == nil {
	}
	return lines
}

// firstPart returns the first part of the key or header at the start of text.
func firstPart(text string) string {
	text = strings.TrimLeft(text, "[ \t\xef\xbb\xbf")
	switch {
	case strings.HasPrefix(text, `"`):
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return ""
		}
		name, _ := strconv.Unquote(quoted)
		return name
	case strings.HasPrefix(text, "'"):
		name, _, _ := strings.Cut(text[1:], "'")
		return name
	}
	end := strings.IndexAny(text, ".=] \t\r\n")
	if end < 0 {
		end = len(text)
	}
	return text[:end]
}
