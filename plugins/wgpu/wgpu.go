// Package wgpu is the backend for every GPU with Vulkan, Metal or Direct3D 12: package sdk/gpu over the driver for WebGPU (sdk/gpu/webgpu),
// whose calls go to wgpu-native. That library is found when the backend is opened: it is the file that BURN_WGPU_LIBRARY names, or else a
// file in the folder of the plugin, or else the file that the loader of the system finds. The backend runs in its own process,
// cmd/burn-backend-wgpu, because the library ends the process when a driver fails.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on a device, with an optional suffix K, M, G or
// T (powers of 1024). "plain" is true or false: whether the backend waits for each kernel, so that the error of a fault names the node.
// "patience" is how long work may take before the device counts as lost, two minutes by default. "cache" is the folder of results of
// probes; "off" keeps none.
package wgpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/wgpu/internal/native"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// Name is the name of the backend.
const Name = "wgpu"

// Version is the version of the backend.
const Version = "0.1.0"

const (
	libraryVariable = "BURN_WGPU_LIBRARY"
	folderVariable  = "BURN_PLUGIN_DIR" // set by the host, since the program itself may be executed from memory
)

// New returns the backend. The error is ErrNotFound, with the remedy, if there is no library or no adapter, and ErrAttr for unknown options
// and values that do not parse.
func New(c core.Config) (core.Backend, error) { return Opener(nil)(c) }

// Opener returns an opener like New, whose backends call lost once for each device that is lost after a fault. lost may be nil.
func Opener(lost func(device int, err error)) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		o, patience, err := gpu.ReadPatientOptions(Name, c)
		if err != nil {
			return nil, err
		}
		// The backend keeps no kernels: it could only keep their texts, and drivers cache compiled kernels themselves.
		cache := o.Cache
		o.Lost, o.Cache, o.NoCache = lost, "", true
		api, err := library()
		if err != nil {
			return nil, fmt.Errorf("wgpu: %w", err)
		}
		d, err := webgpu.New(context.Background(), api, webgpu.Options{Name: Name, Version: Version, Cache: cache, Patience: patience})
		if err != nil {
			return nil, fmt.Errorf("wgpu: %w", err)
		}
		return gpu.New(d, o), nil
	}
}

// library loads the library, once. It stays loaded until the process ends.
var library = sync.OnceValues(func() (*native.API, error) {
	return native.Open(candidates(os.Getenv(libraryVariable), os.Getenv(folderVariable), executable()))
})

// candidates returns the files to try, in order: the named file, or else the files in folders and the file that the loader finds. Empty
// folder names are skipped.
func candidates(named string, folders ...string) []string {
	if named != "" {
		return []string{named}
	}
	file := fileName(runtime.GOOS)
	var all []string
	for _, f := range folders {
		if at := filepath.Join(f, file); f != "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return append(all, file)
}

// fileName returns the name of the library on a platform.
func fileName(goos string) string {
	switch goos {
	case "windows":
		return "wgpu_native.dll"
	case "darwin":
		return "libwgpu_native.dylib"
	}
	return "libwgpu_native.so"
}

// executable returns the folder of the executable of this process.
func executable() string {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return ""
	}
	return filepath.Dir(exe)
}
