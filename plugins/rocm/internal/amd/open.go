package amd

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Places describes where ROCm's libraries are installed: by its packages, and in Python packages of PyTorch and of ROCm itself.
var Places = vendor.Places{
	HideBy:    "BURN_ROCM_HIDE",
	Homes:     []string{"ROCM_PATH", "HIP_PATH"},
	Folders:   []string{"lib", "lib64"},
	Installed: []string{"/opt/rocm*/lib", "/opt/rocm*/lib64"},
	Wheels:    []string{"torch/lib", "_rocm_sdk_core/lib"},
}

// Runtime and Compiler are the libraries that the backend needs.
var (
	Runtime = vendor.Library{Key: "hip", Name: "HIP runtime", Sonames: []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}, Stays: true,
		Lost:    "there is no rocm device",
		Install: "ROCm 5.2 to 7 (AMD's package hip-runtime-amd, Debian's libamdhip64-5) and the kernel's driver amdgpu; in a container, pass it /dev/kfd and /dev/dri"}
	// Until ROCm 6 the runtime has the functions of the compiler too, and some packages have no other library for them.
	Compiler = vendor.Library{Key: "hiprtc", Name: "hiprtc", Sonames: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "libamdhip64.so.6", "libamdhip64.so.5"}, Stays: true,
		Lost:    "no kernel can be compiled",
		Install: "AMD's package hip-runtime-amd of ROCm 5.2 to 7, or Debian's libamdhip64-5 with libhiprtc-builtins5 and rocm-device-libs"}
)

// OpenHIP loads the first runtime that works and has a device. The result is nil where there is none; row says why.
func OpenHIP(s vendor.Search) (h *HIP, row vendor.Row) {
	s.Find(&Runtime, &row, func(handle uintptr) (version string, err error) {
		x, err := openHIP(handle)
		if x != nil {
			version = hipVersion(x.Version)
		}
		if err == nil {
			h = x
		}
		return version, err
	})
	return h, row
}

// OpenRTC loads the first compiler that works.
func OpenRTC(s vendor.Search) (c *RTC, row vendor.Row) {
	s.Find(&Compiler, &row, func(handle uintptr) (string, error) {
		x, err := openRTC(handle)
		if err != nil {
			return "", err
		}
		c = x
		return fmt.Sprintf("%d.%d", x.Major, x.Minor), nil
	})
	return c, row
}

// hipVersion writes 50221153 as 5.2.21153.
func hipVersion(v int) string { return fmt.Sprintf("%d.%d.%d", v/10000000, v/100000%100, v%100000) }

// LoadHIP loads the runtime of a file, in which another process has found a device.
func LoadHIP(file string) (*HIP, error) {
	handle, err := vendor.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", hipName, vendor.ErrMissing, err)
	}
	return openHIP(handle)
}

// LoadRTC loads the compiler of a file.
func LoadRTC(file string) (*RTC, error) {
	handle, err := vendor.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", rtcName, vendor.ErrMissing, err)
	}
	return openRTC(handle)
}
