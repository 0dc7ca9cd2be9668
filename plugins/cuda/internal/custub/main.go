// Command custub generates the libcuda.a that the build on gorgonia.org/cu is linked with: for each function of libcuda that the module
// calls, it has a function that jumps through a table. Before the table is filled (package cuda, newCalls), the functions fail with
// CUDA_ERROR_NOT_INITIALIZED, except cuInit, which does nothing and succeeds: gorgonia.org/cu calls it when the process starts, and ends
// the process with text on stdout if cuInit fails. A binary therefore needs no libcuda to be linked or started.
//
// It needs cuda.h of CUDA 12, whose macros determine which version of a function a name means, and a C compiler with ar.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const module = "gorgonia.org/cu"

func main() {
	headers := flag.String("headers", "", "folder with cuda.h of CUDA 12")
	out := flag.String("out", "", "folder for libcuda.a")
	flag.Parse()
	if *headers == "" || *out == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := generate(*headers, *out); err != nil {
		fmt.Fprintln(os.Stderr, "custub:", err)
		os.Exit(1)
	}
}

func generate(headers, out string) error {
	folder, err := output("go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	names, err := called(strings.TrimSpace(folder))
	if err != nil {
		return err
	}
	symbols, err := versioned(headers, names)
	if err != nil {
		return err
	}
	text, err := source(symbols, runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	file, object, library := filepath.Join(out, "stub.c"), filepath.Join(out, "stub.o"), filepath.Join(out, "libcuda.a")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := output(compiler(), "-c", "-O2", "-fPIC", "-o", object, file); err != nil {
		return err
	}
	_ = os.Remove(library) // ar would add to an existing file
	_, err = output("ar", "rcs", library, object)
	return err
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, stderr.Bytes())
	}
	return string(text), nil
}

// cFunction matches a call of a function of libcuda in C code: functions begin with cu, types with CU.
var cFunction = regexp.MustCompile(`\bcu[A-Z]\w*\(`)

// called returns the functions of libcuda that the Go and C files of a package call.
func called(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case filepath.Ext(path) == ".go":
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "C" && cFunction.MatchString(s.Sel.Name+"(") {
						found[s.Sel.Name] = true
					}
				}
				return true
			})
		case filepath.Ext(path) == ".c" || filepath.Ext(path) == ".h":
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			for _, call := range cFunction.FindAllString(string(text), -1) {
				found[strings.TrimSuffix(call, "(")] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s calls nothing of libcuda", folder)
	}
	return names, nil
}

// versioned returns the names, such as cuMemAlloc_v2, to which the macros of cuda.h expand the given names. It omits names that cuda.h does
// not declare, which belong to the module itself.
func versioned(headers string, names []string) ([]string, error) {
	folder, err := os.MkdirTemp("", "custub")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "names.c")
	if err := os.WriteFile(file, []byte("#include <cuda.h>\nBURN_NAMES\n"+strings.Join(names, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	text, err := output(compiler(), "-E", "-P", "-I", headers, file)
	if err != nil {
		return nil, err
	}
	declared, after, ok := strings.Cut(text, "BURN_NAMES")
	symbols := strings.Fields(after)
	if !ok || len(symbols) != len(names) {
		return nil, fmt.Errorf("%d names became %d symbols", len(names), len(symbols))
	}
	has := map[string]bool{}
	for _, call := range cFunction.FindAllString(declared, -1) {
		has[strings.TrimSuffix(call, "(")] = true
	}
	symbols = slices.DeleteFunc(symbols, func(s string) bool { return !has[s] })
	slices.Sort(symbols)
	return slices.Compact(symbols), nil
}

// jumps are the instructions of a function that jumps to the address in entry %[1]d of the table.
var jumps = map[string]string{
	"amd64": "jmp *burn_cu_table+8*%[1]d(%%rip)",
	"arm64": "adrp x16, burn_cu_table+8*%[1]d\\n\\tldr x16, [x16, :lo12:burn_cu_table+8*%[1]d]\\n\\tbr x16",
}

// source returns the C code of the library.
func source(symbols []string, arch string) (string, error) {
	jump, ok := jumps[arch]
	if !ok {
		return "", fmt.Errorf("no stub for %s", arch)
	}
	var b strings.Builder
	b.WriteString("static int absent(void) { return 3; } // CUDA_ERROR_NOT_INITIALIZED\nstatic int ready(void) { return 0; }\n")
	fmt.Fprintf(&b, "__attribute__((visibility(\"hidden\"))) const int burn_cu_count = %d;\n", len(symbols))
	b.WriteString("__attribute__((visibility(\"hidden\"))) const char *const burn_cu_names[] = {\n")
	for _, s := range symbols {
		fmt.Fprintf(&b, "\t%q,\n", s)
	}
	b.WriteString("};\n__attribute__((visibility(\"hidden\"))) void *burn_cu_table[] = {\n")
	for _, s := range symbols {
		first := "absent"
		if s == "cuInit" {
			first = "ready"
		}
		fmt.Fprintf(&b, "\t(void *)%s, // %s\n", first, s)
	}
	b.WriteString("};\n")
	for i, s := range symbols {
		fmt.Fprintf(&b, "asm(\".text\\n\\t.globl %[1]s\\n\\t.hidden %[1]s\\n\\t.type %[1]s, %%function\\n%[1]s:\\n\\t%[2]s\\n\");\n", s, fmt.Sprintf(jump, i))
	}
	b.WriteString("asm(\".section .note.GNU-stack,\\\"\\\",%progbits\\n\\t.text\\n\");\n")
	return b.String(), nil
}
