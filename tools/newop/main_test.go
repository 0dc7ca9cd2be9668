package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// maxFiles is the greatest number of files of a composite to edit by hand.
const maxFiles = 6

// files returns the files that s edits, in order.
func (s scratch) files() []string {
	set := map[string]bool{}
	for _, e := range s.edits {
		set[e.file] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// listed returns the files at the start of the entries in the numbered list under a heading of CONTRIBUTING.md.
func listed(t *testing.T, heading string) []string {
	data, err := os.ReadFile(root + "/CONTRIBUTING.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(data), "\n### "+heading+"\n")
	require.True(t, ok, heading)
	text, _, _ = strings.Cut(text, "\n#")
	var l []string
	for _, line := range strings.Split(text, "\n") {
		if !regexp.MustCompile(`^[0-9]+\. `).MatchString(line) {
			continue
		}
		head, _, _ := strings.Cut(line, ":")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(head, -1) {
			l = append(l, m[1])
		}
	}
	slices.Sort(l)
	return l
}

func TestListsOfContributing(t *testing.T) {
	require.Equal(t, composite.files(), listed(t, "A composite"))
	require.LessOrEqual(t, len(composite.files()), maxFiles)
	require.Equal(t, primitive.files(), listed(t, "A primitive"))
	data, err := os.ReadFile(root + "/CONTRIBUTING.md")
	require.NoError(t, err)
	require.Contains(t, string(data), "`go generate "+generated+"`")
}

// TestEditsApply checks that the tree has the anchors of the edits, and not yet the names of the scratch ops.
func TestEditsApply(t *testing.T) {
	for kind, s := range scratches {
		for _, e := range s.edits {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			require.NoError(t, err)
			require.Contains(t, string(data), e.anchor, "%s: %s", kind, e.file)
			require.NotContains(t, string(data), s.name, "%s: %s", kind, e.file)
		}
		for _, n := range s.needs {
			require.Contains(t, s.files(), n.file)
		}
	}
	require.ErrorContains(t, edit{"CONTRIBUTING.md", "no such line", ""}.apply(root), "CONTRIBUTING.md has no")
}

// A scratch op of each kind passes what looks for gaps, with the files of the list and no other.
func TestNewOp(t *testing.T) {
	if os.Getenv("BURN_NEWOP") == "" {
		t.Skip("BURN_NEWOP is not set: make newop sets it, and builds the tree again for each op, which takes minutes")
	}
	for kind, want := range map[string][]string{"composite": {"core/op/testdata/table.golden", "docs/OPS.md", "docs/TENSOR.md"},
		"primitive": {"core/op/testdata/table.golden", "docs/OPS.md"}} {
		t.Run(kind, func(t *testing.T) {
			s, dir := scratches[kind], t.TempDir()
			require.NoError(t, copyTree(dir, root))
			f, err := add(t.Context(), dir, s)
			require.NoError(t, err)
			require.Equal(t, s.files(), f.hand)
			require.Equal(t, want, f.generated)
			require.Len(t, f.missed, len(s.needs))
		})
	}
}

func TestKind(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), os.Stdout, "custom", root, ""), "want composite or primitive")
}
