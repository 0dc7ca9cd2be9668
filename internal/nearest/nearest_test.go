package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	names := []string{"run", "inspect", "train", "devices", "conformance", "bench", "plugin", "doctor", "version"}
	for typed, want := range map[string][]string{
		"rum": {"run"}, "urn": {"run"}, "runn": {"run"}, "insepct": {"inspect"}, "device": {"devices"}, "dev": {"devices"}, "plugins": {"plugin"},
		"conformence": {"conformance"}, "TRAIN": {"train"}, "doctr": {"doctor"}, "serve": nil, "x": nil, "": nil, "run": nil, "vesrion": {"version"},
	} {
		require.Equal(t, want, Of(typed, names), typed)
	}
	require.Empty(t, Of(strings.Repeat("x", 1<<20), names))
	require.Equal(t, []string{"ab", "ac", "ad"}, Of("aa", []string{"ad", "ab", "ac", "ae", "ab"}))
	require.Equal(t, `; did you mean "builtin"?`, Hint("bultin", []string{"builtin", "process", "shared"}))
	require.Empty(t, Hint("zzz", names))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		require.Equal(t, c.want, distance(c.a, c.b), c)
		require.Equal(t, c.want, distance(c.b, c.a), c)
	}
}
