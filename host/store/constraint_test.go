package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// bounds returns the range of releases that a single term allows, according to semver: the half-open range [lo, hi); nil means unbounded.
// If inverted is set, the term allows the releases outside the range. The function does not use the code under test: it represents a
// version as one number.
func bounds(op string, v [3]int, parts int) (lo, hi *int, inverted bool) {
	at := func(a, b, c int) *int { n := a*10000 + b*100 + c; return &n }
	this := at(v[0], v[1], v[2])
	next := []*int{nil, at(v[0]+1, 0, 0), at(v[0], v[1]+1, 0), at(v[0], v[1], v[2]+1)}[parts]
	switch op {
	case "", "=":
		return this, next, false
	case "!=":
		return this, next, true
	case ">":
		return next, nil, false
	case ">=":
		return this, nil, false
	case "<":
		return nil, this, false
	case "<=":
		return nil, next, false
	case "~":
		return this, []*int{nil, at(v[0]+1, 0, 0), at(v[0], v[1]+1, 0), at(v[0], v[1]+1, 0)}[parts], false
	}
	switch { // ^
	case v[0] > 0 || parts == 1:
		return this, at(v[0]+1, 0, 0), false
	case v[1] > 0 || parts == 2:
		return this, at(0, v[1]+1, 0), false
	}
	return this, at(0, 0, v[2]+1), false
}

// Allows agrees with bounds for every combination of operator, version and number of its parts, both for a single term and for the term
// combined with a second one.
func TestConstraintGrid(t *testing.T) {
	numbers := []int{0, 1, 2, 9}
	var versions [][3]int
	for _, a := range numbers[:3] {
		for _, b := range numbers {
			for _, c := range numbers {
				versions = append(versions, [3]int{a, b, c})
			}
		}
	}
	allows := func(op string, v [3]int, parts int, x [3]int) bool {
		lo, hi, inverted := bounds(op, v, parts)
		n := x[0]*10000 + x[1]*100 + x[2]
		return (lo == nil || n >= *lo) && (hi == nil || n < *hi) != inverted || inverted && lo != nil && n < *lo
	}
	for _, op := range []string{"", "=", "!=", ">", ">=", "<", "<=", "~", "^"} {
		for _, v := range versions {
			for parts := 1; parts <= 3; parts++ {
				text := op + []string{"", fmt.Sprint(v[0]), fmt.Sprintf("%d.%d", v[0], v[1]), fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])}[parts]
				given := v
				for i := parts; i < 3; i++ {
					given[i] = 0
				}
				one, err := ParseConstraint(text)
				require.NoError(t, err, text)
				both, err := ParseConstraint(" " + text + " ,<2.1")
				require.NoError(t, err, text)
				for _, x := range versions {
					version := fmt.Sprintf("%d.%d.%d", x[0], x[1], x[2])
					want := allows(op, given, parts, x)
					require.Equal(t, want, one.Allows(version), "%s of %s", text, version)
					require.Equal(t, want && (x[0] < 2 || x[1] < 1), both.Allows(version), "%s of %s", both, version)
					require.False(t, one.Allows(version+"-rc.1"), "%s allows a pre-release, although no term names one", text)
				}
				if one.Exact() != "" {
					require.True(t, one.Allows(one.Exact()), text)
				}
			}
		}
	}
}

// Constraints with impossible versions are errors: versions in the store have no leading zeros, empty parts or build suffixes.
func TestConstraintRefused(t *testing.T) {
	for _, text := range []string{"01.2.3", "1.02", "=1.2.03", "^00", "1.2.3-", "1.2.3-rc..1", "1.2.3-.rc", "1.2.3-rc.", "1.2.3+build", "1.2.x", "*", "1.2.3 1.2.4", ">=1,,<2", "1.2.3,"} {
		_, err := ParseConstraint(text)
		require.ErrorIs(t, err, ErrFormat, text)
		require.ErrorContains(t, err, "want for example", text)
	}
}

func FuzzConstraint(f *testing.F) {
	for _, s := range []string{"1.2.3", ">=1.0,<2.0", "~1.2", "^0.0.1-rc.1", "!=1", "latest", "v1"} {
		f.Add(s, "1.2.3")
		f.Add(s, "1.2.3-rc.1")
	}
	f.Fuzz(func(t *testing.T, text, version string) {
		c, err := ParseConstraint(text)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		c.Allows(version)
		again, err := ParseConstraint(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
		if v := c.Exact(); v != "" {
			require.True(t, c.Allows(v), "%q has %q as its only version", text, v)
			require.NoError(t, ID{Address{"example.org", "acme", "npu"}, v, "linux_amd64"}.check(), "%q: no version can be %q", text, v)
		}
	})
}
