package plain_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/plain"
)

const planted = "a\x1b[31m\r\nb\t\u202ec\u2066\u009bd\x7f\xff"

func TestText(t *testing.T) {
	require.Equal(t, `a\x1b[31m\r\nb\t\u202ec\u2066\u009bd\x7f\xff`, plain.Text(planted))
	require.Equal(t, "a\\x1b[31m\\r\nb\\t\\u202ec\\u2066\\u009bd\\x7f\\xff", plain.Lines(planted))
	require.Equal(t, "    at x.go:3", plain.Log("\tat x.go:3"))
	require.Equal(t, `\U000e0041`, plain.Text("\U000e0041"))
	for _, same := range []string{"", "burn-backend-cpu", "größer ≤ 3 µs", "中文 עברית 👩‍🚀", "\ufffd", `C:\new`} {
		require.Equal(t, same, plain.Text(same))
	}
}

func TestFprintf(t *testing.T) {
	type word string
	var b strings.Builder
	_, err := plain.Fprintf(&b, "%s\t%v\n%-*s|%5.1f %v %q\n", "a\nb", errors.New("\x1b[2J"), 6, word("x\r"), 2.5, []string{"y\n"}, "z\n")
	require.NoError(t, err)
	require.Equal(t, "a\\nb\t\\x1b[2J\nx\\r    |  2.5 [y\\n] \"z\\n\"\n", b.String())
}

func TestJSON(t *testing.T) {
	doc, err := json.MarshalIndent(map[string]string{"k": strings.ToValidUTF8(planted, "") + "\U000e0041"}, "", "  ")
	require.NoError(t, err)
	safe := plain.JSON(doc)
	var a, b any
	require.NoError(t, json.Unmarshal(doc, &a))
	require.NoError(t, json.Unmarshal(safe, &b))
	require.Equal(t, a, b)
	for _, r := range string(safe) {
		require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
	}
}

func FuzzText(f *testing.F) {
	f.Add(planted)
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range plain.Text(s) {
			if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
				t.Fatalf("%q has %U", s, r)
			}
		}
	})
}
