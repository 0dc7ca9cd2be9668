// Package metal is the backend for GPUs of Macs: package sdk/gpu over a driver that speaks of Metal in the terms of package calls.
// Kernels are texts in Metal's language that the system compiles when they are needed; Metal is reached without cgo. It runs in a
// process of its own, cmd/burn-backend-metal. Nobody has run it on a Mac yet: docs/METAL.md lists what was tested without one.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on a device, with an optional suffix K, M, G
// or T (powers of 1024). "plain" is true or false: whether each kernel is waited for, so that a fault names its node. "patience" is how
// long work may take until the device is given up, two minutes by default. "cache" is the folder of texts of kernels; "off" keeps none.
package metal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/apple"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
)

// Name is the name of the backend.
const Name = "metal"

// Version is the version of the backend.
const Version = "0.1.0"

const plainVariable = "BURN_METAL_PLAIN"

const patience = 2 * time.Minute

// New makes the backend. It is ErrNotFound, with the remedy, where there is no Metal or no GPU. Unknown options and values that do not
// parse are ErrAttr.
func New(c core.Config) (core.Backend, error) { return Opener(nil)(c) }

// Opener is New of backends that call lost, once for each device that a fault ends.
func Opener(lost func(device int, err error)) core.Opener { return opener(apple.New(), lost) }

func opener(api calls.API, lost func(device int, err error)) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		o, patience, err := options(c)
		if err != nil {
			return nil, err
		}
		o.Lost = lost
		d, err := newDriver(api, patience)
		if err != nil {
			return nil, fmt.Errorf("metal: %w", err)
		}
		return gpu.New(d, o), nil
	}
}

func options(c core.Config) (o gpu.Options, wait time.Duration, err error) {
	o.Plain, wait = os.Getenv(plainVariable) == "1", patience
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "burn", "kernels", Name)
	}
	for name, text := range c.Options {
		var err error
		switch name {
		case "memory_limit":
			o.MemoryLimit, err = parseBytes(text)
		case "plain":
			o.Plain, err = strconv.ParseBool(text)
		case "patience":
			if wait, err = time.ParseDuration(text); err == nil && wait <= 0 {
				err = fmt.Errorf("got %q, want a duration such as 30s", text)
			}
		case "cache":
			o.Cache = text
			if text != "off" && !filepath.IsAbs(text) {
				err = fmt.Errorf("got %q, want an absolute path or off", text)
			}
		default:
			return o, 0, fmt.Errorf("metal: option %q, want memory_limit, plain, patience or cache: %w", name, core.ErrAttr)
		}
		if err != nil {
			return o, 0, fmt.Errorf("metal: option %s: %w: %w", name, core.ErrAttr, err)
		}
	}
	if o.Cache == "off" || o.Cache == "" {
		o.Cache, o.NoCache = "", true
	}
	return o, wait, nil
}

func parseBytes(text string) (int64, error) {
	digits, shift := strings.TrimSpace(text), 0
	if n := len(digits); n > 0 {
		if i := strings.IndexByte("KMGT", digits[n-1]&^0x20); i >= 0 {
			digits, shift = digits[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("got %q, want a number of bytes such as 512M", text)
	}
	return n << shift, nil
}
