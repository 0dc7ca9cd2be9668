//go:build linux

package processor

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/goburn/burn/core"
)

//go:embed scheduler/runtime.cc
var runtimeText string

// compilers are the names of compilers to look for, best first. BURN_CLANG names another compiler.
var compilers = []string{"clang++", "clang++-21", "clang++-20", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15", "clang++-14"}

// compiler compiles texts to shared objects with clang++, and keeps them in a folder for later processes.
type compiler struct {
	cxx, include, folder string
	options              []string

	mu      sync.Mutex // guards the fields below
	objects map[string]uintptr
	stats   Stats
}

// scheduler is shared by the process and runs one launch at a time. Compiled texts link to the scheduler by the names of its functions.
var scheduler struct {
	sync.Mutex
	run func(entry uintptr, args *uintptr, grid *[3]uint32, threads uint32, alone, backward int32) int32
}

// Stats counts what was compiled.
type Stats struct {
	Texts, Compiles int
}

func findCompiler() (string, error) {
	names := compilers
	if named := os.Getenv("BURN_CLANG"); named != "" {
		names = []string{named}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("clang++ is not in PATH (Debian: apt-get install clang): %w", core.ErrNotFound)
}

func newCompiler(include, folder string, options []string) (*compiler, error) {
	c := &compiler{folder: folder, include: include, options: append([]string{"-std=c++17", "-O1", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-ffp-contract=off", "-fno-exceptions",
		"-fno-math-errno", "-Wall", "-Werror", "-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wno-unused-function", "-Wno-keyword-macro",
		"-Wno-parentheses-equality", "-Wno-unused-variable", "-Wno-unused-const-variable", "-Wno-self-assign", "-Wno-tautological-compare"}, options...), objects: map[string]uintptr{}}
	var err error
	if c.cxx, err = findCompiler(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	header, err := os.ReadFile(filepath.Join(include, "metal_stdlib"))
	if err != nil {
		return nil, err
	}
	version, err := exec.Command(c.cxx, "--version").Output()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(fmt.Append(nil, header, version, c.options, wrapper))
	c.folder = filepath.Join(folder, fmt.Sprintf("%x", key[:8]))
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, err
	}
	if err := c.loadScheduler(); err != nil {
		return nil, err
	}
	return c, c.index()
}

func (c *compiler) loadScheduler() error {
	scheduler.Lock()
	defer scheduler.Unlock()
	if scheduler.run != nil {
		return nil
	}
	lib, err := c.object("runtime-"+digest(runtimeText), runtimeText)
	if err == nil {
		purego.RegisterLibFunc(&scheduler.run, lib, "burn_run")
	}
	return err
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:10])
}

