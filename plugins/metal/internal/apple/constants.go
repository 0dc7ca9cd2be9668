package apple

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core"
)

// Values of enumerations, each with its name and header.
const (
	storageShared   = 0 << 4          // MTLResourceStorageModeShared, MTLResource.h
	mathModeSafe    = 0               // MTLMathModeSafe, MTLLibrary.h
	statusCompleted = 4               // MTLCommandBufferStatusCompleted, MTLCommandBuffer.h
	statusError     = 5               // MTLCommandBufferStatusError
	dataTypeF32     = 0x10000000 | 32 // MPSDataTypeFloat32, MPSCoreTypes.h
)

// family is a family of GPUs: a name and a number of MTLGPUFamily, in MTLDevice.h.
type family struct {
	name   string
	number int
}

// families are the families to query, the oldest first.
var families = []family{{"Apple5", 1005}, {"Apple6", 1006}, {"Apple7", 1007}, {"Apple8", 1008}, {"Apple9", 1009}, {"Apple10", 1010}, {"Mac2", 2002},
	{"Metal3", 5001}, {"Metal4", 5002}}

// newest returns only the newest family of each kind: a device belongs to the older families too.
func newest(names []string) []string {
	var out []string
	for i, n := range names {
		kind := strings.TrimRight(n, "0123456789")
		if i+1 == len(names) || strings.TrimRight(names[i+1], "0123456789") != kind {
			out = append(out, n)
		}
	}
	return out
}

// faults maps the codes of MTLCommandBufferError, in MTLCommandBuffer.h, to their names and sentinels.
var faults = map[int]struct {
	name     string
	sentinel error
}{
	1:  {"MTLCommandBufferErrorInternal", core.ErrBackendLost},
	2:  {"MTLCommandBufferErrorTimeout", core.ErrBackendLost},
	3:  {"MTLCommandBufferErrorPageFault", core.ErrKernel},
	4:  {"MTLCommandBufferErrorAccessRevoked", core.ErrBackendLost},
	7:  {"MTLCommandBufferErrorNotPermitted", core.ErrBackendLost},
	8:  {"MTLCommandBufferErrorOutOfMemory", core.ErrOutOfMemory},
	9:  {"MTLCommandBufferErrorInvalidResource", core.ErrKernel},
	10: {"MTLCommandBufferErrorMemoryless", core.ErrKernel},
	11: {"MTLCommandBufferErrorDeviceRemoved", core.ErrBackendLost},
	12: {"MTLCommandBufferErrorStackOverflow", core.ErrKernel},
}

// fault returns the error of a command buffer. A code that is not known counts as a fault of the device.
func fault(code int, reason string) error {
	f, ok := faults[code]
	if !ok {
		return fmt.Errorf("%w: error %d of a command buffer: %s", core.ErrBackendLost, code, reason)
	}
	return fmt.Errorf("%w: %s: %s", f.sentinel, f.name, reason)
}
