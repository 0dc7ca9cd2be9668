package op_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

var update = flag.Bool("update", false, "write testdata/table.golden anew")

// builtin lists the ops of the table without those that tests register.
func builtin() []op.Code {
	var l []op.Code
	for _, c := range op.All() {
		if op.Lookup(c).Class != op.Custom {
			l = append(l, c)
		}
	}
	return l
}

// describe returns the properties of an op that users rely on. Doc lines and tolerances may improve without a new version.
func describe(r *op.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d %v\n", r.Name, r.Version, r.Class)
	for i, o := range r.Operands {
		fmt.Fprintf(&b, "  in %d %s %v", i, o.Name, o.Types)
		if o.SameAs > 0 {
			fmt.Fprintf(&b, " like %s", r.Operands[o.SameAs-1].Name)
		}
		if o.Optional {
			b.WriteString(" optional")
		}
		if o.Variadic {
			b.WriteString(" variadic")
		}
		b.WriteByte('\n')
	}
	for i, name := range r.Results {
		fmt.Fprintf(&b, "  out %d %s\n", i, name)
	}
	for _, a := range r.Attrs {
		fmt.Fprintf(&b, "  attr %s %v", a.Name, a.Kind)
		if a.Default.Kind() != 0 {
			fmt.Fprintf(&b, " = %v", a.Default)
		}
		if len(a.OneOf) > 0 {
			fmt.Fprintf(&b, " of %s", strings.Join(a.OneOf, "|"))
		}
		b.WriteByte('\n')
	}
	for _, c := range r.Constraints {
		fmt.Fprintf(&b, "  %s %s\n", c.ID, c.Text)
	}
	return b.String()
}

// Other programs and stored plans rely on the table. A row that changes needs a new version. -update accepts new rows and
// new versions, and refuses a change without a new version.
func TestTableGolden(t *testing.T) {
	const path = "testdata/table.golden"
	data, err := os.ReadFile(path)
	if !*update {
		require.NoError(t, err)
	}
	old := map[string]string{} // by first line: name, version, class
	var names []string
	for _, block := range strings.SplitAfter(string(data), "\n\n") {
		if head, _, ok := strings.Cut(block, "\n"); ok {
			old[head] = strings.TrimSuffix(block, "\n")
			names = append(names, strings.Fields(head)[0])
		}
	}
	var all strings.Builder
	present := map[string]bool{}
	for _, c := range builtin() {
		text := describe(op.Lookup(c))
		head, _, _ := strings.Cut(text, "\n")
		present[c.String()] = true
		all.WriteString(text + "\n")
		if was, ok := old[head]; ok {
			require.Equal(t, was, text, "row %s changed without a new version", head)
		} else if !*update {
			t.Errorf("%s is not in %s: run go test ./core/op -update", head, path)
		}
	}
	for _, n := range names {
		require.True(t, present[n], "op %s was removed: nodes of it are stored and sent by others", n)
	}
	if *update && !t.Failed() {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(all.String()), 0o644))
	}
}
