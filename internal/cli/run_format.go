package cli

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
)

// itemResult is the result of the model for one item.
type itemResult struct {
	label   string
	names   []string // of the outputs, in order
	outputs map[string]onnxtest.Value
	ranked  string   // the output for --top; empty to show all outputs
	top     []topRow // by sample
	files   []string // files written
}

// resultWriter writes results one after another.
type resultWriter interface {
	write(r *itemResult) error
	// fail records an item without a result.
	fail(label string, err error) error
	flush() error
}

// newResultWriter returns a writer of a format: text, csv or jsonl.
func newResultWriter(format string, w io.Writer, f runFlags) resultWriter {
	b := bufio.NewWriter(w)
	switch format {
	case "csv":
		c := &csvResults{b: b, w: csv.NewWriter(b), labels: f.labels != "", clean: func(s string) string { return s }}
		if terminal(w) { // names of files and classes may contain control characters
			c.clean = plain.Text
		}
		return c
	case "jsonl":
		return jsonResults{b}
	}
	return textResults{b, f.softmax}
}

// textResults writes text for people: a line for each sample with --top, else a paragraph for each item.
type textResults struct {
	*bufio.Writer
	softmax bool
}

func (t textResults) write(r *itemResult) error {
	if r.ranked == "" {
		plain.Fprintf(t, "%s\n", r.label)
		for _, name := range r.names {
			summarize(t, name, r.outputs[name])
		}
		return nil
	}
	sample := -1
	for i, row := range r.top {
		switch {
		case row.Sample == sample:
			fmt.Fprint(t, ", ")
		case i > 0:
			fmt.Fprintln(t)
			fallthrough
		default:
			plain.Fprintf(t, "%s", r.label)
			if last := r.top[len(r.top)-1].Sample; last > 0 {
				fmt.Fprintf(t, "[%d]", row.Sample)
			}
			fmt.Fprint(t, ": ")
		}
		sample = row.Sample
		plain.Fprintf(t, "%s", strings.TrimSpace(fmt.Sprint(row.Index)+" "+row.Label))
		if row.Probability {
			fmt.Fprintf(t, " %.1f %%", 100*float64(row.Value))
		} else {
			fmt.Fprintf(t, " %s", short(row.Value))
		}
	}
	_, err := fmt.Fprintln(t)
	return err
}

func (t textResults) fail(string, error) error { return nil } // printed on stderr

func (t textResults) flush() error { return t.Flush() }

// jsonResults writes a JSON object per line and item.
type jsonResults struct{ *bufio.Writer }

// jsonResult is the object of an item.
type jsonResult struct {
	File    string       `json:"file"`
	Top     []topRow     `json:"top,omitempty"`
	Outputs []outputInfo `json:"outputs,omitempty"`
	Files   []string     `json:"files,omitempty"`
	Error   string       `json:"error,omitempty"`
}

func (j jsonResults) put(r jsonResult) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := j.Write(plain.JSON(b.Bytes()))
	return err
}

func (j jsonResults) write(r *itemResult) error {
	out := jsonResult{File: r.label, Top: r.top, Files: r.files}
	for _, name := range r.names {
		if r.ranked == "" && r.files == nil {
			out.Outputs = append(out.Outputs, wholeOf(name, r.outputs[name]))
		}
	}
	return j.put(out)
}

// wholeOf returns an output with all elements.
func wholeOf(name string, v onnxtest.Value) outputInfo {
	return describe(name, v, func(o *outputInfo, a onnxtest.Array) { o.Values = firstValues(a, a.Shape.Size()) })
}

func (j jsonResults) fail(label string, err error) error {
	return j.put(jsonResult{File: label, Error: err.Error()})
}

func (j jsonResults) flush() error { return j.Flush() }

// csvResults writes a row for each sample, under a header that the first result determines.
type csvResults struct {
	b       *bufio.Writer
	w       *csv.Writer
	labels  bool
	clean   func(string) string // escapes texts
	columns int                 // 0 before the header
}

// maxColumns is the greatest number of columns of a table.
const maxColumns = 1 << 14

