// Package libtorch is the backend that computes with an installed PyTorch, on each of its devices. It needs torch's libraries (libtorch_cpu
// and its dependencies), but neither Python nor a compiler. It looks functions up by name in torch's stable C ABI, so that one binary works
// with torch 2.9 and later; it does not claim ops for which an installation has no functions. For an older torch, the user's compiler
// builds a shim, a library that has the functions of this ABI.
//
// Device 0 is torch's cpu. The devices of CUDA follow (or of HIP, which torch also calls cuda).
//
// The backend receives nodes and programs from the host through sdk/engine, and calls torch through internal/torch.
// A table (table.go) maps each op that the backend claims to a kernel, which calls operators of torch. The host decomposes all other ops.
// Kernels must not keep handles, because a tensor has one owner, and must not load libraries or call C functions except through
// internal/torch.
//
// Options of core.Config: "torch" is the folder of torch and has priority over the environment variable LIBTORCH. "tf32" is true or false
// (the default) and says whether NVIDIA's libraries may round f32 factors to 10 bits of mantissa. "build" names a C++ compiler, which first
// builds the shim if torch lacks the ABI. Two options are for tests: "check" is true or false and says whether the type and shape of each
// result are compared with torch's; "hide" lists functions of torch, separated by commas, that are treated as missing. Config.Threads is
// the number of threads that torch computes with; the first backend of a process sets it.
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

// settings contains the parsed options.
type settings struct {
	folder string
	check  bool
	tf32   bool
	hide   []string
	build  string // the compiler that builds the shim; "" builds none
}

// buildTime is the time limit of the compilation of the shim.
const buildTime = 10 * time.Minute

// find returns the place of the torch to use. If the options name a compiler, find builds the shim if that torch needs a shim.
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

// search returns the places in which torch is searched.
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

// loaded is the torch of this process.
var loaded struct {
	sync.Mutex
	lib   *torch.Library
	place torch.Place
}

// load loads torch once in a process. Later calls ignore their arguments.
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

// New returns the backend. If no torch can be loaded, it returns ErrNotFound with a remedy; for an unknown option or an invalid value it
// returns ErrAttr.
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
