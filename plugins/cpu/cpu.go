// Package cpu is the backend that computes on the processor, in Go and Go assembly without cgo, on every platform. Importing it registers
// it with core under the name "cpu".
//
// Options of core.Config:
//   - "memory_limit" is the greatest total size of tensors in bytes, with an optional suffix K, M, G or T (powers of 1024). The
//     default is the memory of the machine or container.
//   - "idle_limit", in the same form, bounds the freed memory that is kept for reuse. The default is a quarter of the limit.
//   - "threads_per_stream" says how streams that compute at the same time share the threads. With "one", the default, each
//     has one thread. With "all", one of them at a time has all threads, loop by loop. A stream that computes alone has all
//     threads in either case. Results are the same.
//   - "guard_bands" is for tests: the bytes, in the same form, of a guard on both sides of each tensor. CheckGuards of a
//     device reports writes into the guards.
//
// The package must not contain loops over elements: these are in packages below internal, one for each kind of kernel.
//
// # Files, in the order of the data
//
//	cpu.go, driver.go                   options, and the driver, which owns the threads and the memory
//	device.go, rules.go                 the memory and the capabilities of a device; the kernels by op
//	build.go                            the plan of a program: a unit for each kernel
//	fuse*.go, link.go, join.go          units of several nodes, and units that write into a concatenation
//	plan.go                             the compiled program, and its runs
//	queue.go                            the queue of a stream, which executes kernels and plans
//	profile.go                          the description of a step in a profile
package cpu

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/machine"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/sdk/engine"
)

// Name is the name that the backend is registered under.
const Name = "cpu"

// Version is the version of the backend.
const Version = "0.1.0"

func init() { core.Register(Name, New) }

// fallbackLimit bounds memory if the memory size of the machine is unknown.
const fallbackLimit = 16 << 30

// maxBand bounds the size of guard bands, which limits do not include.
const maxBand = 1 << 16

// New returns the backend. Threads of zero means as many as the process may run at once. The error wraps
// ErrAttr if an option is unknown or its value does not parse.
func New(c core.Config) (core.Backend, error) {
	d, err := newDriver(c)
	if err != nil {
		return nil, err
	}
	return engine.New(d), nil
}

func newDriver(c core.Config) (*driver, error) {
	limit := machine.Memory()
	if limit <= 0 {
		limit = fallbackLimit
	}
	idle, band := int64(-1), int64(0)
	single := true
	for name, text := range c.Options {
		if name == "threads_per_stream" {
			switch text {
			case "one":
				single = true
			case "all":
				single = false
			default:
				return nil, fmt.Errorf("cpu: option %s: got %q, want one or all: %w", name, text, core.ErrAttr)
			}
			continue
		}
		n, err := parseBytes(text)
		if err != nil {
			return nil, fmt.Errorf("cpu: option %s: %w", name, err)
		}
		switch name {
		case "memory_limit":
			limit = n
		case "idle_limit":
			idle = n
		case "guard_bands":
			if n > maxBand {
				return nil, fmt.Errorf("cpu: option guard_bands, got %d bytes, want at most %d: %w", n, maxBand, core.ErrAttr)
			}
			band = n
		default:
			return nil, fmt.Errorf("cpu: option %q, want memory_limit, idle_limit, guard_bands or threads_per_stream: %w", name, core.ErrAttr)
		}
	}
	if err := cpuid.Err(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	if c.Threads < 0 {
		return nil, fmt.Errorf("cpu: threads, got %d, want 0 or more: %w", c.Threads, core.ErrAttr)
	}
	if idle < 0 {
		idle = limit / 4
	}
	threads := c.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	d := &driver{pool: par.New(threads), memory: mem.NewGuardedPool(limit, idle, int(band))}
	d.sharing.single = single
	return d, nil
}

// NewForClient is like New, for a process that serves a client process on the same machine. If the backend uses all processors, a worker
// that wakes up for a short program displaces the client that waits for it. Short programs therefore run on one thread. Results are the
// same.
func NewForClient(c core.Config) (core.Backend, error) {
	d, err := newDriver(c)
	if err != nil {
		return nil, err
	}
	if d.singleThreadShort = d.pool.Threads() >= runtime.NumCPU(); d.singleThreadShort {
		d.pool.Brief()
	}
	return engine.New(d), nil
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
		return 0, fmt.Errorf("got %q, want a number of bytes such as 512M: %w", text, core.ErrAttr)
	}
	return n << shift, nil
}
