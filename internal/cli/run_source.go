package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/model/onnx"
)

// stdinFile is the file name that means lines on standard input.
const stdinFile = "-"

// maxLine is the greatest length of a line on standard input, in bytes.
const maxLine = 64 << 20

// entry is one item to run a model on, before its files are read.
type entry struct {
	label string
	files map[string]string          // by input
	data  map[string]json.RawMessage // numbers by input
	err   error
}

// manyFiles holds the inputs of a command that runs a model many times.
type manyFiles struct {
	fixed map[string]string // files of inputs that are the same in every run
	vary  string            // the input that varies; empty if lines on standard input name it
	paths []string          // its files, in order; nil for lines
	lines bool
}

// manyOf returns the inputs if the arguments name many files: several for one input, a pattern, or lines. It returns nil if they
// name one file for each input. If always is set, one file counts as many too.
func manyOf(inputs []onnx.ValueInfo, args []string, always bool) (*manyFiles, error) {
	byName := map[string][]string{}
	var order []string
	many := &manyFiles{fixed: map[string]string{}}
	for _, arg := range args {
		if arg == stdinFile && len(required(inputs)) != 1 {
			many.lines = true
			continue
		}
		name, file, err := splitInput(inputs, arg)
		if err != nil {
			return nil, err
		}
		if len(byName[name]) == 0 {
			order = append(order, name)
		}
		byName[name] = append(byName[name], file)
	}
	var varying []string
	for _, name := range order {
		files := byName[name]
		if len(files) > 1 || files[0] == stdinFile || pattern(files[0]) {
			varying = append(varying, name)
		} else {
			many.fixed[name] = files[0]
		}
	}
	if len(varying) == 0 && !many.lines {
		if !always || len(args) == 0 {
			return nil, nil
		}
		if len(order) != 1 {
			return nil, usage("--batch, --format, --out: want the files of one input, got %s; give several inputs as lines of JSON on standard input: burn run MODEL -", count(len(order), "input"))
		}
		varying = order
		delete(many.fixed, order[0])
	}
	if len(varying) > 1 || len(varying) == 1 && many.lines {
		return nil, usage("--input: %s have many files each; give several inputs as lines of JSON on standard input: burn run MODEL -", strings.Join(varying, " and "))
	}
	if many.lines {
		return many, nil
	}
	many.vary = varying[0]
	files := byName[many.vary]
	if files[0] == stdinFile && len(files) == 1 {
		many.lines = true
		return many, nil
	}
	for _, file := range files {
		switch {
		case file == stdinFile:
			return nil, usage("--input: want either files or %s, which reads their names from standard input", stdinFile)
		case pattern(file):
			found, err := filepath.Glob(file)
			if err != nil {
				return nil, usage("%s: %w", file, err)
			}
			if len(found) == 0 {
				return nil, usage("%s: no file matches this pattern", file)
			}
			many.paths = append(many.paths, found...)
		default:
			many.paths = append(many.paths, file)
		}
	}
	return many, nil
}

// pattern reports whether file is a pattern: a name with *, ? or [ that is not itself a file.
func pattern(file string) bool {
	if !strings.ContainsAny(file, "*?[") {
		return false
	}
	_, err := os.Stat(file)
	return err != nil
}

// total returns the number of entries, 0 if unknown.
func (m *manyFiles) total() int { return len(m.paths) }

// entries returns the items in order, lines as they arrive.
func (m *manyFiles) entries(stdin io.Reader) iter.Seq[entry] {
	if !m.lines {
		return func(yield func(entry) bool) {
			for _, p := range m.paths {
				if !yield(entry{label: p, files: map[string]string{m.vary: p}}) {
					return
				}
			}
		}
	}
	return func(yield func(entry) bool) {
		s := bufio.NewScanner(stdin)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for s.Scan() {
			n++
			if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 && !yield(m.line(n, line)) {
				return
			}
		}
		if err := s.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("more than %d bytes: the rest of the input is not read", maxLine)
			}
			yield(entry{label: fmt.Sprintf("line %d", n+1), err: err})
		}
	}
}

// line parses one line: a path, or JSON: an object of inputs, or the numbers or the path of the one input.
func (m *manyFiles) line(n int, line []byte) entry {
	e := entry{label: fmt.Sprintf("line %d", n), files: map[string]string{}, data: map[string]json.RawMessage{}}
	fault := func(format string, args ...any) entry {
		e.err = fmt.Errorf(format, args...)
		return e
	}
	put := func(name string, v json.RawMessage) error {
		if v[0] != '"' {
			e.data[name] = bytes.Clone(v)
			return nil
		}
		var path string
		err := json.Unmarshal(v, &path)
		e.files[name] = path
		return err
	}
	switch line[0] {
	case '{':
		var inputs map[string]json.RawMessage
		if err := json.Unmarshal(line, &inputs); err != nil {
			return fault("want a path, or JSON: %w", err)
		}
		for name, v := range inputs {
			if err := put(name, v); err != nil {
				return fault("%s: %w", name, err)
			}
		}
		return e
	case '[', '"':
		if m.vary == "" {
			return fault("want an object with the inputs by name, as the model has several")
		}
		if !json.Valid(line) {
			return fault("want a path, or JSON")
		}
		if err := put(m.vary, json.RawMessage(line)); err != nil {
			return fault("%w", err)
		}
		if p := e.files[m.vary]; p != "" {
			e.label = p
		}
		return e
	}
	if m.vary == "" {
		return fault("want an object with the inputs by name, as the model has several")
	}
	e.label = string(line)
	e.files[m.vary] = e.label
	return e
}
