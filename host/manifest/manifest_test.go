package manifest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/manifest"
)

// ascending lists versions in the order of semver.org, section 11, which has some of them as examples. Versions in one entry
// are equal.
var ascending = [][]string{
	{"0.0.0-0", "v0.0.0-0"},
	{"0.0.0"},
	{"0.9.10"},
	{"1.0.0-0"},
	{"1.0.0-2"},
	{"1.0.0-10"},
	{"1.0.0-18446744073709551616"}, // exceeds 64 bits
	{"1.0.0-99999999999999999999"},
	{"1.0.0-100000000000000000000"},
	{"1.0.0-alpha", "v1.0.0-alpha+build.7"},
	{"1.0.0-alpha.1"},
	{"1.0.0-alpha.beta"},
	{"1.0.0-beta"},
	{"1.0.0-beta.2"},
	{"1.0.0-beta.11"},
	{"1.0.0-rc.1"},
	{"1.0.0-rc-1"},
	{"1.0.0", "v1.0.0", "1.0.0+20130313144700", "1.0.0+a-b"},
	{"1.9.3"},
	{"1.10.0-alpha"},
	{"1.10.0"},
	{"2.0.0"},
	{"10.0.0"},
	{"18446744073709551616.0.0"},
}

func TestCompareVersions(t *testing.T) {
	for i, as := range ascending {
		for k, bs := range ascending {
			for _, a := range as {
				for _, b := range bs {
					require.Equal(t, cmp.Compare(i, k), manifest.CompareVersions(a, b), "%s and %s", a, b)
				}
			}
		}
	}
}

func TestSortVersions(t *testing.T) {
	list := []string{"1.10.0", "1.9.3", "1.10.0-rc.1", "0.1.0", "1.9.10"}
	slices.SortFunc(list, manifest.CompareVersions)
	require.Equal(t, []string{"0.1.0", "1.9.3", "1.9.10", "1.10.0-rc.1", "1.10.0"}, list)
}

// FuzzCompareVersions checks that the order of any texts is antisymmetric and transitive.
func FuzzCompareVersions(f *testing.F) {
	f.Add("1.0.0", "1.0.0-a", "1.0")
	f.Add("", "-", "+")
	f.Add("1.01", "1.1", "1.a")
	f.Add("99999999999999999999", "100000000000000000000", "1e3")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		compare := manifest.CompareVersions
		if compare(a, a) != 0 || compare(a, b) != -compare(b, a) {
			t.Errorf("%q and %q: %d and %d", a, b, compare(a, b), compare(b, a))
		}
		if compare(a, b) <= 0 && compare(b, c) <= 0 && compare(a, c) > 0 {
			t.Errorf("%q <= %q <= %q, and the first is greater than the last", a, b, c)
		}
	})
}

const document = `name = "cpu"
namespace = "github.com/goburn"
version = "0.1.0"
kind = "process"
os = "linux"
arch = "amd64"
sha256 = "00ff"
signer = ""

[protocol]
  min = 1
  max = 3
`

func TestTOML(t *testing.T) {
	var m manifest.Manifest
	_, err := toml.Decode(document, &m)
	require.NoError(t, err)
	want := manifest.Manifest{Name: "cpu", Namespace: "github.com/goburn", Version: "0.1.0", Kind: "process", OS: "linux", Arch: "amd64", SHA256: "00ff",
		Protocol: manifest.Protocol{Min: 1, Max: 3}}
	require.Equal(t, want, m)
	require.Nil(t, m.Needs, "a plugin without the section needs nothing")
	var b bytes.Buffer
	require.NoError(t, toml.NewEncoder(&b).Encode(m))
	require.Equal(t, document, b.String())

	_, err = toml.Decode(document+"\n[needs]\nnetwork = true\n", &m)
	require.NoError(t, err)
	require.NotNil(t, m.Needs)

	_, err = toml.Decode("[protocol]\nmin = -1\n", &m)
	require.Error(t, err, "a version below zero")
}

// JSON omits unknown fields of a manifest.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(manifest.Manifest{Name: "x", Protocol: manifest.Protocol{Min: 2, Max: 2}})
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "x", "protocol": {"min": 2, "max": 2}}`, string(text))
	text, err = json.Marshal(manifest.Manifest{})
	require.NoError(t, err)
	require.Equal(t, "{}", string(text))
	var m manifest.Manifest
	require.NoError(t, json.NewDecoder(strings.NewReader(`{"name": "x", "protocol": {"min": 1, "max": 2}}`)).Decode(&m))
	require.Equal(t, manifest.Manifest{Name: "x", Protocol: manifest.Protocol{Min: 1, Max: 2}}, m)
}
