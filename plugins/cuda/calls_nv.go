//go:build !cu || !cgo

package cuda

import "github.com/goburn/burn/plugins/cuda/internal/nv"

// callsBy names who makes the calls of the driver.
const callsBy = "purego"

func newCalls(d *nv.Driver) (calls, error) { return d, nil }
