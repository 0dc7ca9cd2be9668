package nv

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Libraries are the libraries that were found. A field is nil when its library is missing; Report says why.
type Libraries struct {
	Driver *Driver
	NVRTC  *NVRTC
	Lt     *Lt
	DNN    *DNN
	NCCL   *NCCL
	Report Report
}

// library describes one of NVIDIA's libraries to the search.
type library struct {
	key, name     string
	sonames       []string // the newest major version first
	system        bool     // comes with the driver
	wheel         string   // what names of Python packages with it begin with; set where the newest version is taken first
	lost, install string
}

var known = []library{
	{key: "driver", name: "CUDA driver", sonames: []string{"libcuda.so.1"}, system: true,
		lost:    "there is no cuda device",
		install: "NVIDIA's driver, version 525 or newer; in a container, start it with the NVIDIA container runtime"},
	{key: "nvrtc", name: "NVRTC", sonames: []string{"libnvrtc.so.13", "libnvrtc.so.12"},
		lost:    "no kernel can be compiled: only what the compile cache holds runs",
		install: "pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12, or a CUDA toolkit"},
	{key: "cublaslt", name: "cuBLASLt", sonames: []string{"libcublasLt.so.13", "libcublasLt.so.12"},
		lost:    "matrix products run on burn's own kernels, slower in f32 and much slower in f16, bf16, int8 and fp8",
		install: "pip install nvidia-cublas (CUDA 13) or nvidia-cublas-cu12, or a CUDA toolkit"},
	{key: "cudnn", name: "cuDNN", sonames: []string{"libcudnn.so.9"}, wheel: "nvidia_cudnn_cu",
		lost:    "convolution and attention run on burn's own kernels, which are slower",
		install: "pip install nvidia-cudnn-cu13 or nvidia-cudnn-cu12, or NVIDIA's cuDNN 9 packages"},
	{key: "nccl", name: "NCCL", sonames: []string{"libnccl.so.2"},
		lost:    "collectives between devices copy through peer access or the host, which is slower",
		install: "pip install nvidia-nccl-cu13 or nvidia-nccl-cu12"},
}

// Open looks for all libraries. It never fails: what is missing is nil in the result and explained in its Report. Libraries stay
// loaded until the process ends.
func Open(s Search) *Libraries {
	l := &Libraries{Report: make(Report, len(known))}
	driver := 0 // CUDA version that the driver supports, as in 13000; 0 when there is none
	for i, k := range known {
		row := &l.Report[i]
		*row = Row{Key: k.key, Library: k.name, Lost: k.lost, Install: k.install}
		s.find(k, row, func(handle uintptr) (version string, err error) {
			switch k.key {
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

// find loads the first candidate that try accepts, and fills the row.
func (s *Search) find(k library, row *Row, try func(handle uintptr) (version string, err error)) {
	if s.hidden(k.key) {
		row.Err = fmt.Errorf("%w: hidden by BURN_CUDA_HIDE", ErrMissing)
		return
	}
	for _, candidate := range s.candidates(&k) {
		handle, err := dlopen(candidate)
		if err != nil {
			if filepath.IsAbs(candidate) {
				row.Refused = append(row.Refused, fmt.Sprintf("%s: %v", candidate, err))
			}
			continue
		}
		path := candidate
		if !filepath.IsAbs(path) {
			path = loadedPath(candidate)
		}
		version, err := try(handle)
		if err == nil {
			row.Path, row.Version = path, version
			return
		}
		if version != "" { // the library is sound, and what it serves is not there
			row.Path, row.Version, row.Err = path, version, err
			return
		}
		row.Refused = append(row.Refused, fmt.Sprintf("%s: %v", path, err))
		if !k.system { // a driver has started threads
			dlclose(handle)
		}
	}
	if row.Refused != nil {
		row.Err = fmt.Errorf("%w: %d found and none usable", ErrMissing, len(row.Refused))
		return
	}
	row.Err = fmt.Errorf("%w: no %s", ErrMissing, strings.Join(k.sonames, " or "))
}

// loadedPath returns the file of a library that this process has mapped, or its name where the system does not tell.
func loadedPath(name string) string {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return name
	}
	defer f.Close()
	stem, _, _ := strings.Cut(name, ".so")
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if _, path, ok := strings.Cut(lines.Text(), "/"); ok && strings.HasPrefix(filepath.Base(path), stem+".so") {
			return "/" + path
		}
	}
	return name
}

// cudaVersion writes 12090 as 12.9.
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// dotted writes a version that is packed as major*a + minor*b + patch.
func dotted(v, a, b int) string { return fmt.Sprintf("%d.%d.%d", v/a, v%a/b, v%b) }

// tooNew refuses a library that was built for a later CUDA than the driver supports. driver is 0 when there is none, which
// refuses nothing: NVRTC compiles without a device.
func tooNew(major, driver int) error {
	if driver != 0 && major > driver/1000 {
		return fmt.Errorf("it is for CUDA %d, the driver supports CUDA %s at most", major, cudaVersion(driver))
	}
	return nil
}
