// Command burn-backend-wgpu is the wgpu backend as a plugin process. If a device is lost after a fault, the process ends 100 ms later, when
// its answers are sent, and the host starts another process.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/plugins/wgpu"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	serve.Main(wgpu.Name, wgpu.Opener(func(device int, err error) {
		fmt.Fprintf(os.Stderr, "wgpu:%d is lost: %v\n", device, err)
		time.AfterFunc(100*time.Millisecond, func() { os.Exit(3) })
	}))
}
