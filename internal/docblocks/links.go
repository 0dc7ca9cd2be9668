package docblocks

import (
	"regexp"
	"strings"
)

var (
	linkPattern = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:href|src)="([^"]+)"`)
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	headingLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	slugDrops   = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// Link is a link of a Markdown document.
type Link struct {
	Line   int
	Target string
}

// Links returns the links of a document, without those in code.
func Links(text string) []Link {
	var links []Link
	prose(text, func(line int, s string) {
		for _, m := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(s, "``"), -1) {
			links = append(links, Link{line, m[1] + m[2]})
		}
	})
	return links
}

// Anchors returns the names by which links refer to the headings of a document, as GitHub and the site derive them.
func Anchors(text string) map[string]bool {
	anchors := map[string]bool{}
	prose(text, func(_ int, s string) {
		if strings.HasPrefix(s, "#") {
			title := strings.TrimSpace(strings.TrimLeft(s, "#"))
			title = headingLink.ReplaceAllString(title, "$1")
			anchors[strings.ReplaceAll(slugDrops.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
		}
	})
	return anchors
}

// prose calls f with the lines outside of fenced blocks.
func prose(text string, f func(line int, s string)) {
	fence := ""
	for i, s := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(s)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		case fence != "" && trimmed == fence:
			fence = ""
		case fence == "":
			f(i+1, s)
		}
	}
}

// Spans returns the code spans of a document that begin with prefix, with their lines.
func Spans(text, prefix string) []Link {
	var spans []Link
	prose(text, func(line int, s string) {
		for _, m := range codeSpan.FindAllString(s, -1) {
			if s := strings.Trim(m, "`"); strings.HasPrefix(s, prefix) {
				spans = append(spans, Link{line, s})
			}
		}
	})
	return spans
}
