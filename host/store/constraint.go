package store

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/host/manifest"
)

// Constraint is a set of acceptable versions.
type Constraint struct {
	text  string
	terms []term
}

type term struct {
	op, version string
	parts       int // number of parts that were given: 1 to 3
}

var termForm = regexp.MustCompile(`^(=|!=|>=|<=|>|<|~|\^)?\s*v?(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?)?$`)

// ParseConstraint parses comma-separated terms, which must all hold: 1.2.3 allows that version, 1.2 any of 1.2.x; =, !=, >, >=, < and <=
// compare; ~1.2.3 allows newer patches, ^1.2.3 newer minor versions too (of 0.x versions: patches). The empty text and "latest" allow all.
// A pre-release is allowed only by a term that names a pre-release of the same MAJOR.MINOR.PATCH.
func ParseConstraint(text string) (Constraint, error) {
	c := Constraint{text: strings.TrimSpace(text)}
	if c.text == "" || c.text == "latest" {
		return c, nil
	}
	for _, t := range strings.Split(c.text, ",") {
		m := termForm.FindStringSubmatch(strings.TrimSpace(t))
		if m == nil {
			return c, fmt.Errorf("version constraint: got %q, want for example 1.2.3, 1.2, >=1.0,<2.0, ~1.2.3 or ^1.2: %w", t, ErrFormat)
		}
		p := 1
		for i := 3; i <= 4; i++ {
			if m[i] == "" {
				m[i] = "0"
			} else {
				p++
			}
		}
		c.terms = append(c.terms, term{m[1], m[2] + "." + m[3] + "." + m[4] + m[5], p})
	}
	return c, nil
}

// String returns the text that was read.
func (c Constraint) String() string { return c.text }

// Exact returns the only version that c allows, or "" if it may allow several.
func (c Constraint) Exact() string {
	if len(c.terms) == 1 && (c.terms[0].op == "" || c.terms[0].op == "=") && c.terms[0].parts == 3 {
		return c.terms[0].version
	}
	return ""
}

// Allows reports whether a version satisfies the constraint.
func (c Constraint) Allows(version string) bool {
	base, pre, _ := strings.Cut(version, "-")
	if pre != "" && !slices.ContainsFunc(c.terms, func(t term) bool {
		b, p, _ := strings.Cut(t.version, "-")
		return p != "" && b == base
	}) {
		return false
	}
	return !slices.ContainsFunc(c.terms, func(t term) bool { return !t.allows(version) })
}

func (t term) allows(v string) bool {
	cmp := manifest.CompareVersions(v, t.version)
	switch t.op {
	case "!=":
		return !t.within(v)
	case ">":
		return cmp > 0 && !t.within(v)
	case ">=":
		return cmp >= 0
	case "<":
		return cmp < 0
	case "<=":
		return cmp < 0 || t.within(v)
	case "~":
		return cmp >= 0 && same(v, t.version, min(t.parts, 2))
	case "^":
		return cmp >= 0 && same(v, t.version, t.caret())
	}
	return t.within(v)
}

// within reports whether v equals t's version in the parts that t has: 1.2.9 is within 1.2.
func (t term) within(v string) bool {
	if t.parts == 3 {
		return manifest.CompareVersions(v, t.version) == 0
	}
	return same(v, t.version, t.parts)
}

// caret returns the number of parts that must not change: the parts up to the first nonzero part.
func (t term) caret() int {
	n := numbers(t.version)
	for i := range t.parts {
		if n[i] != 0 {
			return i + 1
		}
	}
	return t.parts
}

func same(a, b string, parts int) bool {
	return slices.Equal(numbers(a)[:parts], numbers(b)[:parts])
}

func numbers(version string) []uint64 {
	base, _, _ := strings.Cut(version, "-")
	n := make([]uint64, 3)
	for i, s := range strings.SplitN(base, ".", 3) {
		n[i], _ = strconv.ParseUint(s, 10, 64)
	}
	return n
}

// Newest returns the newest of versions that c allows.
func (c Constraint) Newest(versions []string) (string, bool) {
	best := ""
	for _, v := range versions {
		if c.Allows(v) && (best == "" || manifest.CompareVersions(v, best) > 0) {
			best = v
		}
	}
	return best, best != ""
}
