package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// writeFile replaces the file at path atomically by what write writes, with mode 0644.
func writeFile(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// writeNpy writes a tensor as .npy. Floats that NumPy does not have are written as f32, and integers narrower than a byte as i8.
func writeNpy(path string, a onnxtest.Array) error {
	switch {
	case a.DType == dtype.BF16:
		a.Data, a.DType = dtype.Bytes(widen(dtype.Slice[dtype.BFloat16](a.Data))), dtype.F32
	case dtype.SmallFloats.Has(a.DType):
		v := make([]float32, len(a.Data))
		dtype.FromSmall(a.DType, a.Data, v)
		a.Data, a.DType = dtype.Bytes(v), dtype.F32
	case dtype.SmallInts.Has(a.DType): // one element per byte, sign-extended
		a.DType = dtype.I8
	}
	return writeFile(path, func(f *os.File) error {
		w := bufio.NewWriter(f)
		if err := npy.Write(w, &npy.Array{DType: a.DType.String(), Shape: a.Shape, Data: a.Data}); err != nil {
			return err
		}
		return w.Flush()
	})
}

func widen(in []dtype.BFloat16) []float32 {
	out := make([]float32, len(in))
	for i, v := range in {
		out[i] = v.Float32()
	}
	return out
}

// outputFiles returns a file name without extension for each output: the name of the output, with characters replaced that file
// systems may not accept, and a number appended if names become equal.
func outputFiles(names []string) []string {
	taken := map[string]bool{}
	out := make([]string, len(names))
	for i, n := range names {
		base := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
				return r
			}
			return '_'
		}, n)
		base = strings.TrimLeft(base, ".")
		if base == "" {
			base = "output"
		}
		base = base[:min(len(base), 100)]
		name := base
		for k := 1; taken[strings.ToLower(name)]; k++ { // some file systems ignore case
			name = fmt.Sprintf("%s_%d", base, k)
		}
		taken[strings.ToLower(name)] = true
		out[i] = name
	}
	return out
}