func (c *csvResults) write(r *itemResult) error {
	var rows [][]string
	var header []string
	var err error
	if r.ranked != "" {
		header, rows = c.ranked(r)
	} else if header, rows, err = values(r); err != nil {
		return err
	}
	for _, row := range append(rows, header) {
		for i := range row {
			row[i] = c.clean(row[i])
		}
	}
	if c.columns == 0 {
		c.columns = len(header)
		if err := c.w.Write(header); err != nil {
			return err
		}
	}
	if len(header) != c.columns {
		return &itemError{fmt.Errorf("the result has %d columns, and the first one has %d", len(header), c.columns)}
	}
	for _, row := range rows {
		if err := c.w.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// itemError is an error of one item that does not end the work.
type itemError struct{ error }

func (e *itemError) Unwrap() error { return e.error }

// ranked returns the best classes of each sample in a row.
func (c *csvResults) ranked(r *itemResult) (header []string, rows [][]string) {
	header = []string{"file", "sample"}
	for i, t := range r.top {
		if len(rows) == 0 || r.top[i-1].Sample != t.Sample {
			rows = append(rows, []string{r.label, strconv.Itoa(t.Sample)})
		}
		k := len(rows) - 1
		cells := []string{strconv.Itoa(t.Index)}
		if c.labels {
			cells = append(cells, t.Label)
		}
		rows[k] = append(append(rows[k], cells...), cell(float64(t.Value)))
		if k == 0 {
			n := i + 1
			header = append(header, fmt.Sprintf("class%d", n))
			if c.labels {
				header = append(header, fmt.Sprintf("label%d", n))
			}
			header = append(header, fmt.Sprintf("value%d", n))
		}
	}
	return header, rows
}

// values returns all elements of the outputs: a row for each index of the first dimension if all outputs share it, else one row.
func values(r *itemResult) (header []string, rows [][]string, err error) {
	n := 1
	for i, name := range r.names {
		v := r.outputs[name]
		if v.Kind != onnxtest.Tensor {
			return nil, nil, usage("--format csv: output %s is %v, want tensors; use --format jsonl", name, v)
		}
		first := 1
		if len(v.Tensor.Shape) > 0 {
			first = v.Tensor.Shape[0]
		}
		if i == 0 {
			n = first
		} else if first != n {
			n = 1
		}
	}
	if n < 1 {
		return nil, nil, &itemError{fmt.Errorf("the outputs are empty")}
	}
	header, rows = []string{"file", "sample"}, make([][]string, n)
	for i := range rows {
		rows[i] = []string{r.label, strconv.Itoa(i)}
	}
	for _, name := range r.names {
		a := r.outputs[name].Tensor
		each := a.Shape.Size() / n
		if len(header)+each > maxColumns {
			return nil, nil, usage("--format csv: output %s is %v, more than %d columns; use --top, --format jsonl, or --output DIR for arrays", name, a, maxColumns)
		}
		if each == 1 {
			header = append(header, name)
		} else {
			for k := range each {
				header = append(header, fmt.Sprintf("%s[%d]", name, k))
			}
		}
		words := cells(a)
		for i := range rows {
			rows[i] = append(rows[i], words[i*each:(i+1)*each]...)
		}
	}
	return header, rows, nil
}

// cells formats all elements.
func cells(a onnxtest.Array) []string {
	out := make([]string, 0, a.Shape.Size())
	switch {
	case a.DType == dtype.Bool:
		for _, v := range dtype.Slice[bool](a.Data) {
			out = append(out, strconv.FormatBool(v))
		}
	case a.DType == dtype.U64:
		for _, v := range dtype.Slice[uint64](a.Data) {
			out = append(out, strconv.FormatUint(v, 10))
		}
	case a.DType.IsInt():
		for _, v := range tensor.Int64s(a.DType, a.Data) {
			out = append(out, strconv.FormatInt(v, 10))
		}
	case a.DType == dtype.F32:
		for _, v := range dtype.Slice[float32](a.Data) {
			out = append(out, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
	default:
		for _, v := range tensor.Float64s(a.DType, a.Data) {
			out = append(out, cell(v))
		}
	}
	return out
}

func cell(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (c *csvResults) fail(string, error) error { return nil } // printed on stderr

func (c *csvResults) flush() error {
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return err
	}
	return c.b.Flush()
}
