//go:build unix

package serve

import (
	"fmt"
	"syscall"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/machine"
)

// A virtual machine may have growth times its memory later.
const growth = 16

// checkAddressSpace returns an ErrOutOfMemory for a size that the machine can never have, and if the system has no address space for so
// many bytes, for which Go would end the process. It does not test small sizes.
func checkAddressSpace(size int) error {
	if size < minChecked {
		return nil
	}
	if has := machine.Memory(); has > 0 && int64(size)/growth > has { // a system that promises all that is asked for would work on it for ever
		return fmt.Errorf("%d bytes in the plugin: %w: the machine has %d", size, core.ErrOutOfMemory, has)
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return fmt.Errorf("%d bytes in the plugin: %w: %v", size, core.ErrOutOfMemory, err)
	}
	return syscall.Munmap(b)
}
