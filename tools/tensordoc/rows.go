package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// row holds the names of a function in Burn and PyTorch. Both may be empty, as for a function without a row.
type row struct {
	burn  []string
	torch string
}

//go:embed rows.txt
var rowText string

// parseRows parses lines "function | burn names | torch"; it skips blank lines and lines that begin with #.
func parseRows(text string) (map[string]row, error) {
	rows := map[string]row{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 3 {
			return nil, fmt.Errorf("rows.txt:%d: %d columns, want 3: %q", i+1, len(parts), line)
		}
		name := strings.TrimSpace(parts[0])
		if _, dup := rows[name]; dup {
			return nil, fmt.Errorf("rows.txt:%d: a second row for %s", i+1, name)
		}
		rows[name] = row{strings.Fields(parts[1]), strings.TrimSpace(parts[2])}
	}
	return rows, nil
}

// check returns an error that lists rows without a function, empty rows, names that Burn does not have, functions of Burn without
// a counterpart, and unneeded reasons.
func check(funcs []function, rows map[string]row) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	here := map[string]bool{}
	for _, f := range funcs {
		here[f.name] = true
	}
	stands := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !here[name] {
			fault("rows.txt: %s names no function of package tensor", name)
		}
		if r := rows[name]; len(r.burn) == 0 && r.torch == "" {
			fault("rows.txt: %s has neither a name of Burn nor one of PyTorch", name)
		}
		for _, b := range rows[name].burn {
			stands[b] = true
		}
	}
	theirs, used := map[string]bool{}, map[string]bool{}
	for _, m := range burn {
		for _, name := range strings.Fields(m.names) {
			theirs[name] = true
			reason := false
			for _, key := range []string{m.file + " " + name, name, m.file} {
				if _, ok := reasons[key]; ok {
					used[key], reason = true, true
				}
			}
			if !reason && !stands[name] {
				fault("burn.go: %s of %s has no counterpart: name it in a row, or give a reason", name, m.file)
			}
		}
	}
	for _, b := range slices.Sorted(maps.Keys(stands)) {
		if !theirs[b] {
			fault("rows.txt: Burn has no function %s", b)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		if !used[key] {
			fault("burn.go: the reason for %q is not used", key)
		}
	}
	return errors.Join(faults...)
}
