//go:build !cu || !cgo

package cuda

import "github.com/goburn/burn/plugins/cuda/internal/nv"

// callsBy names the module through which the driver is called.
const callsBy = "purego"

func newCalls(d *nv.Driver) (calls, error) { return d, nil }
