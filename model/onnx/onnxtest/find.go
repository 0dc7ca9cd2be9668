// Package onnxtest tests package onnx: it runs trees of cases in the layout of the ONNX backend tests, CASE/model.onnx with
// CASE/test_data_set_N/{input,output}_M.pb. A case passes if the model loads and runs on every data set, and each output has the expected
// type and shape, with values within the tolerance. burn's commands and tools use it too. It must not know particular operators, except
// those with random results.
package onnxtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Case is a directory with a model.
type Case struct {
	Name string // path below the tree's root, with slashes; the directory's own name for the root itself
	Dir  string
}

// Model returns the path of the case's model.
func (c Case) Model() string { return filepath.Join(c.Dir, "model.onnx") }

// Find lists the cases of a tree, at any depth, sorted by name. A tree without a case is an error.
func Find(root string) ([]Case, error) {
	var cases []Case
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || d.Name() != "model.onnx" {
			return nil
		}
		dir := filepath.Dir(path)
		name, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		if name == "." {
			abs, err := filepath.Abs(root)
			if err != nil {
				return err
			}
			name = filepath.Base(abs)
		}
		cases = append(cases, Case{Name: filepath.ToSlash(name), Dir: dir})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("onnxtest: %w", err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("onnxtest: %s: want directories with a model.onnx, got none", root)
	}
	slices.SortFunc(cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	return cases, nil
}

// dataSet is one test_data_set_N: its files by position, "" for a position without a file.
type dataSet struct {
	name            string
	inputs, outputs []string
}

func dataSets(dir string) ([]dataSet, error) {
	dirs, err := numbered(dir, "test_data_set_", "")
	if err != nil {
		return nil, err
	}
	var sets []dataSet
	for _, d := range dirs {
		if d == "" {
			continue
		}
		s := dataSet{name: filepath.Base(d)}
		if s.inputs, err = numbered(d, "input_", ".pb"); err != nil {
			return nil, err
		}
		if s.outputs, err = numbered(d, "output_", ".pb"); err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// numbered returns the paths of the entries prefixNsuffix of a directory, indexed by N, and "" for numbers without an entry.
func numbered(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		num, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		if num, ok = strings.CutSuffix(num, suffix); !ok {
			continue
		}
		n, err := strconv.Atoi(num)
		if err != nil || n < 0 || n >= 1<<12 {
			return nil, fmt.Errorf("%s: want a number from 0 to %d in the name", filepath.Join(dir, e.Name()), 1<<12-1)
		}
		for len(paths) <= n {
			paths = append(paths, "")
		}
		paths[n] = filepath.Join(dir, e.Name())
	}
	return paths, nil
}
