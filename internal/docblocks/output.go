package docblocks

import (
	"regexp"
	"strings"
)

// Matches reports whether output has the form that a document shows. Three dots match any text within a line and, alone on a
// line, any number of lines. Space at the end of lines and empty lines around the text are ignored.
func Matches(shown, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range lines(shown) {
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "...")
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		pattern.WriteString(strings.Join(parts, ".*") + `\n`)
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(strings.Join(lines(output), "\n") + "\n")
}

func lines(text string) []string {
	ls := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, l := range ls {
		ls[i] = strings.TrimRight(l, " \t\r")
	}
	return ls
}
