// Command burn-cuda-selftest calls the bindings of internal/nv on a real device and compares the results with a computation on the host. It
// prints a line for each check, and then the numbers of checks, failures and skips. The exit status is 1 if a check failed. The command is
// a tool for changes of the bindings and for new drivers. It also prints a few measured times, which are not a benchmark.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

// errSkip is wrapped by the error of a check that cannot run on this machine.
var errSkip = errors.New("skipped")

func skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSkip, fmt.Sprintf(format, args...))
}

// bench is one device with the state that the checks share.
type bench struct {
	libs    *nv.Libraries
	d       *nv.Driver
	dev     nv.Device
	ctx     nv.Context
	s       nv.Stream
	sm      int // compute capability: 90 is 9.0
	module  nv.Module
	only    *regexp.Regexp
	owned   []nv.Ptr
	checks  int
	failed  int
	skipped int
}

// check runs one check and prints its line. Memory that the check allocated is freed after it.
func (b *bench) check(name string, f func() (string, error)) {
	around := strings.HasSuffix(name, "/open") || strings.HasSuffix(name, "/close")
	if b.only != nil && !around && !b.only.MatchString(name) {
		return
	}
	b.checks++
	start := time.Now()
	detail, err := func() (detail string, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return f()
	}()
	for _, p := range b.owned {
		if e := b.d.Free(p); err == nil && e != nil && name != "fault" { // the check "fault" loses all memory
			err = fmt.Errorf("free after the check: %w", e)
		}
	}
	b.owned = b.owned[:0]
	took := time.Since(start).Round(100 * time.Microsecond)
	switch {
	case err == nil:
		fmt.Printf("ok    %-34s %s (%v)\n", name, detail, took)
	case errors.Is(err, errSkip):
		b.skipped++
		fmt.Printf("skip  %-34s %v\n", name, err)
	default:
		b.failed++
		fmt.Printf("FAIL  %-34s %s: %v (%v)\n", name, detail, err, took)
		if errors.Is(err, nv.ErrFault) {
			fmt.Println("the context is lost: the other checks did not run; -only runs some of them")
			b.end()
		}
	}
}

// end prints the numbers of checks, failures and skips, and ends the process.
func (b *bench) end() {
	fmt.Printf("%d checks, %d failed, %d skipped\n", b.checks, b.failed, b.skipped)
	if b.failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func main() {
	device := flag.Int("device", 0, "ordinal of the device")
	only := flag.String("only", "", "run the checks whose names this expression matches")
	fault := flag.Bool("fault", false, "end with a kernel that writes to a bad address, after which the context is lost")
	flag.Parse()
	runtime.LockOSThread()
	b := &bench{libs: nv.Open(nv.DefaultSearch())}
	if *only != "" {
		b.only = regexp.MustCompile(*only)
	}
	fmt.Print(b.libs.Report)
	if b.libs.Driver == nil {
		fmt.Println("0 checks, 0 failed: there is no device")
		return
	}
	b.d = b.libs.Driver
	if err := b.open(*device); err != nil {
		fmt.Println("FAIL  open:", err)
		fmt.Println("1 checks, 1 failed, 0 skipped")
		os.Exit(1)
	}
	b.driverChecks()
	b.memoryChecks()
	b.graphChecks()
	b.ltChecks()
	b.dnnChecks()
	b.ncclChecks()
	b.peerChecks()
	b.overheadChecks()
	if *fault {
		b.faultCheck()
	}
	b.end()
}

// open creates the context and the stream, and compiles the kernels.
func (b *bench) open(ordinal int) error {
	var err error
	if b.dev, err = b.d.Device(ordinal); err != nil {
		return err
	}
	if b.ctx, err = b.d.RetainPrimary(b.dev); err != nil {
		return err
	}
	if err = b.d.SetCurrent(b.ctx); err != nil {
		return err
	}
	if b.s, err = b.d.NewStream(0); err != nil {
		return err
	}
	major, err := b.d.Attribute(b.dev, nv.ComputeMajor)
	if err != nil {
		return err
	}
	minor, err := b.d.Attribute(b.dev, nv.ComputeMinor)
	if err != nil {
		return err
	}
	b.sm = major*10 + minor
	if b.libs.NVRTC == nil {
		return nil
	}
	image, _, err := b.libs.NVRTC.Compile("selftest.cu", kernels, b.arch(), "--std=c++17")
	if err != nil {
		return err
	}
	b.module, err = b.d.LoadModule(image)
	return err
}

// arch returns the architecture to compile for. From compute capability 9.0 on, it includes the features that only this generation has.
func (b *bench) arch() string {
	if b.sm >= 90 {
		return fmt.Sprintf("sm_%da", b.sm)
	}
	return fmt.Sprintf("sm_%d", b.sm)
}

// function returns a kernel of the module.
func (b *bench) function(name string) (nv.Function, error) {
	if b.module == 0 {
		return 0, skip("no NVRTC, no kernels")
	}
	return b.d.Function(b.module, name)
}
