package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/dialect"
)

// compiler compiles texts. Without NVRTC it compiles nothing, and has the name of the compiler that was used last with the same cache, so
// that cached kernels are found.
type compiler struct {
	nvrtc        *nv.NVRTC
	architecture string
	name         string
	why          error // the error of compile if no compiler was found
}

func newCompiler(libs *nv.Libraries, capability int, cache string) (compiler, error) {
	note := ""
	if cache != "" {
		note = filepath.Join(cache, fmt.Sprintf("compiler-%d", capability))
	}
	if libs.NVRTC == nil {
		c := compiler{name: "none", why: fmt.Errorf("cuda: %w: %s", core.ErrUnsupported, libs.Report.Row("nvrtc").Missing())}
		if name, err := os.ReadFile(note); err == nil && len(name) < 1<<10 {
			c.name = string(name)
		}
		return c, nil
	}
	known, err := libs.NVRTC.Architectures()
	if err != nil {
		return compiler{}, err
	}
	c := compiler{nvrtc: libs.NVRTC}
	if c.architecture, err = architecture(capability, known); err != nil {
		return compiler{}, err
	}
	c.name = fmt.Sprintf("NVRTC %d.%d %s %s", c.nvrtc.Major, c.nvrtc.Minor, c.architecture, strings.Join(dialect.CUDA.Options, " "))
	if note != "" {
		c.remember(note)
	}
	return c, nil
}

// remember writes the name of the compiler to a file. Without this file, kernels of the cache are not found if NVRTC is missing later;
// nothing else depends on it.
func (c *compiler) remember(file string) {
	if had, err := os.ReadFile(file); err == nil && string(had) == c.name || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return
	}
	_, err = f.WriteString(c.name)
	if e := f.Close(); err != nil || e != nil || os.Rename(f.Name(), file) != nil {
		_ = os.Remove(f.Name())
	}
}

// compile compiles a text to a module. If the text itself is wrong, the error is ErrKernel.
func (c *compiler) compile(text string) ([]byte, error) {
	if c.nvrtc == nil {
		return nil, c.why
	}
	code, _, err := c.nvrtc.Compile("burn.cu", text, c.architecture, dialect.CUDA.Options...)
	return code, named("compilation", err)
}
