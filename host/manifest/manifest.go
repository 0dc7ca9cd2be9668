// Package manifest reads the manifest, the file beside a plugin that describes it, and compares versions. Packages host and host/store call
// it before they start or install a plugin. It must not start or trust a plugin.
package manifest

import (
	"cmp"
	"strings"

	"github.com/goburn/burn/sdk/client/contain"
)

// Manifest is the content of burn-backend-NAME.toml, which describes a plugin. Empty fields are unset.
type Manifest struct {
	Name      string   `toml:"name" json:"name,omitempty"`
	Namespace string   `toml:"namespace,omitempty" json:"namespace,omitempty"` // HOST/NAMESPACE of the author
	Version   string   `toml:"version" json:"version,omitempty"`
	Kind      string   `toml:"kind" json:"kind,omitempty"` // how the plugin is loaded: "process" or "shared"
	OS        string   `toml:"os" json:"os,omitempty"`
	Arch      string   `toml:"arch" json:"arch,omitempty"`
	SHA256    string   `toml:"sha256" json:"sha256,omitempty"` // SHA-256 of the executable, in hex
	Signer    string   `toml:"signer" json:"signer,omitempty"`
	Protocol  Protocol `toml:"protocol" json:"protocol,omitzero"`
	// Needs are the permissions of the plugin's process in addition to the default permissions. Nil: no further permissions.
	Needs *contain.Needs `toml:"needs,omitempty" json:"needs,omitempty"`
}

// Protocol is the range of protocol versions that a plugin supports.
type Protocol struct {
	Min uint32 `toml:"min" json:"min"`
	Max uint32 `toml:"max" json:"max"`
}

// CompareVersions orders semantic versions as cmp.Compare does: numbers by value, and a pre-release before its release.
func CompareVersions(a, b string) int {
	clean := func(v string) (core, pre string) {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
		core, pre, _ = strings.Cut(v, "-")
		return core, pre
	}
	ac, ap := clean(a)
	bc, bp := clean(b)
	if c := compareDotted(ac, bc); c != 0 {
		return c
	}
	switch {
	case ap == bp:
		return 0
	case ap == "":
		return 1
	case bp == "":
		return -1
	}
	return compareDotted(ap, bp)
}

func compareDotted(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, isX := number(as[i])
		y, isY := number(bs[i])
		c := cmp.Compare(as[i], bs[i])
		switch {
		case isX && isY:
			c = cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		case isX: // numbers come before words
			c = -1
		case isY:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// number returns the digits of s without leading zeros, and whether s is a number. It may have any size.
func number(s string) (digits string, ok bool) {
	return strings.TrimLeft(s, "0"), s != "" && strings.Trim(s, "0123456789") == ""
}
