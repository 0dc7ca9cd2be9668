// Command burn-backend-rocm is the rocm backend as a plugin process. It starts itself as child processes, which try libraries and compile
// kernels. If a device is lost after a fault, the process ends 100 ms later, when its answers are sent, and the host starts another
// process.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/plugins/rocm"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/vendor"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	if err := vendor.KeepStdout(); err != nil {
		fmt.Fprintln(os.Stderr, "burn-backend-rocm: standard output:", err)
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == rocm.ChildFlag {
		os.Exit(rocm.ChildMain(os.Args[2:], os.Stdin, os.Stdout))
	}
	serve.Main(rocm.Name, rocm.Opener(child.Program(), func(device int, err error) {
		fmt.Fprintf(os.Stderr, "rocm:%d is lost: %v\n", device, err)
		time.AfterFunc(100*time.Millisecond, func() { os.Exit(3) })
	}))
}
