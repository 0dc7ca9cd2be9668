package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// zeros is the word for a generated input: @zeros, or @zeros:1x3x224x224.
const zeros = "@zeros"

// inputFiles returns the files of inputs by the name of the input. Each argument is NAME=FILE, or FILE alone if the model has one
// input without a default.
func inputFiles(inputs []onnx.ValueInfo, args []string) (map[string]string, error) {
	files := map[string]string{}
	for _, arg := range args {
		name, file, err := splitInput(inputs, arg)
		if err != nil {
			return nil, err
		}
		if old, dup := files[name]; dup {
			return nil, usage("--input: %s is given twice: %s and %s", name, old, file)
		}
		files[name] = file
	}
	return files, nil
}

func splitInput(inputs []onnx.ValueInfo, arg string) (name, file string, err error) {
	// A name may contain '=' itself: the longest match wins.
	for _, in := range inputs {
		if rest, ok := strings.CutPrefix(arg, in.Name+"="); ok && len(in.Name) >= len(name) {
			name, file = in.Name, rest
		}
	}
	if name != "" {
		return name, file, nil
	}
	head, _, hasName := strings.Cut(arg, "=")
	if _, serr := os.Stat(arg); hasName && serr != nil {
		return "", "", usage("--input: the model has no input %q, it has %s", head, names(inputs))
	}
	if need := required(inputs); len(need) == 1 {
		return need[0].Name, arg, nil
	}
	return "", "", usage("--input %s: the model has %s, want NAME=FILE with one of %s", arg, count(len(inputs), "input"), names(inputs))
}

// required returns the inputs without a default.
func required(inputs []onnx.ValueInfo) []onnx.ValueInfo {
	return slices.DeleteFunc(slices.Clone(inputs), func(in onnx.ValueInfo) bool { return in.Default })
}

// maxDefaults is the greatest number of inputs with a default that are listed by name. Old ONNX files declare every weight as such an
// input.
const maxDefaults = 8

// listed returns the inputs to name in a text, and a remark about the inputs left out.
func listed(inputs []onnx.ValueInfo) (shown []onnx.ValueInfo, rest string) {
	shown = required(inputs)
	n := len(inputs) - len(shown)
	if n <= maxDefaults {
		return inputs, ""
	}
	return shown, fmt.Sprintf("%d more that have a default", n)
}

func names(inputs []onnx.ValueInfo) string {
	if len(inputs) == 0 {
		return "none"
	}
	var s []string
	shown, rest := listed(inputs)
	for _, in := range shown {
		s = append(s, in.Name)
	}
	if rest != "" {
		s = append(s, rest)
	}
	return strings.Join(s, ", ")
}

// readInput reads the value of an input from a file.
func readInput(in onnx.ValueInfo, file string, img imageFlags, room *hostRoom) (onnxtest.Value, error) {
	v, err := readFile(in, file, img, room)
	if err == nil {
		err = fits(in, v)
	}
	if err == nil {
		return v, nil
	}
	text := err.Error()
	if !strings.Contains(text, file) {
		err = fmt.Errorf("%s: %w", file, err)
	}
	err = fmt.Errorf("input %s: %w", in.Name, err)
	if errors.Is(err, core.ErrOutOfMemory) {
		return v, err
	}
	return v, &exitError{exitUsage, err}
}

func readFile(in onnx.ValueInfo, file string, img imageFlags, room *hostRoom) (onnxtest.Value, error) {
	if file == zeros || strings.HasPrefix(file, zeros+":") {
		return zeroInput(in, strings.TrimPrefix(strings.TrimPrefix(file, zeros), ":"), room)
	}
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".npy":
		if err := room.takeFile(file, 2); err != nil { // the buffer grows while reading
			return onnxtest.Value{}, err
		}
		return readNpy(file)
	case ".pb":
		if err := room.takeFile(file, 2); err != nil { // the message and the tensor
			return onnxtest.Value{}, err
		}
		return onnxtest.ReadFile(file, in)
	case ".png", ".jpg", ".jpeg", ".webp":
		return img.read(in, file)
	case ".json", ".txt", ".csv":
		if err := room.takeFile(file, 32); err != nil { // words, and the numbers parsed from them
			return onnxtest.Value{}, err
		}
		return readNumbers(in, file, ext == ".json")
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return onnxtest.Value{}, err
	case info.IsDir():
		return onnxtest.Value{}, fmt.Errorf("%s: a folder: name a file in it, or many by a pattern in quotes such as '%s'", file, filepath.Join(file, "*.jpg"))
	}
	return onnxtest.Value{}, errors.New("want a file that ends in .npy, .pb, .png, .jpg, .webp, .json, .txt or .csv")
}

func readNpy(file string) (onnxtest.Value, error) {
	f, err := os.Open(file)
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
	return onnxtest.Value{Tensor: onnxtest.Array{DType: d, Shape: a.Shape, Data: a.Data}}, nil
}

