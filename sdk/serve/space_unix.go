//go:build unix

package serve

import (
	"fmt"
	"syscall"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/machine"
)

// growth is the factor by which the memory of a virtual machine may grow later.
const growth = 16

// checkAddressSpace returns an ErrOutOfMemory if the machine can never have size bytes of memory, or if there is no address space for
// them, because Go ends the process if such an allocation fails. It does not check sizes below minChecked.
func checkAddressSpace(size int) error {
	if size < minChecked {
		return nil
	}
	if has := machine.Memory(); has > 0 && int64(size)/growth > has { // a system that overcommits without limit would swap for a very long time
		return fmt.Errorf("%d bytes in the plugin: %w: the machine has %d", size, core.ErrOutOfMemory, has)
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return fmt.Errorf("%d bytes in the plugin: %w: %v", size, core.ErrOutOfMemory, err)
	}
	return syscall.Munmap(b)
}
