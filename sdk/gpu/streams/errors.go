package streams

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Named adds to an error of a library what the backend was doing, and wraps it with the sentinel error of package core that corresponds to
// it.
func Named(backend, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", backend, what, Sentinel(err))
}

// Sentinel wraps an error of a library with the sentinel error of package core that corresponds to it.
func Sentinel(err error) error {
	for _, s := range core.Sentinels() {
		if errors.Is(err, s) {
			return err
		}
	}
	kind := core.ErrKernel
	switch {
	case errors.Is(err, vendor.ErrFault):
		kind = core.ErrBackendLost
	case errors.Is(err, vendor.ErrOutOfMemory):
		kind = core.ErrOutOfMemory
	case errors.Is(err, vendor.ErrUnsupported), errors.Is(err, vendor.ErrMissing):
		kind = core.ErrUnsupported
	case errors.Is(err, vendor.ErrNoDevice):
		kind = core.ErrNotFound
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// suspect adds to a fault the last work that was started before the fault was seen.
func suspect(last string, err error) error {
	if errors.Is(err, vendor.ErrFault) {
		return fmt.Errorf("a fault in %s or what was started before it: %w", last, err)
	}
	return err
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), vendor.ErrUnsupported)
}