// fits checks a value against the declaration of the model. The model itself checks symbolic dimensions.
func fits(in onnx.ValueInfo, v onnxtest.Value) error {
	if in.Kind != onnx.TensorKind || v.Kind != onnxtest.Tensor {
		return nil
	}
	if in.DType.Valid() && v.Tensor.DType != in.DType {
		return fmt.Errorf("got %v, want %s: convert it with numpy's astype(%q)", v.Tensor, in.Type(), numpyName(in.DType))
	}
	ok := !in.Ranked || len(in.Shape) == len(v.Tensor.Shape)
	for i, d := range in.Shape {
		ok = ok && (d.Size < 0 || d.Size == v.Tensor.Shape[i])
	}
	if !ok {
		return fmt.Errorf("got %v, want %s", v.Tensor, in.Type())
	}
	return nil
}

func numpyName(d dtype.DType) string {
	size := strconv.Itoa(8 * d.Size())
	switch d.Class() {
	case dtype.Float:
		return "float" + size
	case dtype.Signed:
		return "int" + size
	case dtype.Unsigned:
		return "uint" + size
	}
	return "bool"
}

// zeroInput returns a tensor of zeros. dims is its shape, such as 1x3x224x224. If dims is empty, the model's shape is used, with 1 for open
// dimensions.
func zeroInput(in onnx.ValueInfo, dims string, room *hostRoom) (onnxtest.Value, error) {
	if in.Kind != onnx.TensorKind || !in.DType.Valid() {
		return onnxtest.Value{}, fmt.Errorf("%s stands for tensors, the model wants %s", zeros, in.Type())
	}
	var s shape.Shape
	switch {
	case dims != "":
		for _, f := range strings.Split(dims, "x") {
			n, err := strconv.Atoi(f)
			if err != nil {
				return onnxtest.Value{}, fmt.Errorf("want %s:1x3x224x224 or the like", zeros)
			}
			s = append(s, n)
		}
	case !in.Ranked:
		return onnxtest.Value{}, fmt.Errorf("the model does not say the shape, want %s:1x3x224x224 or the like", zeros)
	default:
		for _, dim := range in.Shape {
			n := dim.Size
			if n < 0 {
				n = 1
			}
			s = append(s, n)
		}
	}
	if err := s.Check(); err != nil {
		return onnxtest.Value{}, err
	}
	if err := room.take(fmt.Sprintf("%v%v", in.DType, s), int64(s.Size())*int64(in.DType.Size())); err != nil {
		return onnxtest.Value{}, err
	}
	return onnxtest.Value{Tensor: onnxtest.Array{DType: in.DType, Shape: s, Data: make([]byte, s.Size()*in.DType.Size())}}, nil
}

// missing returns an error that lists all inputs and a command that can be typed as is. For each missing input the command names a file
// beside the model that fits, or else zeros.
func (a *app) missing(model string, inputs []onnx.ValueInfo, files map[string]string) error {
	var b strings.Builder
	lacking := slices.DeleteFunc(slices.Clone(inputs), func(in onnx.ValueInfo) bool {
		_, ok := files[in.Name]
		return ok || in.Default || in.Kind == onnx.OptionalKind
	})
	plain.Fprintf(&b, "%s: missing %s: %s\n\ninputs:\n", model, count(len(lacking), "input"), names(lacking))
	shown, rest := listed(inputs)
	width := 0
	for _, in := range shown {
		width = max(width, len(in.Name))
	}
	for _, in := range shown {
		note := ""
		if f, ok := files[in.Name]; ok {
			note = "  " + f
		} else if in.Default {
			note = "  has a default"
		} else if takesImages(in) {
			note = "  .npy, .pb, or an image: .png, .jpg, .webp"
		}
		plain.Fprintf(&b, "  %-*s  %s%s\n", width, in.Name, in.Type(), note)
	}
	if rest != "" {
		plain.Fprintf(&b, "  %s\n", rest)
	}
	plain.Fprintf(&b, "\nexample:\n  burn run %s", quote(model))
	for i, in := range inputs {
		file := files[in.Name]
		if file == "" && in.Default {
			continue
		}
		if file == "" {
			file = example(model, in, i)
		}
		plain.Fprintf(&b, " --input %s", quote(in.Name+"="+file))
	}
	return &lined{usage("%s: missing inputs", model), b.String()}
}

// example returns a file in the model's folder that fits input i, or a word for zeros if it finds none.
func example(model string, in onnx.ValueInfo, i int) string {
	dir := filepath.Dir(model)
	fit := func(file string) bool {
		_, err := readInput(in, file, imageFlags{}, nil)
		return err == nil
	}
	if f := filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)); fit(f) {
		return f
	}
	tried := 0
	kinds := []string{".npy", ".pb"}
	if takesImages(in) {
		kinds = append(kinds, ".png", ".jpg", ".webp")
	}
	for _, ext := range kinds {
		found, err := filepath.Glob(filepath.Join(dir, "*"+ext))
		if err != nil {
			continue // the name of the folder has special characters that form no valid pattern
		}
		for _, f := range found {
			if tried++; tried > 8 {
				break
			}
			if fit(f) {
				return f
			}
		}
	}
	if !in.Ranked {
		return zeros + ":1"
	}
	return zeros
}

// quote quotes a word for a shell if needed.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%\\", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
