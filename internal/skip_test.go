package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// minWords is the least number of words in a reason.
const minWords = 3

// waiting is a requirement that skipped tests wait for, recognised by the words of their reasons.
type waiting struct {
	what  string
	words *regexp.Regexp
}

// waits lists the requirements. The first that matches a reason counts.
var waits = []waiting{
	{"a variable of the environment", regexp.MustCompile(`^BURN_\w+ (is (not )?set|names)|needs BURN_`)},
	{"a run without -short", regexp.MustCompile(`^-short|^builds |make newop`)},
	{"another system", regexp.MustCompile(`(?i)windows|linux|unix|shell script|a script|the system`)},
	{"another processor", regexp.MustCompile(`the processor`)},
	{"a program or data", regexp.MustCompile(`in PATH|not on this machine`)},
	{"something else", regexp.MustCompile(``)},
}

// A skipped test gives a reason that tells how to run it. With -v the skips are counted by requirement.
func TestSkipsHaveReasons(t *testing.T) {
	counts := make([]int, len(waits))
	parsed(t, "_test.go", func(_ string, set *token.FileSet, f *ast.File) {
		for _, s := range skips(f) {
			if s.fault != "" {
				t.Errorf("%s: %s", set.Position(s.at), s.fault)
				continue
			}
			counts[slices.IndexFunc(waits, func(w waiting) bool { return w.words.MatchString(s.reason) })]++
		}
	})
	total := 0
	for i, w := range waits {
		t.Logf("%3d skips wait for %s", counts[i], w.what)
		total += counts[i]
	}
	require.Positive(t, total)
}

// skipped is a call that skips a test: its reason, or the error in it.
type skipped struct {
	at            token.Pos
	reason, fault string
}

// skips returns the calls of methods Skip, Skipf and SkipNow in a file. A reason must begin with words, not with a value.
func skips(f *ast.File) []skipped {
	var list []skipped
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
			return true
		}
		if x, ok := method.X.(*ast.Ident); !ok || x.Name != "t" && x.Name != "b" && x.Name != "f" && x.Name != "tb" {
			return true // a method of another type
		}
		s := skipped{at: call.Pos()}
		if len(call.Args) > 0 {
			if first, ok := call.Args[0].(*ast.BasicLit); ok && first.Kind == token.STRING {
				s.reason, _ = strconv.Unquote(first.Value) // the parser has checked the literal
			}
		}
		switch words := len(strings.Fields(s.reason)); {
		case words == 0:
			s.fault = "a test is skipped without a reason in words"
		case words < minWords:
			s.fault = fmt.Sprintf("a test is skipped because of %q: say in a few words what to do to run it", s.reason)
		}
		list = append(list, s)
		return true
	})
	return list
}

func TestSkips(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
func TestA(t *testing.T) {
	t.Skip()
	t.SkipNow()
	t.Skip(err)
	t.Skipf("no %s", x)
	t.Skip("BURN_DATA is not set: it names a folder")
	t.Run("b", func(t *testing.T) { t.Skip("-short is set: ", "this is long") })
	reader.Skip(4)
}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	var faults []string
	for _, s := range skips(f) {
		faults = append(faults, s.fault)
	}
	none := "a test is skipped without a reason in words"
	require.Equal(t, []string{none, none, none, `a test is skipped because of "no %s": say in a few words what to do to run it`, "", ""}, faults)
}
