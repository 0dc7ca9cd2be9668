package cli

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/model/onnx"
	"github.com/spf13/cobra"
)

// loadModel loads an ONNX model. The error for a file of another kind names the kind and the remedy.
func loadModel(path string, o onnx.Options) (*onnx.Model, error) {
	m, err := onnx.Load(path, o)
	if err == nil {
		return m, nil
	}
	if what := foreign(path); what != "" {
		return nil, &exitError{exitModel, fmt.Errorf("%s: %s", path, what)}
	}
	return nil, badModel(err)
}

// precisionFlag adds --precision.
func precisionFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "precision", "f32", "f32, bf16 or f16: `TYPE` of products of f32, and of other ops where it suffices")
	must(cmd.RegisterFlagCompletionFunc("precision", cobra.FixedCompletions([]string{"f32", "bf16", "f16"}, cobra.ShellCompDirectiveNoFileComp)))
}

// precision returns the type for a value of --precision.
func precision(text string) (dtype.DType, error) {
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F16} {
		if text == d.String() {
			return d, nil
		}
	}
	if text == "" { // without a command line
		return dtype.F32, nil
	}
	return dtype.Invalid, usage("--precision: want f32, bf16 or f16, got %q%s", text, nearest.Hint(text, []string{"f32", "bf16", "f16"}))
}

const exportIt = "burn runs ONNX models: export the model where it was made"

// magics maps the first bytes of files of other kinds.
var magics = []struct{ prefix, what string }{
	{"GGUF", "weights for llama.cpp (GGUF), which have no graph; burn runs ONNX models: look for an ONNX export of this model"},
	{"version https://git-lfs", "a pointer of Git LFS, not the file itself: fetch it with git lfs pull"},
	{"\x93NUMPY", "an array of NumPy, not a model: give it to a model with --input"},
	{"\x89HDF\r\n\x1a\n", "a Keras or HDF5 file; " + exportIt + ", as tf2onnx does"},
	{"\x89PNG", "an image, not a model: the model comes first, burn run MODEL FILE"},
	{"\xff\xd8\xff", "an image, not a model: the model comes first, burn run MODEL FILE"},
	{"\x1f\x8b", "packed by gzip: unpack it first"},
	{"\x80\x02", pickled}, {"\x80\x03", pickled}, {"\x80\x04", pickled}, {"\x80\x05", pickled},
	{"\x89BURNREC", "a record of burn, which has parameters and no graph: load it in Go with record.LoadModule; burn train writes model.onnx beside it"},
}

const pickled = "a PyTorch or pickle file, which needs Python to be read: export the model with torch.onnx.export(model, example, \"model.onnx\", dynamo=True)"

// foreign describes a file that is no ONNX model, with a remedy; empty if its kind is unknown.
func foreign(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return folder(path)
	}
	if !info.Mode().IsRegular() {
		return "not a regular file, want an ONNX model"
	}
	if info.Size() == 0 {
		return "the file is empty, want an ONNX model"
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	head = head[:n]
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.what
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipped(f, info.Size())
	case len(head) > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) < uint64(info.Size()):
		return "weights in safetensors, which have no graph; " + exportIt + " (optimum-cli export onnx), or load the weights in Go with record.LoadModule"
	case len(head) > 8 && string(head[4:8]) == "TFL3":
		return "a model for TensorFlow Lite; " + exportIt + ", as tf2onnx does"
	case readable(head):
		if t := bytes.ToLower(bytes.TrimSpace(head)); bytes.HasPrefix(t, []byte("<!doctype")) || bytes.HasPrefix(t, []byte("<html")) {
			return "a web page, not a model: the download gave a page instead of the file"
		}
		return "a text file, want an ONNX model"
	}
	return ""
}

// readable reports whether the beginning of a file is text: UTF-8 without control characters.
func readable(head []byte) bool {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && i < len(head)-utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return false
		}
		i += n
	}
	return true
}

// zipped describes the content of a zip file.
func zipped(f io.ReaderAt, size int64) string {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return "a damaged zip file, want an ONNX model"
	}
	for _, e := range z.File {
		switch base := filepath.Base(e.Name); {
		case base == "data.pkl":
			return pickled
		case base == "config.json" || base == "model.weights.h5":
			return "a Keras file; " + exportIt + ", as tf2onnx does"
		case strings.HasSuffix(base, ".npy"):
			return "arrays of NumPy (npz), not a model: give one to a model with --input as .npy"
		case strings.HasSuffix(base, ".onnx"):
			return "a zip file with " + e.Name + ": unpack it first"
		}
	}
	return "a zip file, want an ONNX model"
}

// folder suggests what to name instead of a folder.
func folder(path string) string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "a folder, want an ONNX model"
	}
	var models []string
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name()), ".onnx") && !e.IsDir() {
			models = append(models, filepath.Join(path, e.Name()))
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	switch {
	case len(models) > 0:
		more := ""
		if len(models) > 1 {
			more = fmt.Sprintf(" or %d others", len(models)-1)
		}
		return fmt.Sprintf("a folder: name the model in it, %s%s", models[0], more)
	case has("saved_model.pb"):
		return "a SavedModel of TensorFlow; " + exportIt + ", as tf2onnx does"
	case has("config.json"):
		return "a folder of a model with its settings; " + exportIt + " (optimum-cli export onnx)"
	}
	return "a folder that holds no .onnx file, want an ONNX model"
}
