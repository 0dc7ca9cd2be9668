// Package libtorch is the backend that computes with an installed PyTorch: its kernels, on each of its devices. It needs torch's
// libraries (libtorch_cpu and what it links with) and neither Python nor a compiler: functions are found by name in torch's stable C
// ABI, so that one binary serves torch 2.9 and later, and what an installation lacks is not claimed. For an older torch the user's compiler
// makes a shim of the same names.
//
// Device 0 is torch's cpu; those of cuda (or of HIP, which torch calls cuda too) follow.
//
// It stands on sdk/engine. A table (table.go) says for each op of burn that is claimed which operators of torch compute it; the rest is
// decomposed by the host. Kernels must not keep handles: a tensor has one owner.
//
// Options of core.Config: "torch" is the folder of torch, before LIBTORCH of the environment; "check" is true or false: whether each
// result is compared with what torch says of its type and shape, for tests; "tf32" is true or false, the default: whether NVIDIA's
// libraries may round factors of f32 to 10 bits of mantissa; "hide" lists functions of torch, separated by commas, that
// are treated as missing, for tests; "build" names a C++ compiler, with which the shim is built first that a torch without that ABI
// needs. Threads is how many threads torch computes with; the first backend of a process decides.
package libtorch

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// Name is the name of the backend.
const Name = "libtorch"

// Version is the version of the backend.
const Version = "0.1.0"

// settings are the options.
type settings struct {
	folder string
	check  bool
	tf32   bool
	hide   []string
	build  string // the compiler that makes the shim first
}

// buildTime bounds the compilation of the shim.
const buildTime = 10 * time.Minute

// find is the torch to use, with its shim if that was to be built.
func (s *settings) find() (torch.Place, error) {
	place, err := s.search().Find()
	if err != nil {
		return place, fmt.Errorf("libtorch: %w: %w", core.ErrNotFound, err)
	}
	if s.build != "" {
		ctx, cancel := context.WithTimeout(context.Background(), buildTime)
		defer cancel()
		if err := torch.Build(ctx, place.Folder, s.build); err != nil {
			return place, fmt.Errorf("libtorch: %w: %w", core.ErrNotFound, err)
		}
	}
	return place, nil
}

func options(c core.Config) (s settings, err error) {
	for name, text := range c.Options {
		switch name {
		case "torch":
			s.folder = text
		case "check":
			s.check, err = strconv.ParseBool(text)
		case "tf32":
			s.tf32, err = strconv.ParseBool(text)
		case "hide":
			s.hide = strings.Split(text, ",")
		case "build":
			s.build = text
		default:
			return s, fmt.Errorf("libtorch: option %q, want torch, check, tf32, hide or build: %w", name, core.ErrAttr)
		}
		if err != nil {
			return s, fmt.Errorf("libtorch: option %s: %w: %w", name, core.ErrAttr, err)
		}
	}
	return s, nil
}

// search returns where torch is looked for.
func (s *settings) search() torch.Search {
	if s.folder == "" {
		return torch.DefaultSearch()
	}
	return torch.Search{Env: func(name string) string {
		if name == "LIBTORCH" {
			return s.folder
		}
		return ""
	}}
}

// loaded is torch in this process.
var loaded struct {
	sync.Mutex
	lib   *torch.Library
	place torch.Place
}

// load loads torch, once in a process.
func load(s settings, threads int) (*torch.Library, torch.Place, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.lib != nil {
		return loaded.lib, loaded.place, nil
	}
	place, err := s.find()
	if err != nil {
		return nil, place, err
	}
	lib, err := torch.Load(place.Folder, torch.Options{Threads: threads, Hide: s.hide, TF32: s.tf32})
	if err != nil {
		return nil, place, fmt.Errorf("libtorch: %w: torch in %s (%s): %w", core.ErrNotFound, place.Folder, place.By, err)
	}
	loaded.lib, loaded.place = lib, place
	return lib, place, nil
}

// New makes the backend. It is ErrNotFound, with the remedy, where there is no torch that can be loaded. Unknown options and values
// that do not parse are ErrAttr.
func New(c core.Config) (core.Backend, error) {
	s, err := options(c)
	if err != nil {
		return nil, err
	}
	lib, place, err := load(s, c.Threads)
	if err != nil {
		return nil, err
	}
	return engine.New(newDriver(lib, place, nil, s.check)), nil
}
