package client

import (
	"os"
	"os/exec"

	"github.com/goburn/burn/sdk/client/contain"
)

// There are no processes in WebAssembly. Start fails first; the functions below are never called.
const (
	needsExecBit = false
	hasLimits    = false
)

func spawn(*exec.Cmd, *confinement) (contain.Report, error) { return nil, errNoProcess }
func openOwn(string) (*os.File, error)                      { return nil, errNoProcess }
func lock(*os.File) bool                                    { return false }
func ownFile(os.FileInfo) bool                              { return false }
func isExecFormat(error) bool                               { return false }
func killedBy(*os.ProcessState) string                      { return "" }
func limit(int, Limits) error                               { return errNoProcess }
func await(*exec.Cmd)                                       {}
func killGroup(int)                                         {}

type guard struct{}

func startGuard() *guard                   { return nil }
func (g *guard) watch(int, string, string) {}
func (g *guard) forget(int)                {}
func (g *guard) close()                    {}
