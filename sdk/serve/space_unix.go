//go:build unix

package serve

import (
	"fmt"
	"syscall"

	"github.com/goburn/burn/core"
)

// checkAddressSpace returns an ErrOutOfMemory if the system has no address space for so many bytes, for which Go would end the process. It
// does not test small sizes.
func checkAddressSpace(size int) error {
	if size < minChecked {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return fmt.Errorf("%d bytes in the plugin: %w: %v", size, core.ErrOutOfMemory, err)
	}
	return syscall.Munmap(b)
}
