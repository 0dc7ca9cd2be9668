package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// table writes the number of ops by class, and the number that the device computes natively.
func table(ctx context.Context, w io.Writer, open onnxtest.Opener) error {
	p, err := open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	d, err := p.Open(ctx)
	if err != nil {
		return err
	}
	claims := d.Capabilities().Ops
	total, native, rows := map[op.Class]int{}, map[op.Class]int{}, map[string][3]int{}
	var groups []string
	for _, c := range op.All() {
		r := op.Lookup(c)
		g, seen := rows[r.Section]
		if !seen {
			groups = append(groups, r.Section)
		}
		total[r.Class]++
		g[r.Class]++
		if _, ok := claims[r.Name]; ok {
			native[r.Class]++
			g[2]++
		}
		rows[r.Section] = g
	}
	fmt.Fprintf(w, "\n## Ops\n\n%d primitives, of which the device computes %d; %d composites, %d natively and the others by their decomposition. "+
		"Each is described in [OPS.md](OPS.md).\n", total[op.Primitive], native[op.Primitive], total[op.Composite], native[op.Composite])
	fmt.Fprintf(w, "\n| group | primitives | composites | native |\n|---|--:|--:|--:|\n")
	for _, g := range groups {
		fmt.Fprintf(w, "| %s | %d | %d | %d |\n", g, rows[g][0], rows[g][1], rows[g][2])
	}
	return nil
}

// suite runs the conformance suite in this process, and writes the counts of its cases by profile.
func suite(ctx context.Context, w io.Writer, open onnxtest.Opener) error {
	report, err := conformance.Check(ctx, func() (core.Backend, error) {
		d, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}, conformance.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n## Conformance\n\n| profile | verdict | cases | passed | failed | skipped |\n|---|---|--:|--:|--:|--:|\n")
	for _, p := range report.Profiles {
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d |\n", p.Profile, p.Verdict, p.Total, p.Passed, p.Failed, p.Skipped)
	}
	return nil
}

// mutants runs the tests in which the suite must detect backends with a planted fault, and writes how many it detects.
func mutants(ctx context.Context, w io.Writer) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^TestMutant", "./conformance").CombinedOutput()
	caught, escaped := 0, 0
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		switch line := s.Text(); {
		case strings.HasPrefix(line, "    --- PASS:"):
			caught++
		case strings.HasPrefix(line, "    --- FAIL:"):
			escaped++
		}
	}
	if caught+escaped == 0 {
		return fmt.Errorf("mutants: none was run: %v: %s", err, out)
	}
	fmt.Fprintf(w, "\nOf %d backends with one planted fault each, the suite catches **%d**.\n", caught+escaped, caught)
	return nil
}
