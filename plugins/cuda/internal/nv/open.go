package nv

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Libraries contains the libraries that were found. A field is nil if its library is missing; Report says why.
type Libraries struct {
	Driver *Driver
	NVRTC  *NVRTC
	Lt     *Lt
	DNN    *DNN
	NCCL   *NCCL
	Report Report
}

// places describes where NVIDIA's libraries are installed.
var places = vendor.Places{
	HideBy:    "BURN_CUDA_HIDE",
	Homes:     []string{"CUDA_PATH", "CUDA_HOME"},
	Folders:   []string{"lib64", "lib"},
	Installed: []string{"/usr/local/cuda*/lib64"},
	System:    []string{"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64"},
	Wheels:    []string{"nvidia/cu13/lib", "nvidia/*/lib"},
}

// DefaultSearch is the search in the environment of this process. BURN_CUDA_HIDE lists libraries to hide, separated by commas.
func DefaultSearch() Search { return vendor.DefaultSearch(places) }

var known = []vendor.Library{
	{Key: "driver", Name: "CUDA driver", Sonames: []string{"libcuda.so.1"}, System: true,
		Lost:    "there is no cuda device",
		Install: "NVIDIA's driver, version 525 or newer; in a container, start it with the NVIDIA container runtime"},
	{Key: "nvrtc", Name: "NVRTC", Sonames: []string{"libnvrtc.so.13", "libnvrtc.so.12"},
		Lost:    "no kernel can be compiled: only what the compile cache holds runs",
		Install: "pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12, or a CUDA toolkit"},
	{Key: "cublaslt", Name: "cuBLASLt", Sonames: []string{"libcublasLt.so.13", "libcublasLt.so.12"},
		Lost:    "matrix products run on burn's own kernels, slower in f32 and much slower in f16, bf16, int8 and fp8",
		Install: "pip install nvidia-cublas (CUDA 13) or nvidia-cublas-cu12, or a CUDA toolkit"},
	{Key: "cudnn", Name: "cuDNN", Sonames: []string{"libcudnn.so.9"}, Wheel: "nvidia_cudnn_cu",
		Lost:    "convolution and attention run on burn's own kernels, which are slower",
		Install: "pip install nvidia-cudnn-cu13 or nvidia-cudnn-cu12, or NVIDIA's cuDNN 9 packages"},
	{Key: "nccl", Name: "NCCL", Sonames: []string{"libnccl.so.2"},
		Lost:    "collectives between devices copy through peer access or the host, which is slower",
		Install: "pip install nvidia-nccl-cu13 or nvidia-nccl-cu12"},
}

// Open looks for all libraries. It never fails: a missing library is nil in the result and explained in its Report. Libraries stay loaded
// until the process ends.
func Open(s Search) *Libraries {
	l := &Libraries{Report: make(Report, len(known))}
	driver := 0 // CUDA version that the driver supports, as in 13000; 0 without a driver
	s.Places = places
	for i := range known {
		k := &known[i]
		s.Find(k, &l.Report[i], func(handle uintptr) (version string, err error) {
			switch k.Key {
			case "driver":
				var d *Driver
				if d, err = openDriver(handle); d != nil {
					driver, version = d.Version, cudaVersion(d.Version)
				}
				if err == nil {
					l.Driver = d
				}
			case "nvrtc":
				if l.NVRTC, err = openNVRTC(handle, driver); err != nil {
					l.NVRTC = nil
				} else {
					version = fmt.Sprintf("%d.%d", l.NVRTC.Major, l.NVRTC.Minor)
				}
			case "cublaslt":
				if l.Lt, err = openLt(handle, driver); err != nil {
					l.Lt = nil
				} else {
					version = dotted(l.Lt.Version, 10000, 100)
				}
			case "cudnn":
				if l.DNN, err = openDNN(handle, driver); err != nil {
					l.DNN = nil
				} else {
					version = dotted(l.DNN.Version, 10000, 100)
				}
			case "nccl":
				if l.NCCL, err = openNCCL(handle); err != nil {
					l.NCCL = nil
				} else {
					version = dotted(l.NCCL.Version, 10000, 100)
				}
			}
			return version, err
		})
	}
	return l
}

// cudaVersion returns 12090 as 12.9.
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// dotted returns a version that is packed as major*a + minor*b + patch as text.
func dotted(v, a, b int) string { return fmt.Sprintf("%d.%d.%d", v/a, v%a/b, v%b) }

// tooNew refuses a library that was built for a later CUDA than the driver supports. driver is 0 if there is no driver; then nothing is
// refused, since NVRTC compiles without a device.
func tooNew(major, driver int) error {
	if driver != 0 && major > driver/1000 {
		return fmt.Errorf("it is for CUDA %d, the driver supports CUDA %s at most", major, cudaVersion(driver))
	}
	return nil
}
