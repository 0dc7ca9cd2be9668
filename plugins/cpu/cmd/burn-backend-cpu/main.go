// Command burn-backend-cpu is the cpu backend as a plugin process. Package host starts it. It only passes plugins/cpu to sdk/serve; no
// other code belongs here.
package main

import (
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	serve.Main("cpu", cpu.NewForClient)
}
