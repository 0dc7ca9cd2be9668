package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// store holds operands as files, each written once.
type store struct {
	dir   string
	files map[string]string
}

func newStore(dir string) *store { return &store{dir, map[string]string{}} }

// operand returns the path of the file with an operand's values, which it writes if there is none yet.
func (s *store) operand(o bench.Operand, seed int) (string, error) {
	key := fmt.Sprintf("%v%v fill %d below %d seed %d", o.DType, o.Shape, o.Fill, o.Below, seed)
	if f, ok := s.files[key]; ok {
		return f, nil
	}
	data, err := o.Data(seed)
	if err != nil {
		return "", err
	}
	f, err := s.write(onnxtest.Array{DType: o.DType, Shape: o.Shape, Data: data})
	s.files[key] = f
	return f, err
}

// write stores an array in a new file and returns its path.
func (s *store) write(a onnxtest.Array) (path string, err error) {
	f, err := os.CreateTemp(s.dir, "*.npy")
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return f.Name(), npy.Write(f, &npy.Array{DType: a.DType.String(), Shape: a.Shape, Data: a.Data})
}

func readArray(path string) (onnxtest.Value, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return onnxtest.Value{}, err
	}
	defer f.Close()
	a, err := npy.Read(f, 0)
	if err != nil {
		return onnxtest.Value{}, err
	}
	d, err := dtype.Parse(a.DType)
	if err != nil {
		return onnxtest.Value{}, err
	}
	return onnxtest.Value{Tensor: onnxtest.Array{DType: d, Shape: shape.Shape(a.Shape), Data: a.Data}}, nil
}
