package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The files of a submission, a folder. The waivers and the key are optional.
const (
	SubmissionFile = "submission.json"
	ReportFile     = "report.tar.gz"
	WaiversFile    = "waivers.json"
	KeyFile        = "maker.pub" // public key of the signer of the report
)

// Submission is a report that its author submits for listing.
type Submission struct {
	Name     string    `json:"name"` // name of the backend, for display
	Maker    string    `json:"maker"`
	Homepage string    `json:"homepage,omitempty"`
	Contact  string    `json:"contact"`
	Hardware string    `json:"hardware"` // the tested hardware, with driver
	Profiles []Profile `json:"profiles"`
	// Support is the last day on which the author handles faults of this version, YYYY-MM-DD.
	Support string `json:"support"`

	Folder    string      `json:"-"`
	Manifest  *Manifest   `json:"-"`
	Standings []*Standing `json:"-"` // for each of Profiles
}

// ReadSubmission reads and checks the submission in a folder. The report must be for one of the given releases. Every profile that the
// submission names must pass by the rules of that release and the waivers. The report must be signed with the key in the folder; verify
// checks the signature. If the folder has no key, the report must be unsigned, and nobody confirms its results. Together with an error,
// ReadSubmission returns as much of the Submission as it could read.
func ReadSubmission(dir string, releases []Release, now time.Time, verify func(keyFile string, m *Manifest) error) (*Submission, error) {
	s := &Submission{Folder: filepath.Base(dir)}
	text, err := os.ReadFile(filepath.Join(dir, SubmissionFile))
	if err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return s, fmt.Errorf("conformance: %s: %w", SubmissionFile, err)
	}
	if err := s.check(); err != nil {
		return s, fmt.Errorf("conformance: %s: %w", SubmissionFile, err)
	}
	if s.Manifest, err = Verify(filepath.Join(dir, ReportFile)); err != nil {
		return s, err
	}
	key := filepath.Join(dir, KeyFile)
	if _, err := os.Stat(key); err == nil {
		if err := verify(key, s.Manifest); err != nil {
			return s, err
		}
	} else if s.Manifest.Signature != nil {
		return s, fmt.Errorf("conformance: the report is signed, but %s is missing", KeyFile)
	}
	var waivers []Waiver
	switch text, err := os.ReadFile(filepath.Join(dir, WaiversFile)); {
	case err == nil:
		if waivers, err = ParseWaivers(text, now); err != nil {
			return s, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return s, err
	}
	return s, s.stand(releases, waivers, now)
}

func (s *Submission) check() error {
	switch _, err := time.Parse(time.DateOnly, s.Support); {
	case s.Name == "" || s.Maker == "" || s.Contact == "" || s.Hardware == "":
		return errors.New("want name, maker, contact and hardware")
	case err != nil:
		return fmt.Errorf("support %q, want YYYY-MM-DD", s.Support)
	case len(s.Profiles) == 0:
		return errors.New("want profiles")
	}
	return nil
}

// stand compares the report with the must-pass list of its release.
func (s *Submission) stand(releases []Release, waivers []Waiver, now time.Time) error {
	i := slices.IndexFunc(releases, func(r Release) bool { return r.Suite == s.Manifest.Suite.Hash })
	if i < 0 {
		return fmt.Errorf("conformance: %w: no release has the suite of the report", ErrOtherSuite)
	}
	left := slices.Clone(waivers)
	for _, p := range s.Profiles {
		own, err := s.Manifest.Standing(&releases[i], p, waivers, now)
		if err != nil {
			return err
		}
		s.Standings = append(s.Standings, own)
		if !own.OK() {
			return fmt.Errorf("conformance: profile %s of release %s: %d of %d cases passed that must: %s", p, releases[i].Date, own.Passed, own.Must,
				strings.Join(slices.Concat(own.Faults, own.Missing[:min(3, len(own.Missing))]), "; "))
		}
		left = slices.DeleteFunc(left, func(w Waiver) bool { return slices.Contains(own.Waived, w.Case) })
	}
	if len(left) > 0 {
		return fmt.Errorf("conformance: the waiver of %s excuses nothing: remove it from the list", left[0].Case)
	}
	return nil
}

// ofProfile returns the waivers of cases of p.
func (m *Manifest) ofProfile(waivers []Waiver, p Profile) []Waiver {
	in := map[string]bool{}
	for _, line := range m.lines {
		id, profiles := parseCaseLine(line)
		in[id] = slices.Contains(append(profiles, All), p)
	}
	return slices.DeleteFunc(slices.Clone(waivers), func(w Waiver) bool { return !in[w.Case] })
}

// WriteScoreboard writes the page of kept reports, a table in Markdown: a line for each submission, the newest release first, then by
// name. Every submission must be one that ReadSubmission returned without an error.
func WriteScoreboard(w io.Writer, submissions []*Submission) error {
	for _, s := range submissions {
		if len(s.Standings) == 0 || s.Manifest == nil {
			return fmt.Errorf("conformance: the submission %q has no standing, want one for each of its profiles", s.Name)
		}
	}
	l := slices.SortedFunc(slices.Values(submissions), func(a, b *Submission) int {
		return cmp.Or(cmp.Compare(b.Standings[0].Release, a.Standings[0].Release), cmp.Compare(a.Name, b.Name))
	})
	cell := func(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(s) }
	var b bytes.Buffer
	b.WriteString("<!-- Generated by: burn conformance scoreboard. Do not edit. -->\n\n# Scoreboard\n\nThis page lists submitted reports that were checked as [VENDORS.md](../docs/VENDORS.md) describes. " +
		"A profile passes if all cases passed that the release requires. Other cases may be skipped; the report has the reasons.\n\n" +
		"| backend | version | maker | hardware | release | profiles: must pass | seeds | signed | support until |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range l {
		var profiles []string
		for _, p := range s.Standings {
			text := fmt.Sprintf("%s %d", p.Profile, p.Passed)
			if n := len(p.Waived); n > 0 {
				text += fmt.Sprintf(" of %d, %d waived", p.Must, n)
			}
			profiles = append(profiles, text)
		}
		signed, seeds := "no", fmt.Sprintf("chosen: %d", s.Manifest.Seed)
		if s.Manifest.Signature != nil {
			signed = s.Manifest.Signature.Key
		}
		if c := s.Manifest.Challenge; c != nil {
			seeds = fmt.Sprintf("%d of a challenge", c.Seeds)
		}
		name := cell(s.Name)
		if strings.HasPrefix(s.Homepage, "https://") && !strings.ContainsAny(s.Homepage, " ()<>|\n") {
			name = "[" + name + "](" + s.Homepage + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, cell(s.Manifest.Backend.Version), cell(s.Maker), cell(s.Hardware), s.Standings[0].Release,
			strings.Join(profiles, ", "), seeds, cell(signed), s.Support)
	}
	_, err := w.Write(b.Bytes())
	return err
}
