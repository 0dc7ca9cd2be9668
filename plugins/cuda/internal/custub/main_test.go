package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, folder, name, text string) string {
	file := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestCalled(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.go", "package a\n\n// #include <cuda.h>\nimport \"C\"\n\n// C.cuComment()\nfunc f() { C.cuInit(0); var x C.CUcontext; _ = x; g(C.cuMemAlloc); y.cuField() }\n")
	write(t, folder, "a_test.go", "no Go")
	write(t, folder, "b.c", "int own(CUcontext c) { return cuLaunch(c) + cuda(1) + cucumber(2); }")
	names, err := called(folder)
	require.NoError(t, err)
	require.Equal(t, []string{"cuInit", "cuLaunch", "cuMemAlloc"}, names)
	_, err = called(t.TempDir())
	require.ErrorContains(t, err, "calls nothing of libcuda")
}

// TestStub links a program with the stub. The stub's functions, except cuInit, fail until the table is filled, and then pass on all arguments.
func TestStub(t *testing.T) {
	if _, err := exec.LookPath(compiler()); err != nil || jumps[runtime.GOARCH] == "" {
		t.Skip("no C compiler, or no stub for this architecture")
	}
	folder := t.TempDir()
	write(t, folder, "cuda.h", "#define cuAdd cuAdd_v2\nint cuAdd(int, int, int, int, int, int, int, int, double, int);\nint cuInit(int);\n")
	symbols, err := versioned(folder, []string{"cuAdd", "cuInit", "cuOwn"})
	require.NoError(t, err)
	require.Equal(t, []string{"cuAdd_v2", "cuInit"}, symbols)
	text, err := source(symbols, runtime.GOARCH)
	require.NoError(t, err)
	stub := write(t, folder, "stub.c", text)
	program := write(t, folder, "program.c", `
#include "cuda.h"
#include <string.h>
extern const int burn_cu_count;
extern const char *const burn_cu_names[];
extern void *burn_cu_table[];
static int add(int a, int b, int c, int d, int e, int f, int g, int h, double i, int j) { return a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*(int)i + 10*j; }
int main(void) {
	if (burn_cu_count != 2 || strcmp(burn_cu_names[0], "cuAdd_v2") || strcmp(burn_cu_names[1], "cuInit")) return 1;
	if (cuInit(0) != 0) return 2;
	if (cuAdd(1, 1, 1, 1, 1, 1, 1, 1, 1, 1) != 3) return 3;
	burn_cu_table[0] = (void *)add;
	return cuAdd(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 385 ? 0 : 4;
}
`)
	binary := filepath.Join(folder, "program")
	_, err = output(compiler(), "-I", folder, "-o", binary, program, stub)
	require.NoError(t, err)
	require.NoError(t, exec.Command(binary).Run())
	_, err = source(symbols, "mips")
	require.EqualError(t, err, "no stub for mips")
}
