package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) conformanceScoreboardCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "scoreboard DIR",
		Short: "Check submitted reports and write the page that lists them",
		Long: `Check every submission below DIR and write a page with a line for each. A submission is a folder with submission.json, report.tar.gz and, if needed, maker.pub and waivers.json (see
docs/VENDORS.md). An invalid submission is reported on stderr and left out, and the exit
code is then 1. A submission without a report is reported and left out too.`,
		Example: "  burn conformance scoreboard submissions --out submissions/README.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.conformanceScoreboard(cmd.Context(), args[0], out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write the page to (default: standard output)")
	return cmd
}

func (a *app) conformanceScoreboard(ctx context.Context, dir, out string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	releases, err := conformance.Releases()
	if err != nil {
		return err
	}
	var kept []*conformance.Submission
	refused := 0
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !e.IsDir() {
			continue
		}
		report := filepath.Join(dir, e.Name(), conformance.ReportFile)
		if _, err := os.Stat(filepath.Join(dir, e.Name(), conformance.SubmissionFile)); err == nil {
			if _, err := os.Stat(report); errors.Is(err, os.ErrNotExist) {
				plain.Fprintf(a.err, "waiting: %s: no %s yet\n", e.Name(), conformance.ReportFile)
				continue
			}
		}
		s, err := conformance.ReadSubmission(filepath.Join(dir, e.Name()), releases, time.Now(), signedBy)
		if err != nil {
			refused++
			plain.Fprintf(a.err, "refused: %s: %v\n", e.Name(), err)
			continue
		}
		kept = append(kept, s)
	}
	var page strings.Builder
	if err := conformance.WriteScoreboard(&page, kept); err != nil {
		return err
	}
	if out == "" {
		fmt.Fprint(a.out, page.String())
	} else if err := writeFile(out, func(f *os.File) error { _, err := f.WriteString(page.String()); return err }); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("%s refused", count(refused, "submission"))
	}
	if len(kept) == 0 {
		return errors.New("no submission was found")
	}
	return nil
}

// signedBy requires that the key in a file signed the report.
func signedBy(file string, m *conformance.Manifest) error {
	k, err := store.ReadPublicKey(file)
	if err != nil {
		return err
	}
	return m.CheckSignature(func(key string, statement, signature []byte) error {
		if key != k.ID() {
			return fmt.Errorf("it is of key %s, want %s", key, k.ID())
		}
		return k.VerifyText(statement, signature)
	})
}

// releaseFlags are the flags of verify for must-pass lists.
type releaseFlags struct {
	date, waivers string
}

func (f *releaseFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.date, "release", "", "`DATE` of a release of the suite, or newest: all its required cases of the report's profile must have passed")
	fl.StringVar(&f.waivers, "waivers", "", "`FILE` with waivers: excused cases, each with issue, owner and day of expiry")
}

// standings compares a report with the must-pass lists of a release, prints the result, and returns an error if the report does not pass.
func (a *app) standings(m *conformance.Manifest, f *releaseFlags) error {
	releases, err := conformance.Releases()
	if err != nil {
		return err
	}
	var waivers []conformance.Waiver
	if f.waivers != "" {
		text, err := os.ReadFile(f.waivers)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if waivers, err = conformance.ParseWaivers(text, time.Now()); err != nil {
			return usage("--waivers: %w", err)
		}
	}
	for i := range releases {
		r := &releases[i]
		if f.date != r.Date && f.date != "newest" {
			continue
		}
		wrong, listed := 0, 0
		for _, p := range conformance.Profiles() {
			if !r.Lists(p) || m.Profile != p && m.Profile != conformance.All {
				continue
			}
			listed++
			s, err := m.Standing(r, p, waivers, time.Now())
			if err != nil {
				return err
			}
			plain.Fprintf(a.out, "release %s, profile %s: %d of %d cases that must pass, %d waived\n", s.Release, s.Profile, s.Passed, s.Must, len(s.Waived))
			for _, x := range append(s.Missing, s.Faults...) {
				plain.Fprintf(a.out, "  %s\n", x)
			}
			if !s.OK() {
				wrong++
			}
		}
		if listed == 0 {
			return usage("release %s has no list of cases that must pass for profile %s", r.Date, m.Profile)
		}
		if wrong > 0 {
			return fmt.Errorf("the report does not pass release %s", r.Date)
		}
		return nil
	}
	var dates []string
	for _, r := range releases {
		dates = append(dates, r.Date)
	}
	return usage("--release: want newest or one of %s, got %q", strings.Join(dates, ", "), f.date)
}
