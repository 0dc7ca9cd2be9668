package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// SuiteVersion is increased when the check of a case changes but its id does not.
const SuiteVersion = 5

// Suite identifies the set of cases that a backend was tested with. Two reports are comparable when their hashes are equal.
type Suite struct {
	Version int    `json:"version"`
	Table   string `json:"table"` // SHA-256 of the op table
	Cases   string `json:"cases"` // SHA-256 of the ids with their profiles, a line each
	Hash    string `json:"hash"`  // of all three
	Total   int    `json:"total"`
	lines   []string
}

// Current returns the suite of this build.
func Current() Suite { return current() }

var current = sync.OnceValue(func() Suite { return suiteOf(allCases()) })

func suiteOf(cases []testCase) Suite {
	lines := make([]string, len(cases))
	for i, c := range cases {
		lines[i] = caseLine(c.id, c.profiles())
	}
	table := sha256.New()
	describeTable(table)
	return newSuite(SuiteVersion, sum(table), lines)
}

// caseLine returns a case in the list of a suite: "add/f32/same/plain core".
func caseLine(id string, profiles []Profile) string {
	var b strings.Builder
	b.WriteString(id)
	for i, p := range profiles {
		b.WriteByte(" ,"[min(i, 1)])
		b.WriteString(string(p))
	}
	return b.String()
}

// parseCaseLine is the inverse of caseLine.
func parseCaseLine(line string) (id string, profiles []Profile) {
	id, list, found := strings.Cut(line, " ")
	if found {
		for _, p := range strings.Split(list, ",") {
			profiles = append(profiles, Profile(p))
		}
	}
	return id, profiles
}

func newSuite(version int, table string, lines []string) Suite {
	cases := sha256.New()
	for _, l := range lines {
		_, _ = io.WriteString(cases, l+"\n") // a hash accepts all writes
	}
	s := Suite{Version: version, Table: table, Cases: sum(cases), Total: len(lines), lines: lines}
	all := sha256.New()
	fmt.Fprintf(all, "burn conformance suite %d\ntable %s\ncases %s\n", s.Version, s.Table, s.Cases)
	s.Hash = sum(all)
	return s
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// describeTable writes name, version, class, results, tolerance, operands, attributes, constraints and domains of every op of this build
// except custom ops.
func describeTable(w io.Writer) {
	for _, c := range op.All() {
		r := op.Lookup(c)
		if r.Class == op.Custom {
			continue
		}
		fmt.Fprintf(w, "%s %d %v %v %v\n", r.Name, r.Version, r.Class, r.Results, r.Tolerance)
		for _, o := range r.Operands {
			fmt.Fprintf(w, " in %s %v %d %v %v\n", o.Name, o.Types, o.SameAs, o.Optional, o.Variadic)
		}
		for _, a := range r.Attrs {
			fmt.Fprintf(w, " attr %s %v %v %v\n", a.Name, a.Kind, a.Default, a.OneOf)
		}
		for _, x := range r.Constraints {
			fmt.Fprintf(w, " %s %s\n", x.ID, x.Text)
		}
		fmt.Fprintf(w, " domain %v\n", r.Domain)
	}
}

// Environment describes the program and the platform of a run.
type Environment struct {
	Platform string `json:"platform"`
	Go       string `json:"go"`
	CPUs     int    `json:"cpus"`
	Build    string `json:"build,omitempty"` // version of burn
	Host     string `json:"host,omitempty"`
}

func environment() Environment {
	e := Environment{Platform: core.Platform(), Go: runtime.Version(), CPUs: runtime.NumCPU()}
	if b, ok := debug.ReadBuildInfo(); ok {
		e.Build = b.Main.Version
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				e.Build += " " + s.Value
			}
		}
	}
	if name, err := os.Hostname(); err == nil {
		e.Host = name
	}
	return e
}
