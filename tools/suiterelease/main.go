// Command suiterelease writes a release of the conformance suite: conformance/releases/DATE.txt, with the hash of the current suite and the
// rules of the newest earlier release.
//
//	go run ./tools/suiterelease -date 2026-11-23
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/conformance"
)

func main() {
	date := flag.String("date", "", "`DATE` of the release, YYYY-MM-DD")
	dir := flag.String("dir", "conformance/releases", "`FOLDER` of the releases")
	flag.Parse()
	if err := write(*dir, *date, conformance.Current().Hash); err != nil {
		fmt.Fprintln(os.Stderr, "suiterelease:", err)
		os.Exit(1)
	}
}

// write writes the release of a date to dir. If the newest release has the same hash, it returns an error and writes nothing.
func write(dir, date, hash string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("date %q, want YYYY-MM-DD", date)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no release in %s to take the rules from", dir)
	}
	newest := slices.Max(names)
	text, err := os.ReadFile(newest)
	if err != nil {
		return err
	}
	old, err := conformance.ParseRelease(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", newest, err)
	}
	switch {
	case old.Suite == hash:
		return fmt.Errorf("release %s already has the hash of this suite", old.Date)
	case old.Date > date:
		return fmt.Errorf("date %s, want %s or later, the date of the newest release", date, old.Date)
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "date "):
			lines[i] = "date " + date
		case strings.HasPrefix(l, "suite "):
			lines[i] = "suite " + hash
		}
	}
	return os.WriteFile(filepath.Join(dir, date+".txt"), []byte(strings.Join(lines, "\n")), 0o644)
}
