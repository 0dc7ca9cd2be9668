package amd

import (
	"fmt"
	"runtime"

	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Places lists the folders in which ROCm libraries are installed: by the ROCm packages, and by the Python packages of PyTorch and of ROCm.
var Places = vendor.Places{
	HideBy:    "BURN_ROCM_HIDE",
	Homes:     []string{"ROCM_PATH", "HIP_PATH"},
	Folders:   []string{"lib", "lib64"},
	Installed: []string{"/opt/rocm*/lib", "/opt/rocm*/lib64"},
	Wheels:    []string{"torch/lib", "_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib"},
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

// Optional libraries, with which the backend is faster.
var (
	LtLibrary = vendor.Library{Key: "hipblaslt", Name: ltName, Sonames: []string{"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"}, Stays: true,
		Lost:    "matrix products run on rocBLAS, without a bias or gelu in the same kernel; without that too, on burn's own kernels",
		Install: "AMD's package hipblaslt of ROCm 6 or 7"}
	BLASLibrary = vendor.Library{Key: "rocblas", Name: blasName, Sonames: []string{"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"}, Stays: true,
		Lost:    "matrix products that hipBLASLt does not take, as those of f64, run on burn's own kernels, which are slower",
		Install: "AMD's package rocblas, or Debian's librocblas0"}
	DNNLibrary = vendor.Library{Key: "miopen", Name: dnnName, Sonames: []string{"libMIOpen.so.1", "libMIOpen.so"}, Stays: true,
		Lost:    "convolutions run on burn's own kernels, which are slower",
		Install: "AMD's package miopen-hip, or Debian's libmiopen1"}
)

// Required reports whether the backend needs the library with the given key.
func Required(key string) bool { return key == Runtime.Key || key == Compiler.Key }

// Libraries are the optional libraries of a process, nil where they are missing.
type Libraries struct {
	Lt   *HipBLASLt
	BLAS *BLAS
	DNN  *MIOpen
}

// Children describes how child processes find and load the libraries.
var Children = child.Libraries{Places: Places, Find: Rows, Load: func(file string) (func(text string, options []string) ([]byte, string, error), error) {
	c, err := LoadRTC(file)
	if err != nil {
		return nil, err
	}
	return func(text string, options []string) ([]byte, string, error) {
		return c.Compile("burn.hip", text, options...)
	}, nil
}}

// Rows searches for all libraries, in this order: the runtime, the compiler, hipBLASLt, rocBLAS and MIOpen. Without a device it skips the
// optional libraries, which take long to load.
func Rows(s vendor.Search) vendor.Report {
	hip, row := OpenHIP(s)
	_, compiler := OpenRTC(s)
	all := vendor.Report{row, compiler}
	runtime.LockOSThread() // the current device belongs to the thread
	defer runtime.UnlockOSThread()
	for _, k := range []*vendor.Library{&LtLibrary, &BLASLibrary, &DNNLibrary} {
		row := vendor.Row{Key: k.Key, Library: k.Name, Lost: k.Lost, Install: k.Install, Err: fmt.Errorf("%w: not looked for, as there is no device", vendor.ErrMissing)}
		if hip != nil {
			s.Find(k, &row, func(handle uintptr) (string, error) {
				if err := hip.SetCurrent(1); err != nil {
					return "", err
				}
				return new(Libraries).try(k.Key, handle)
			})
		}
		all = append(all, row)
	}
	return all
}

// try is like open, and also creates a handle of rocBLAS or MIOpen on the current device, which may end the process.
func (l *Libraries) try(key string, handle uintptr) (version string, err error) {
	version, err = l.open(key, handle)
	switch {
	case err != nil:
	case l.BLAS != nil:
		err = l.BLAS.Try()
	case l.DNN != nil:
		err = l.DNN.Try()
	}
	if err != nil {
		return "", err
	}
	return version, nil
}

// open binds a library that was loaded, and returns its version.
func (l *Libraries) open(key string, handle uintptr) (version string, err error) {
	switch key {
	case LtLibrary.Key:
		x, err := openLt(handle)
		if err != nil {
			return "", err
		}
		l.Lt, version = x, ltVersion(x.Version)
	case BLASLibrary.Key:
		x, err := openBLAS(handle)
		if err != nil {
			return "", err
		}
		l.BLAS, version = x, x.Version
	case DNNLibrary.Key:
		x, err := openDNN(handle)
		if err != nil {
			return "", err
		}
		l.DNN, version = x, x.Version
	}
	return version, nil
}

// LoadLibraries loads the optional libraries that another process has found. If a library does not load here, it sets the error of its
// row. A device must be current.
func LoadLibraries(found vendor.Report) *Libraries {
	l := &Libraries{}
	for i := range found {
		row := &found[i]
		if Required(row.Key) || row.Err != nil {
			continue
		}
		handle, err := vendor.Load(row.Path)
		if err == nil {
			_, err = l.open(row.Key, handle)
		}
		if err != nil {
			row.Err = fmt.Errorf("%w: %s: %w", vendor.ErrMissing, row.Path, err)
		}
	}
	return l
}

// OpenHIP loads the first runtime that works and has a device. If no runtime works, h is nil and row contains the reason.
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

// hipVersion returns 50221153 as 5.2.21153.
func hipVersion(v int) string { return fmt.Sprintf("%d.%d.%d", v/10000000, v/100000%100, v%100000) }

// LoadHIP loads the runtime from a file. Another process has found a device with the same file.
func LoadHIP(file string) (*HIP, error) {
	handle, err := vendor.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", hipName, vendor.ErrMissing, err)
	}
	return openHIP(handle)
}

// LoadRTC loads the compiler from a file.
func LoadRTC(file string) (*RTC, error) {
	handle, err := vendor.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", rtcName, vendor.ErrMissing, err)
	}
	return openRTC(handle)
}
