package nv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// stub is a library that is built for a test and records its calls.
type stub struct {
	t                      *testing.T
	folder                 string
	recorded, wipe, change proc
	open                   proc
}

// build compiles testdata/SOURCE to FOLDER/SONAME. Functions of procs that the source does not define return 0. The library does not
// export the functions in without.
func build(t *testing.T, folder, soname, source string, procs any, without ...string) *stub {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build a stub library with")
	}
	text, err := os.ReadFile(filepath.Join("testdata", source))
	require.NoError(t, err)
	var all strings.Builder
	all.Write(text)
	v := reflect.TypeOf(procs)
	for i := range v.NumField() {
		for _, name := range strings.Split(strings.TrimSuffix(v.Field(i).Tag.Get("c"), "?"), "|") {
			if !regexp.MustCompile(`(?m)^\S.*\b` + name + `\(`).Match(text) {
				fmt.Fprintf(&all, "\nint %s(void) { return 0; }", name)
			}
		}
	}
	code := all.String()
	for _, name := range without {
		code = regexp.MustCompile(`\b`+name+`\(`).ReplaceAllString(code, name+"_absent(")
	}
	file := filepath.Join(t.TempDir(), source)
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	library := filepath.Join(folder, soname)
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-I", "testdata", "-o", library, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	handle, err := vendor.Load(library)
	require.NoError(t, err)
	s := &stub{t: t, folder: folder}
	for name, p := range map[string]*proc{"stub_record": &s.recorded, "stub_clear": &s.wipe, "stub_set": &s.change, "stub_open": &s.open} {
		p.Name, p.Addr = name, vendor.Symbol(handle, name)
	}
	require.True(t, s.recorded.There())
	return s
}

// record returns the calls of the library since the last call of record.
func (s *stub) record() string {
	at := s.recorded.Word()
	n := 0
	for *(*byte)(unsafe.Add(vendor.PointerAt(at), n)) != 0 {
		n++
	}
	said := string(unsafe.Slice((*byte)(vendor.PointerAt(at)), n))
	s.wipe.Call()
	return said
}

func (s *stub) set(which int, value int64) { s.change.Call(uintptr(which), uintptr(value)) }

// objects returns the number of objects of the library that are open.
func (s *stub) objects() int { return int(s.open.Word()) }

func driverStub(t *testing.T) (*Driver, *stub) {
	s := build(t, t.TempDir(), "libcuda.so.1", "cuda.c", driverProcs{})
	l := Open(Search{Only: s.folder})
	require.NotNil(t, l.Driver, "%s", l.Report)
	return l.Driver, s
}
