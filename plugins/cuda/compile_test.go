package cuda

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// h200 holds the facts of an H200, the main development target.
var h200 = facts{capability: 90, units: 132, warp: 32, threads: 1024, resident: 2048, shared: 227 << 10, grid: [3]int{1<<31 - 1, 65535, 65535}}

// compiling is the emulated driver with the properties of a real device. It compiles each kernel for that device before the interpreter
// runs it.
type compiling struct {
	gpu.Driver
	compile func(text string) ([]byte, error)
}

type compilingDevice struct {
	gpu.Device
	gpu.Grapher
	compile func(text string) ([]byte, error)
}

func (c compiling) Open(ctx context.Context, index int) (gpu.Device, error) {
	d, err := c.Driver.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	return compilingDevice{d, d.(gpu.Grapher), c.compile}, nil
}

func (d compilingDevice) Dialect() *dialect.Dialect { return dialect.CUDA }

func (d compilingDevice) Compile(_ context.Context, text string) ([]byte, error) {
	return d.compile(text)
}

func (d compilingDevice) Load(_ []byte, kernels []*ir.Kernel) ([]gpu.Function, error) {
	return d.Device.Load(nil, kernels)
}

// nvrtc returns NVRTC from the folder that BURN_NVRTC names, or from the folder of the file that it names.
func nvrtc(t *testing.T) *nv.NVRTC {
	folder := os.Getenv("BURN_NVRTC")
	if folder == "" {
		t.Skip("BURN_NVRTC names no folder with libnvrtc.so.13 or .12: get one with pip download nvidia-cuda-nvrtc")
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	l := nv.Open(nv.Search{Only: folder})
	require.NotNil(t, l.NVRTC, "%s", l.Report)
	return l.NVRTC
}

// TestKernelsCompile compiles the kernels of a sample of the conformance suite to machine code, and runs them in the interpreter. Of the
// cases that match a pattern of BURN_CUDA_RUN it runs one in BURN_CUDA_SAMPLE, 256 by default, and at least one of each op.
func TestKernelsCompile(t *testing.T) {
	n := nvrtc(t)
	var mu sync.Mutex
	known := map[string]error{}
	compile := func(text string) ([]byte, error) {
		mu.Lock()
		err, ok := known[text]
		mu.Unlock()
		if ok {
			return []byte{1}, err
		}
		code, log, err := n.Compile("burn.cu", text, "sm_90a", dialect.CUDA.Options...)
		if err == nil && !bytes.HasPrefix(code, []byte("\x7fELF")) {
			err = errors.New("no machine code")
		}
		if err == nil && strings.Contains(log, "warning") {
			err = errors.New(log)
		}
		if err != nil && strings.Count(text, "__global__") == 1 {
			t.Errorf("%v\n%s", err, text)
		}
		mu.Lock()
		known[text] = err
		mu.Unlock()
		return code, named("compilation", err)
	}
	driver := compiling{emulated.New(emulated.Options{Target: h200.target()}), compile}
	o := conformance.Options{Sample: 256, Shrink: -1}
	if text := os.Getenv("BURN_CUDA_SAMPLE"); text != "" {
		var err error
		o.Sample, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	patterns := strings.Fields(os.Getenv("BURN_CUDA_RUN"))
	if len(patterns) == 0 {
		patterns = []string{""}
	}
	for _, o.Run = range patterns {
		conformance.Run(t, func() (core.Backend, error) { return gpu.New(driver, gpu.Options{NoCache: true}), nil }, o)
	}
	t.Logf("%d texts were compiled", len(known))
}
