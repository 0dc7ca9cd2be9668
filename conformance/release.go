package conformance

import (
	"bufio"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Release is a dated edition of the suite for certificates. It defines the cases and which of them a backend must pass. Other cases may be
// skipped for a reason.
type Release struct {
	Date  string // YYYY-MM-DD
	Suite string // hash
	rules []rule
}

// rule is a line of a release: it says whether the cases of a profile whose ids match a pattern must be passed or are optional.
type rule struct {
	profile Profile
	must    bool
	pattern *regexp.Regexp
}

//go:embed releases/*.txt
var releaseFiles embed.FS

// Releases lists the releases of this build, the newest first.
func Releases() ([]Release, error) {
	names, err := fs.Glob(releaseFiles, "releases/*.txt")
	if err != nil {
		return nil, err
	}
	var l []Release
	for _, name := range names {
		text, err := releaseFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := ParseRelease(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if want := strings.TrimSuffix(path.Base(name), ".txt"); r.Date != want {
			return nil, fmt.Errorf("%s: the date is %s, want the date in the name of the file", name, r.Date)
		}
		l = append(l, *r)
	}
	slices.SortFunc(l, func(a, b Release) int { return cmp.Compare(b.Date, a.Date) })
	return l, nil
}

// ParseRelease reads the text of a release. Its lines, except empty ones and those that begin with #, are "date YYYY-MM-DD", "suite
// HASH", "must PROFILE REGEXP" and "optional PROFILE REGEXP". A case of a profile must be passed if the pattern of a "must" line matches its
// id and the pattern of no "optional" line does.
func ParseRelease(text string) (*Release, error) {
	r := &Release{}
	s := bufio.NewScanner(strings.NewReader(text))
	for n := 1; s.Scan(); n++ {
		word, rest, _ := strings.Cut(strings.TrimSpace(s.Text()), " ")
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(word, "#") {
			continue
		}
		switch word {
		case "":
		case "date":
			if _, err := time.Parse(time.DateOnly, rest); err != nil {
				return nil, fmt.Errorf("conformance: release: line %d: date %q, want YYYY-MM-DD", n, rest)
			}
			r.Date = rest
		case "suite":
			r.Suite = rest
		case "must", "optional":
			profile, pattern, _ := strings.Cut(rest, " ")
			x, err := regexp.Compile(strings.TrimSpace(pattern))
			if err != nil || !slices.Contains(Profiles(), Profile(profile)) || pattern == "" {
				return nil, fmt.Errorf("conformance: release: line %d: want a profile and a regular expression, got %q", n, rest)
			}
			r.rules = append(r.rules, rule{Profile(profile), word == "must", x})
		default:
			return nil, fmt.Errorf("conformance: release: line %d: %q, want date, suite, must or optional", n, word)
		}
	}
	if r.Date == "" || len(r.Suite) != 64 {
		return nil, fmt.Errorf("conformance: release: date %q and suite %q, want both", r.Date, r.Suite)
	}
	return r, s.Err()
}

// Must reports whether a case of profile p must be passed.
func (r *Release) Must(p Profile, id string) bool {
	must := false
	for _, x := range r.rules {
		if x.profile == p && x.pattern.MatchString(id) {
			if !x.must {
				return false
			}
			must = true
		}
	}
	return must
}

// Lists reports whether the release defines which cases of p must be passed.
func (r *Release) Lists(p Profile) bool {
	return slices.ContainsFunc(r.rules, func(x rule) bool { return x.profile == p && x.must })
}

// Standing is the outcome of comparing a report with the must-pass list of a release.
type Standing struct {
	Release string
	Profile Profile
	Must    int // cases that must be passed
	Passed  int
	Waived  []string // ids that a waiver excuses
	// Missing lists cases that must be passed and did not pass, and other cases that failed, unless they are waived: "sin/f32/odd/plain:
	// failed".
	Missing []string
	// Faults are faulty waivers: one that has expired, or that excuses nothing.
	Faults []string
}

// OK reports whether the report passes.
func (s *Standing) OK() bool { return len(s.Missing)+len(s.Faults) == 0 && s.Must > 0 }

// Standing compares a report that Verify read with the must-pass list of a release for p. It ignores waivers of cases of other profiles.
// now determines whether waivers have expired. Standing returns ErrOtherSuite if the report is of another suite than the release.
func (m *Manifest) Standing(r *Release, p Profile, waivers []Waiver, now time.Time) (*Standing, error) {
	if m.Suite.Hash != r.Suite {
		return nil, fmt.Errorf("conformance: %w: the suite of the report is %s, the suite of release %s is %s", ErrOtherSuite, m.Suite.Hash, r.Date, r.Suite)
	}
	if !r.Lists(p) {
		return nil, fmt.Errorf("conformance: release %s has no list of cases that must pass for profile %s", r.Date, p)
	}
	waivers = m.ofProfile(waivers, p)
	status := map[string]Status{}
	for _, x := range m.rows {
		status[x.ID] = x.Status
	}
	s := &Standing{Release: r.Date, Profile: p}
	used := make([]bool, len(waivers))
	for _, line := range m.lines {
		id, profiles := parseCaseLine(line)
		must, failed := r.Must(p, id), status[id] == Failed || status[id] == Expected
		if !slices.Contains(append(profiles, All), p) || !must && !failed {
			continue
		}
		if must {
			s.Must++
		}
		if status[id] == Passed {
			s.Passed++
			continue
		}
		waived := false
		for i, w := range waivers {
			if w.Case == id {
				used[i] = true
				waived = waived || !w.expired(now)
			}
		}
		if waived {
			s.Waived = append(s.Waived, id)
			continue
		}
		s.Missing = append(s.Missing, fmt.Sprintf("%s: %s", id, cmp.Or(status[id], "not run")))
	}
	for i, w := range waivers {
		switch {
		case w.expired(now):
			s.Faults = append(s.Faults, fmt.Sprintf("the waiver of %s expired on %s; its owner is %s, the issue %s", w.Case, w.Expires, w.Owner, w.Issue))
		case !used[i]:
			s.Faults = append(s.Faults, fmt.Sprintf("the waiver of %s excuses nothing: remove it from the list", w.Case))
		}
	}
	return s, nil
}
