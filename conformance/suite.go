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

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// SuiteVersion is raised when what a case checks changes and its id does not.
const SuiteVersion = 1

// Suite names what was asked of a backend. Two reports are comparable when their hashes are equal.
type Suite struct {
	Version int    `json:"version"`
	Table   string `json:"table"` // SHA-256 of the op table
	Cases   string `json:"cases"` // SHA-256 of the ids, a line each
	Hash    string `json:"hash"`  // of all three
	Total   int    `json:"total"`
	ids     []string
}

// Current is the suite of this build.
func Current() Suite { return suiteOf(allCases()) }

func suiteOf(cases []testCase) Suite {
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.id
	}
	table := sha256.New()
	describeTable(table)
	return newSuite(SuiteVersion, sum(table), ids)
}

func newSuite(version int, table string, ids []string) Suite {
	cases := sha256.New()
	for _, id := range ids {
		_, _ = io.WriteString(cases, id+"\n") // a hash takes everything
	}
	s := Suite{Version: version, Table: table, Cases: sum(cases), Total: len(ids), ids: ids}
	all := sha256.New()
	fmt.Fprintf(all, "burn conformance suite %d\ntable %s\ncases %s\n", s.Version, s.Table, s.Cases)
	s.Hash = sum(all)
	return s
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// describeTable writes what the table says of every op of this build: all but the doc lines.
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

// Environment is where a run took place.
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