// object compiles a text, unless the folder has it, and loads it.
func (c *compiler) object(name, text string) (uintptr, error) {
	file := filepath.Join(c.folder, name+".so")
	if _, err := os.Stat(file); err != nil {
		work, err := os.MkdirTemp(c.folder, "work-") // other processes may compile the same text
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(work)
		source, made := filepath.Join(work, name+".cc"), filepath.Join(work, "made")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			return 0, err
		}
		args := append(slices.Clone(c.options), "-I", c.include, source, "-o", made)
		if log, err := exec.Command(c.cxx, args...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w: %w:\n%s", core.ErrKernel, err, log)
		}
		if err := os.Rename(made, file); err != nil {
			return 0, err
		}
		c.count(func(s *Stats) { s.Compiles++ })
	}
	return purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func (c *compiler) count(f func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

// kernelText is a kernel as a text declares it.
type kernelText struct {
	name   string
	most   int  // greatest number of threads of a threadgroup
	alone  bool // threads do not wait for others: there are no barriers and no simdgroup functions
	params []parameter
}

// parameter is a parameter of a kernel: its type and the C++ expression for its value.
type parameter struct{ typ, bound string }

var (
	head  = regexp.MustCompile(`(?m)^(?:\[\[max_total_threads_per_threadgroup\((\d+)\)\]\] )?kernel void (\w+)\(([^{]*)\) \{$`)
	param = regexp.MustCompile(`^\s*(.*?)\s*\b(\w+) \[\[(\w+)(?:\((\d+)\))?\]\]$`)
	meets = regexp.MustCompile(`\bsimd(group)?_|_barrier\(`)
	// positions maps the attributes of a thread's position to C++ expressions.
	positions = map[string]string{
		"thread_position_in_threadgroup": "metal::uint3{at->number, 0, 0}", "threadgroup_position_in_grid": "metal::uint3{at->block[0], at->block[1], at->block[2]}",
		"threadgroups_per_grid": "metal::uint3{at->blocks[0], at->blocks[1], at->blocks[2]}", "thread_index_in_simdgroup": "at->lane",
	}
)

// parse finds the kernels of a text and their parameters, which must all have an attribute that is known.
func parse(text string) ([]kernelText, error) {
	var all []kernelText
	found := head.FindAllStringSubmatchIndex(text, -1)
	for _, m := range found {
		k := kernelText{name: text[m[4]:m[5]], most: 1024}
		if m[2] >= 0 {
			k.most, _ = strconv.Atoi(text[m[2]:m[3]]) // digits
		}
		for _, p := range strings.Split(text[m[6]:m[7]], ",") {
			x := param.FindStringSubmatch(p)
			if x == nil {
				return nil, fmt.Errorf("kernel %s: parameter %q has no attribute: %w", k.name, p, core.ErrKernel)
			}
			typ, bound := x[1], positions[x[3]]
			switch {
			case x[3] == "buffer" && strings.HasSuffix(typ, "*"):
				bound = fmt.Sprintf("(%s)args[%s]", typ, x[4])
			case x[3] == "buffer" && strings.HasPrefix(typ, "constant ") && strings.HasSuffix(typ, "&"):
				bound = fmt.Sprintf("*(%s*)args[%s]", strings.TrimSuffix(typ, "&"), x[4])
			case bound == "":
				return nil, fmt.Errorf("kernel %s: parameter %q: %w", k.name, p, core.ErrKernel)
			}
			k.params = append(k.params, parameter{typ, bound})
		}
		end := strings.Index(text[m[1]:], "\n}\n")
		if end < 0 {
			return nil, fmt.Errorf("kernel %s has no end: %w", k.name, core.ErrKernel)
		}
		body := text[m[1]:][:end]
		k.alone = !meets.MatchString(body) && !meets.MatchString(text[:found[0][0]]) // functions precede all kernels
		all = append(all, k)
	}
	if len(all) != strings.Count(text, "kernel void ") {
		return nil, fmt.Errorf("%d kernels of %d are of the known form: %w", len(all), strings.Count(text, "kernel void "), core.ErrKernel)
	}
	return all, nil
}

const wrapper = `extern "C" void %s(void** args, const burn_place* at) { text_%s::%s(%s); }
`

// part returns a text as part of a unit: its own namespace, and an entry for each kernel.
func part(text string, kernels []kernelText) string {
	key := digest(text)
	var w strings.Builder
	fmt.Fprintf(&w, "namespace text_%s {\n%s\n}\nnamespace text_%s {\n", key, text, key)
	for _, k := range kernels {
		var args []string
		for _, p := range k.params {
			args = append(args, p.bound)
		}
		fmt.Fprintf(&w, wrapper, entryName(key, k.name), key, k.name, strings.Join(args, ", "))
	}
	return w.String() + "}\n"
}

func entryName(key, kernel string) string { return "burn_" + key + "_" + kernel }

const unitHead = "#define BURN_THREADS\n#include <metal_stdlib>\nstruct burn_place { unsigned number, lane, block[3], blocks[3]; };\n"

// compile compiles texts with one call of the compiler. has finds them afterwards.
func (c *compiler) compile(texts []string) error {
	unit := unitHead
	var keys []string
	for _, t := range texts {
		ks, err := parse(t)
		if err != nil {
			return err
		}
		unit += part(t, ks)
		keys = append(keys, digest(t))
	}
	name := "unit-" + digest(unit)
	lib, err := c.object(name, unit)
	if err != nil {
		return err
	}
	list, err := os.CreateTemp(c.folder, "keys-")
	if err != nil {
		return err
	}
	_, err = list.WriteString(strings.Join(keys, "\n"))
	if err := errors.Join(err, list.Close(), os.Rename(list.Name(), filepath.Join(c.folder, name+".keys"))); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Texts += len(texts)
	for _, k := range keys {
		c.objects[k] = lib
	}
	return nil
}

// index loads the units that the folder contains.
func (c *compiler) index() error {
	files, err := filepath.Glob(filepath.Join(c.folder, "unit-*.keys"))
	for _, f := range files {
		keys, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		lib, err := purego.Dlopen(strings.TrimSuffix(f, ".keys")+".so", purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return err
		}
		for _, k := range strings.Split(string(keys), "\n") {
			c.objects[k] = lib
		}
	}
	return err
}

// has returns the handle of the unit that contains a text, or 0 if the text was not compiled.
func (c *compiler) has(text string) uintptr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[digest(text)]
}
