package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// readNumbers reads the value of an input from a file of numbers: JSON in nested lists, or text with one row per line.
func readNumbers(in onnx.ValueInfo, file string, asJSON bool) (onnxtest.Value, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return onnxtest.Value{}, err
	}
	if asJSON {
		return jsonInput(in, b)
	}
	var rows [][]string
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r,;", r) }); len(f) > 0 {
			rows = append(rows, f)
		}
	}
	if len(rows) == 0 {
		return onnxtest.Value{}, errors.New("the file is empty, want numbers")
	}
	dims := shape.Of(len(rows), len(rows[0]))
	if len(rows) == 1 {
		dims = dims[1:]
	}
	var words []string
	for i, r := range rows {
		if len(r) != len(rows[0]) {
			return onnxtest.Value{}, fmt.Errorf("row %d has %d numbers, want %d as the first", i+1, len(r), len(rows[0]))
		}
		words = append(words, r...)
	}
	return numbersInput(in, dims, words)
}

// jsonInput converts a number or nested lists of numbers to the value of an input.
func jsonInput(in onnx.ValueInfo, b []byte) (onnxtest.Value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return onnxtest.Value{}, fmt.Errorf("want numbers in nested lists: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return onnxtest.Value{}, errors.New("want one list of numbers, got more behind it")
	}
	var dims shape.Shape
	for l, ok := v.([]any); ok; l, ok = l[0].([]any) {
		if dims = append(dims, len(l)); len(l) == 0 {
			break
		}
	}
	if len(dims) > shape.MaxRank {
		return onnxtest.Value{}, fmt.Errorf("lists of depth %d, want at most %d", len(dims), shape.MaxRank)
	}
	var words []string
	if err := flatten(v, dims, &words); err != nil {
		return onnxtest.Value{}, err
	}
	return numbersInput(in, dims, words)
}

// flatten appends the elements of nested lists of the given lengths.
func flatten(v any, dims shape.Shape, words *[]string) error {
	if len(dims) == 0 {
		switch x := v.(type) {
		case json.Number:
			*words = append(*words, x.String())
		case bool:
			*words = append(*words, strconv.FormatBool(x))
		case string: // NaN and the infinities, as --format jsonl writes them
			*words = append(*words, x)
		default:
			return errors.New("want numbers in lists of one depth")
		}
		return nil
	}
	l, ok := v.([]any)
	if !ok || len(l) != dims[0] {
		return fmt.Errorf("want nested lists of one depth, here of length %d", dims[0])
	}
	for _, e := range l {
		if err := flatten(e, dims[1:], words); err != nil {
			return err
		}
	}
	return nil
}

// numbersInput returns a value of the input's type from words in row-major order. If the model declares one more leading
// dimension, open or 1, it is 1.
func numbersInput(in onnx.ValueInfo, dims shape.Shape, words []string) (onnxtest.Value, error) {
	if in.Kind != onnx.TensorKind || !in.DType.Valid() {
		return onnxtest.Value{}, fmt.Errorf("the model wants %s, want a .pb file", in.Type())
	}
	if in.Ranked && len(in.Shape) == len(dims)+1 && (in.Shape[0].Size < 0 || in.Shape[0].Size == 1) {
		dims = append(shape.Of(1), dims...)
	}
	data, err := elements(in.DType, words)
	if err != nil {
		return onnxtest.Value{}, err
	}
	return onnxtest.Value{Tensor: onnxtest.Array{DType: in.DType, Shape: dims, Data: data}}, nil
}

// elements parses words as elements of a type. A number out of the range of the type is an error.
func elements(d dtype.DType, words []string) ([]byte, error) {
	switch d {
	case dtype.F32:
		return parsed(words, func(w string) (float32, error) { f, err := strconv.ParseFloat(w, 32); return float32(f), err })
	case dtype.F64:
		return parsed(words, func(w string) (float64, error) { return strconv.ParseFloat(w, 64) })
	case dtype.F16:
		return parsed(words, func(w string) (dtype.Float16, error) { return parseHalf(w, dtype.Float16From64, dtype.Float16.Float32) })
	case dtype.BF16:
		return parsed(words, func(w string) (dtype.BFloat16, error) {
			return parseHalf(w, dtype.BFloat16From64, dtype.BFloat16.Float32)
		})
	case dtype.I64:
		return parsed(words, func(w string) (int64, error) { return strconv.ParseInt(w, 10, 64) })
	case dtype.I32:
		return parsed(words, func(w string) (int32, error) { n, err := strconv.ParseInt(w, 10, 32); return int32(n), err })
	case dtype.I16:
		return parsed(words, func(w string) (int16, error) { n, err := strconv.ParseInt(w, 10, 16); return int16(n), err })
	case dtype.I8:
		return parsed(words, func(w string) (int8, error) { n, err := strconv.ParseInt(w, 10, 8); return int8(n), err })
	case dtype.U64:
		return parsed(words, func(w string) (uint64, error) { return strconv.ParseUint(w, 10, 64) })
	case dtype.U32:
		return parsed(words, func(w string) (uint32, error) { n, err := strconv.ParseUint(w, 10, 32); return uint32(n), err })
	case dtype.U16:
		return parsed(words, func(w string) (uint16, error) { n, err := strconv.ParseUint(w, 10, 16); return uint16(n), err })
	case dtype.U8:
		return parsed(words, func(w string) (uint8, error) { n, err := strconv.ParseUint(w, 10, 8); return uint8(n), err })
	case dtype.Bool:
		return parsed(words, strconv.ParseBool)
	}
	return nil, fmt.Errorf("numbers for an input of %v: want an .npy or .pb file", d)
}

// parseHalf parses a float of 16 bits and rounds it once. A finite number that would become infinite is out of range.
func parseHalf[T any](word string, round func(float64) T, value func(T) float32) (T, error) {
	f, err := strconv.ParseFloat(word, 64)
	v := round(f)
	if err == nil && math.IsInf(float64(value(v)), 0) && !math.IsInf(f, 0) {
		err = strconv.ErrRange
	}
	return v, err
}

func parsed[T dtype.Native](words []string, parse func(string) (T, error)) ([]byte, error) {
	out := make([]T, len(words))
	for i, w := range words {
		var err error
		if out[i], err = parse(w); err != nil {
			var n *strconv.NumError
			if errors.As(err, &n) {
				err = n.Err
			}
			return nil, fmt.Errorf("element %d, %.40q: %w for type %v", i, w, err, dtype.Of[T]())
		}
	}
	return dtype.Bytes(out), nil
}

// joined concatenates values of equal types and trailing dimensions along the first dimension.
func joined(vs []onnxtest.Array) onnxtest.Array {
	out := onnxtest.Array{DType: vs[0].DType, Shape: vs[0].Shape.Clone()}
	out.Shape[0] = 0
	size := 0
	for _, v := range vs {
		size += len(v.Data)
		out.Shape[0] += v.Shape[0]
	}
	out.Data = make([]byte, 0, size)
	for _, v := range vs {
		out.Data = append(out.Data, v.Data...)
	}
	return out
}

// rowsOf returns rows [from, to) of a value along its first dimension.
func rowsOf(v onnxtest.Array, from, to int) onnxtest.Array {
	s := v.Shape.Clone()
	s[0] = to - from
	each := len(v.Data) / max(1, v.Shape[0])
	return onnxtest.Array{DType: v.DType, Shape: s, Data: v.Data[from*each : to*each]}
}
