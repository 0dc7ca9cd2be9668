//go:build !amd64 && !arm64

package peak

import "github.com/goburn/burn/core/dtype"

func native(dtype.DType) (Loop, bool) { return Loop{}, false }
