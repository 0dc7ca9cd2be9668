// Package nearest finds the names that a mistyped name was probably meant to be, for error messages. Callers must not use a suggestion in
// place of the given name.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Of returns up to three of names that differ from typed by few letters or only in case, or of which typed is a prefix; the
// closest first.
func Of(typed string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	low := strings.ToLower(typed)
	for _, name := range names {
		n := strings.ToLower(name)
		d := distance(low, n)
		switch {
		case name == typed || typed == "":
			continue
		case len(low) > 1 && strings.HasPrefix(n, low):
			d = min(d, 1)
		case d > max(1, min(len(low), len(n))/3):
			continue
		}
		found = append(found, candidate{name, d})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	found = slices.Compact(found)
	names = nil
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// Hint formats the result of Of as part of a message, `; did you mean "x" or "y"?`. It is empty if no name is close.
func Hint(typed string, names []string) string {
	near := Of(typed, names)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// maxLength limits the length of names that are compared.
const maxLength = 64

// distance returns the least number of insertions, deletions, substitutions and swaps of neighbours, each at most once per
// position (optimal string alignment).
func distance(a, b string) int {
	if len(a) > maxLength || len(b) > maxLength {
		return maxLength
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
