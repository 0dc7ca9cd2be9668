package onnx

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exempt maps operators of the default domain without a converter to the reason.
var exempt = map[string]string{
	"RegexFullMatch":   "tensors of strings",
	"StringConcat":     "tensors of strings",
	"StringNormalizer": "tensors of strings",
	"StringSplit":      "tensors of strings",
}

// TestEverySchema compares the registry with the schemas of ONNX: it has every operator of the default domain in every opset,
// except exempt ones, and nothing else.
func TestEverySchema(t *testing.T) {
	f, err := os.Open("testdata/schemas.txt")
	require.NoError(t, err)
	defer f.Close()
	known, checked := map[string]bool{}, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		if words[0] == "#" {
			continue
		}
		name := words[0]
		known[name] = true
		for _, w := range words[1:] {
			since, deprecated := strings.CutSuffix(w, "-")
			v, err := strconv.Atoi(since)
			require.NoError(t, err)
			_, ok := find("", name, v)
			switch reason := exempt[name]; {
			case v < MinOpset || v > MaxOpset || deprecated:
			case reason != "":
				require.False(t, ok, "%s is there now: it is not exempt", name)
			case !ok:
				t.Errorf("no converter for %s since %d", name, v)
			default:
				checked++
			}
		}
	}
	require.Greater(t, checked, 500)
	for name := range exempt {
		require.True(t, known[name], name)
	}
	for k := range registry {
		if k.domain == "" && !known[k.op] {
			t.Errorf("%s is no operator of ONNX", k.op)
		}
	}
}
