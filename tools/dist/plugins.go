package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client/contain"
	"github.com/goburn/burn/sdk/wire"
)

// plugin is a plugin that the project builds.
type plugin struct {
	name      string
	module    string   // folder of its go.mod, from the root
	pkg       string   // folder of its main package, relative to module
	platforms []string // platforms for which it can be built; nil for all
	// beside writes the files that the archive contains besides the program to a folder; nil for none.
	beside func(ctx context.Context, o *options, platform, dir string) error
}

// plugins lists the plugins: add a row for a new one.
var plugins = []plugin{
	{name: "cpu", module: ".", pkg: "./plugins/cpu/cmd/burn-backend-cpu"},
	{name: "metal", module: "plugins/metal", pkg: "./cmd/burn-backend-metal", platforms: []string{"darwin_amd64", "darwin_arm64"}},
	{name: "wgpu", module: "plugins/wgpu", pkg: "./cmd/burn-backend-wgpu", beside: wgpuNative},
}

// wgpuNative extracts the library that the plugin wgpu calls, and its licences, from the Python package for a platform into dir.
func wgpuNative(ctx context.Context, o *options, platform, dir string) error {
	goos, arch, _ := strings.Cut(platform, "_")
	cmd := exec.CommandContext(ctx, "go", "run", "./tools/wgpunative", "-platform", goos+"/"+arch, "-out", dir, "-python", o.python)
	cmd.Dir = o.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("wgpu-native: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (p *plugin) on(platform string) bool {
	return p.platforms == nil || slices.Contains(p.platforms, platform)
}

// choose returns the rows for names, or all if names is empty.
func choose(names []string) ([]plugin, error) {
	if len(names) == 0 {
		return plugins, nil
	}
	var chosen []plugin
	for _, n := range names {
		i := slices.IndexFunc(plugins, func(p plugin) bool { return p.name == n })
		if i < 0 {
			return nil, fmt.Errorf("plugin %q is not in the table of tools/dist", n)
		}
		chosen = append(chosen, plugins[i])
	}
	return chosen, nil
}

// archive builds one plugin for one platform, and writes its archive at its path in the mirror.
func (o *options) archive(ctx context.Context, p plugin, platform, work string, key *store.PrivateKey) (*store.Package, error) {
	exe := filepath.Join(work, platform, store.Executable(p.name, host.Process, platform))
	if err := o.build(ctx, p, platform, exe); err != nil {
		return nil, err
	}
	beside := filepath.Join(work, platform, p.name)
	if p.beside != nil {
		if err := p.beside(ctx, o, platform, beside); err != nil {
			return nil, err
		}
	}
	return o.pack(p, platform, exe, beside, key)
}

// pack writes an archive with a program, its manifest, LICENSE, and the files of the folder beside, if there is one. The manifest
// contains the needs of needs.toml, if the plugin has this file.
func (o *options) pack(p plugin, platform, exe, beside string, key *store.PrivateKey) (*store.Package, error) {
	goos, arch, _ := strings.Cut(platform, "_")
	m := host.Manifest{Name: p.name, Namespace: o.namespace, Version: o.version, Kind: host.Process, OS: goos, Arch: arch,
		Protocol: host.Protocol(wire.Speaks())}
	if needs := filepath.Join(o.root, p.module, "needs.toml"); exists(needs) {
		m.Needs = &contain.Needs{}
		if _, err := toml.DecodeFile(needs, m.Needs); err != nil {
			return nil, err
		}
		if err := m.Needs.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", needs, err)
		}
	}
	space, ns, _ := strings.Cut(o.namespace, "/")
	id := store.ID{Address: store.Address{Host: space, Namespace: ns, Name: p.name}, Version: o.version, Platform: platform}
	extra := map[string]string{}
	if license := filepath.Join(o.root, "LICENSE"); exists(license) {
		extra["LICENSE"] = license
	}
	files, err := os.ReadDir(beside)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		extra[f.Name()] = filepath.Join(beside, f.Name())
	}
	path := filepath.Join(o.out, filepath.FromSlash(id.MirrorPath()))
	built, err := store.Pack(path, store.Content{Executable: exe, Manifest: m, Extra: extra})
	if err != nil {
		return nil, err
	}
	if key == nil {
		return built, os.RemoveAll(path + store.SignatureExt) // from an earlier run
	}
	return built, key.SignFile(path, built)
}

// build runs the go command so that its output depends only on sources, Go version and platform.
func (o *options) build(ctx context.Context, p plugin, platform, exe string) error {
	out, err := filepath.Abs(exe)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, p.pkg)
	cmd.Dir = filepath.Join(o.root, p.module)
	goos, arch, _ := strings.Cut(platform, "_")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
