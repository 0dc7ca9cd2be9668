// Command manifest writes the manifest of a plugin executable to a file beside it: name, version, platform, protocol range, hash.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client/contain"
	"github.com/goburn/burn/sdk/wire"
)

func main() {
	version := flag.String("version", "0.1.0", "version of the plugin")
	namespace := flag.String("namespace", "github.com/goburn", "HOST/NAMESPACE of the maker")
	goos := flag.String("os", runtime.GOOS, "operating system it was built for")
	arch := flag.String("arch", runtime.GOARCH, "architecture it was built for")
	needs := flag.String("needs", "", "file with what it needs beyond computing, in the form of the section [needs]")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: manifest [flags] PATH/burn-backend-NAME")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *namespace, *version, *goos, *arch, *needs); err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

func write(exe, namespace, version, goos, arch, needs string) error {
	stem := strings.TrimSuffix(exe, ".exe")
	name, ok := strings.CutPrefix(filepath.Base(stem), "burn-backend-")
	if !ok || name == "" {
		return fmt.Errorf("%s: want a file named burn-backend-NAME", exe)
	}
	content, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	m := host.Manifest{Name: name, Namespace: namespace, Version: version, Kind: host.Process, OS: goos, Arch: arch, SHA256: hex.EncodeToString(sum[:]),
		Protocol: host.Protocol{Min: wire.Oldest, Max: wire.Version}}
	if needs != "" {
		m.Needs = &contain.Needs{}
		if _, err := toml.DecodeFile(needs, m.Needs); err != nil {
			return err
		}
		if err := m.Needs.Check(); err != nil {
			return err
		}
	}
	f, err := os.Create(stem + ".toml")
	if err != nil {
		return err
	}
	if err := toml.NewEncoder(f).Encode(m); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
