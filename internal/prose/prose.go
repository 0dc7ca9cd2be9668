// Package prose finds constructions in Go comments and in Markdown documents that are hard to read. tools/prose prints them, and a test of
// this package keeps their number from growing. The rules match words, not meaning: a sentence without a finding may still be bad. It must
// not change files.
package prose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Rule is a construction, and what to write instead.
type Rule struct {
	Pattern *regexp.Regexp
	Advice  string
}

// Rules are applied to the text of each comment, and of each paragraph, list item and row of a table in a document, with line breaks
// replaced by spaces.
var Rules = []Rule{
	{regexp.MustCompile(`\b(is|are|was|were) what\b`), `use a noun or a verb in place of "is what"`},
	{regexp.MustCompile(`^\w+ gives\b`), `a function returns, reports, copies; it does not give`},
	{regexp.MustCompile(`\bof what\b`), `name the thing in place of "of what"`},
	{regexp.MustCompile(`, of (which|whom)\b`), `begin a new sentence in place of "of which"`},
	{regexp.MustCompile(`'s, of\b`), `name the owner once`},
	{regexp.MustCompile(`\blikewise\b`), `repeat the few words in place of "likewise"`},
	{regexp.MustCompile(`\bbut for\b`), `write "except"`},
	{regexp.MustCompile(`\b(is|are) told\b`), `say who calls what`},
	{regexp.MustCompile(`\bin the way\b`), `say what cannot happen, and why`},
	{regexp.MustCompile(`\bstands? (in|at|behind|where|beside|before|there)\b`), `data is, begins or is stored somewhere; it does not stand`},
	{regexp.MustCompile(`\bdear(er|est)?\b`), `write "slow" or "expensive"`},
	{regexp.MustCompile(`\bpast the caches\b`), `write "non-temporal stores"`},
	{regexp.MustCompile(`\b(is|are) (that|those) of\b`), `repeat the noun in place of "that of"`},
	{regexp.MustCompile(`\bwho (has|have|wants?|waits?|calls?|reads?|asks?|looks?|needs?|holds?|gives?|takes?|uses?)\b`), `programs and threads are "that", and have names`},
	{regexp.MustCompile(`^\w+ (is|are) (how|why|where)\b`), `name the thing: "X describes", "X is the reason", "X returns the position"`},
	{regexp.MustCompile(`^\w+ is (true|false) (for|where|when)\b`), `write "X reports whether"`},
	{regexp.MustCompile(`\bwhat \w+ gives?\b`), `write "the result of"`},
	{regexp.MustCompile(`\bg[ia]ves? (up|back)\b`), `write "releases", "returns" or "restores"`},
	{regexp.MustCompile(`\bstands? for\b`), `write "means" or "replaces"`},
	{regexp.MustCompile(`\blies? (in|at|beside|behind|there|below)\b`), `write "is in", "is at"`},
	{regexp.MustCompile(`\bas [\w' ]{1,24} ha(s|ve) (it|them)\b`), `write "as in"`},
	{regexp.MustCompile(`\btakes? .{1,20} apart\b`), `write "splits" or "parses"`},
	{regexp.MustCompile(`\bmidst\b`), `write "during" or "in the middle of"`},
	{regexp.MustCompile(`\bworth another\b`), `write "the least number for which another thread is used"`},
	{regexp.MustCompile(`\bin hand\b`), `write "current", "held" or "pending"`},
	{regexp.MustCompile(`\bbrings? (into|to)\b`), `write "converts to", "moves into" or "scales to"`},
	{regexp.MustCompile(`\bgo(es)? by\b`), `name the order: "is computed by columns"`},
	{regexp.MustCompile(`\bas (it|they) came\b`), `write "unchanged" or "in the order of arrival"`},
	{regexp.MustCompile(`\bstays? the caller's\b`), `write "the caller still owns it"`},
}

// Finding is a construction in a file.
type Finding struct {
	Position token.Position // start of the comment or paragraph
	Text     string         // text that the rule matched
	Advice   string
}

// String returns the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %q: %s", f.Position, f.Text, f.Advice) }

// File returns the findings in a Go source file, in order, and none for generated files. If src is nil, it reads the file.
func File(set *token.FileSet, name string, src []byte) ([]Finding, error) {
	var from any
	if src != nil {
		from = src
	}
	f, err := parser.ParseFile(set, name, from, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(f) {
		return nil, nil
	}
	var all []Finding
	for _, c := range f.Comments {
		all = append(all, match(set.Position(c.Pos()), c.Text())...)
	}
	return all, nil
}

// match applies the rules to a text.
func match(at token.Position, text string) (all []Finding) {
	text = strings.Join(strings.Fields(text), " ")
	for _, r := range Rules {
		for _, m := range r.Pattern.FindAllString(text, -1) {
			all = append(all, Finding{at, m, r.Advice})
		}
	}
	return all
}

// Tree returns the findings in all Go files and Markdown documents below a folder, in the order of their paths. It leaves out folders
// whose name begins with a dot, is testdata or node_modules, or is in skip.
func Tree(root string, skip ...string) ([]Finding, error) {
	set := token.NewFileSet()
	var all []Finding
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if n := d.Name(); path != root && (strings.HasPrefix(n, ".") || n == "testdata" || n == "node_modules" || slices.Contains(skip, n)) {
				return fs.SkipDir
			}
			return nil
		}
		var found []Finding
		switch {
		case strings.HasSuffix(path, ".go"):
			found, err = File(set, path, nil)
		case strings.HasSuffix(path, ".md"):
			var text []byte
			text, err = os.ReadFile(path)
			found = Document(path, string(text))
		}
		all = append(all, found...)
		return err
	})
	return all, err
}
