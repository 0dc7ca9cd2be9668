package store

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Address names a plugin, wherever it is installed from. Its text is HOST/NAMESPACE/NAME, such as "github.com/goburn/cpu".
type Address struct{ Host, Namespace, Name string }

var (
	hostForm    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,62})$`)
	nameForm    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	versionForm = regexp.MustCompile(`^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
)

// ParseAddress reads HOST/NAMESPACE/NAME.
func ParseAddress(text string) (Address, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Address{}, fmt.Errorf("plugin address: got %q, want HOST/NAMESPACE/NAME: %w", text, ErrFormat)
	}
	a := Address{parts[0], parts[1], parts[2]}
	return a, a.check()
}

func (a Address) check() error {
	switch {
	case !hostForm.MatchString(a.Host):
		return fmt.Errorf("plugin address: host %q, want lower-case letters, digits, . and -: %w", a.Host, ErrFormat)
	case !nameForm.MatchString(a.Namespace):
		return fmt.Errorf("plugin address: namespace %q, want lower-case letters, digits, - and _: %w", a.Namespace, ErrFormat)
	case !nameForm.MatchString(a.Name):
		return fmt.Errorf("plugin address: name %q, want lower-case letters, digits, - and _: %w", a.Name, ErrFormat)
	}
	return nil
}

// String prints HOST/NAMESPACE/NAME.
func (a Address) String() string { return a.Host + "/" + a.Namespace + "/" + a.Name }

// Space returns HOST/NAMESPACE. A key is trusted for such a space.
func (a Address) Space() string { return a.Host + "/" + a.Namespace }

// Matches reports whether text names a: as NAME, NAMESPACE/NAME or HOST/NAMESPACE/NAME.
func (a Address) Matches(text string) bool {
	return text == a.Name || text == a.Namespace+"/"+a.Name || text == a.String()
}

// ID names one build of a plugin.
type ID struct {
	Address
	Version  string // MAJOR.MINOR.PATCH[-PRERELEASE]
	Platform string // OS_ARCH
}

// Platforms returns the platforms, as OS_ARCH, that plugins can be built for.
func Platforms() []string {
	return []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}
}

// Native returns the platform of this program.
func Native() string { return runtime.GOOS + "_" + runtime.GOARCH }

func checkPlatform(p string) error {
	if p != Native() && !slices.Contains(Platforms(), p) {
		return fmt.Errorf("platform: got %q, want one of %s: %w", p, strings.Join(Platforms(), ", "), ErrFormat)
	}
	return nil
}

func (id ID) check() error {
	if err := id.Address.check(); err != nil {
		return err
	}
	if !versionForm.MatchString(id.Version) || len(id.Version) > 64 {
		return fmt.Errorf("version: got %q, want MAJOR.MINOR.PATCH[-PRERELEASE]: %w", id.Version, ErrFormat)
	}
	return checkPlatform(id.Platform)
}

// String prints "github.com/goburn/cpu 0.1.0 linux_amd64".
func (id ID) String() string { return id.Address.String() + " " + id.Version + " " + id.Platform }

// slashed returns the slash-separated path of the build's files in a mirror, without their extensions.
func (id ID) slashed() string { return path.Join(id.Address.String(), id.Version, id.Platform) }

// Dir returns the path of the build within a store.
func (id ID) Dir() string { return filepath.FromSlash(id.slashed()) }

// Executable returns the file name of a plugin of a kind ("process" or "shared") on a platform.
func Executable(name, kind, platform string) string {
	goos, _, _ := strings.Cut(platform, "_")
	ext := ""
	switch {
	case kind == "shared" && goos == "windows":
		ext = ".dll"
	case kind == "shared" && goos == "darwin":
		ext = ".dylib"
	case kind == "shared":
		ext = ".so"
	case goos == "windows":
		ext = ".exe"
	}
	return filePrefix + name + ext
}

const filePrefix = "burn-backend-"
