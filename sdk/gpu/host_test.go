package gpu_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// TestTextsOnTheHost runs the CUDA C++ of the kernels that the suite launches on the host, compiled by g++, and compares all memory with
// the interpreter's after the same launch: bit for bit, except where functions of the C library or the order of sums leave room.
// BURN_HOST_RUN chooses cases by their names, and BURN_HOST_KEEP names a folder for kernels that differ.
func TestTextsOnTheHost(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ to compile the texts with")
	}
	o := conformance.Options{Run: "^(add|cast|softmax|sum|cumsum|sort|gather|scatter|matmul|conv|permute|grid_sample)/(f32|f16)/[^/]*/plain$", Sample: 100, Shrink: -1, Timeout: 5 * time.Minute}
	if testing.Short() {
		o.Run, o.Sample = "^(add|cast|softmax|matmul|conv)/f32/[^/]*/plain$", 300
	}
	if long.Tests() {
		o.Run, o.Sample = "/plain$", 10
	}
	if which := os.Getenv("BURN_HOST_RUN"); which != "" {
		o.Run, o.Sample = which, 1
	}
	h := &texts{known: map[string]*hosted{}}
	suite := func(run func(l ir.Launch, slots [][]byte, o interp.Options) error) {
		conformance.Run(t, func() (core.Backend, error) {
			return gpu.New(emulated.New(emulated.Options{Run: run}), gpu.Options{NoCache: true}), nil
		}, o)
	}
	suite(h.note)
	h.build(t)
	suite(h.compare)
	require.Empty(t, h.wrong)
	require.Positive(t, h.launches)
	t.Logf("%d launches of %d kernels", h.launches, len(h.all))
}

// TestTextsThatDiffer checks that compare reports a difference if it runs the text of another kernel.
func TestTextsThatDiffer(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ to compile the texts with")
	}
	add := func(n float64) *ir.Kernel {
		b := ir.New("add", 64)
		x := b.Buffer("x", dtype.F32, ir.Read|ir.Write)
		i := b.Mul(b.Thread(), b.Int(2))
		v := b.LoadWide(x, i, 2)
		b.Barrier()
		b.Store(x, i, b.Add(v[0], b.Float(dtype.F32, n)), v[1])
		return b.Kernel()
	}
	one, two := add(1), add(2)
	h := &texts{known: map[string]*hosted{one.String(): {}, two.String(): {}}, all: []*ir.Kernel{one, two}}
	h.build(t)
	run := func(k *ir.Kernel) {
		require.NoError(t, h.compare(ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Offset: 8}}}, [][]byte{make([]byte, 1024)}, interp.Options{}))
	}
	run(one)
	run(two)
	require.Empty(t, h.wrong)
	*h.known[one.String()] = *h.known[two.String()]
	run(one)
	require.Equal(t, []string{"kernel add: element 0 of x f32: 00000040, the interpreter has 0000803f"}, h.wrong)
}

// texts is a set of kernels and of the programs that contain them.
type texts struct {
	mu       sync.Mutex // guards all
	known    map[string]*hosted
	all      []*ir.Kernel
	programs []*program
	launches int
	wrong    []string
}

// hosted is a kernel in a program.
type hosted struct {
	p     *program
	index int
}

// note adds the kernel to the set and interprets the launch.
func (h *texts) note(l ir.Launch, slots [][]byte, o interp.Options) error {
	h.mu.Lock()
	if s := l.Kernel.String(); h.known[s] == nil {
		h.known[s] = &hosted{}
		h.all = append(h.all, l.Kernel)
	}
	h.mu.Unlock()
	return interp.Run(l, slots, o)
}

// build compiles and starts the programs, of at most 40 kernels each.
func (h *texts) build(t *testing.T) {
	const each = 40
	for unit := range slices.Chunk(h.all, each) {
		p := &program{}
		for i, k := range unit {
			*h.known[k.String()] = hosted{p, i}
		}
		h.programs = append(h.programs, p)
		text := hostText(t, unit)
		folder := t.TempDir()
		source, binary := filepath.Join(folder, "kernels.cpp"), filepath.Join(folder, "kernels")
		require.NoError(t, os.WriteFile(source, []byte(text), 0o644))
		include, err := filepath.Abs(filepath.Join("testdata", "host"))
		require.NoError(t, err)
		out, err := exec.Command("g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fsanitize=alignment,shift,integer-divide-by-zero,bounds",
			"-fno-sanitize-recover=all", "-I", include, "-o", binary, source).CombinedOutput()
		require.NoError(t, err, "%.4000s", out)
		require.NoError(t, p.start(binary))
		t.Cleanup(p.close)
	}
}

// hostText returns the text of kernels with the declarations and the main function that the host needs.
func hostText(t *testing.T, unit []*ir.Kernel) string {
	text, err := dialect.CUDA.Print(unit)
	require.NoError(t, err)
	text = strings.ReplaceAll(text, "extern __shared__ __align__(16) u8 shared_bytes[];", "u8* const shared_bytes = (u8*)shared_bytes_;")
	var w strings.Builder
	w.WriteString("#include \"cuda.hpp\"\n" + inlined(text) + "\nstatic const kernel kernels[] = {\n")
	for i, k := range unit {
		fmt.Fprintf(&w, "\t{[](const uint64_t* args) { call(%s, args); }, %d, %v},\n", dialect.Symbol(i, k), k.Threads, meets(k.Body))
	}
	return w.String() + "};\n#include \"main.hpp\"\n"
}

// meets reports whether threads of a kernel meet at barriers, exchange values or share fragments or copies.
func meets(body []ir.Inst) bool {
	return slices.ContainsFunc(body, func(in ir.Inst) bool {
		return in.Op >= ir.Barrier && in.Op < ir.For && in.Op != ir.Lane && in.Op != ir.PopCount || in.Op >= ir.FragFill ||
			in.Op >= ir.AsyncCopy && in.Op <= ir.AsyncWait || meets(in.Head) || meets(in.Body) || meets(in.Else)
	})
}

// assembly matches the beginning of a statement of PTX, name the instruction, and unfit the characters that no function's name may contain.
var (
	assembly = regexp.MustCompile(`asm(?: volatile)?\("([^"]*)"`)
	name     = regexp.MustCompile(`^[^ ;]*`)
	unfit    = regexp.MustCompile(`[^a-z0-9A-Z]`)
)

// inlined replaces statements of PTX by calls of functions with the names of the instructions.
func inlined(text string) string {
	var w strings.Builder
	for {
		m := assembly.FindStringSubmatchIndex(text)
		if m == nil {
			return w.String() + text
		}
		w.WriteString(text[:m[0]])
		var args []string
		depth, from := 1, 0
		at := m[1]
		for ; depth > 0; at++ {
			switch text[at] {
			case '(':
				if depth++; depth == 2 {
					from = at + 1
				}
			case ')':
				if depth--; depth == 1 {
					args = append(args, text[from:at])
				}
			}
		}
		fmt.Fprintf(&w, "ptx_%s(%s)", unfit.ReplaceAllString(name.FindString(text[m[2]:m[3]]), "_"), strings.Join(args, ", "))
		text = text[at:]
	}
}

// program is a running program of kernels.
type program struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func (p *program) start(file string) (err error) {
	p.cmd = exec.Command(file)
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p.cmd.Start()
}

func (p *program) close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// run runs a launch of kernel number index and writes its results to slots.
func (p *program) run(index int, l ir.Launch, slots [][]byte) error {
	words := []uint64{uint64(index), uint64(l.Grid[0]), uint64(l.Grid[1]), uint64(l.Grid[2]), uint64(len(l.Args))}
	for i, a := range l.Args {
		if l.Kernel.Params[i].IsBuffer() {
			words = append(words, uint64(a.Slot+1), uint64(a.Offset))
		} else {
			words = append(words, 0, a.Bits)
		}
	}
	words = append(words, uint64(len(slots)))
	for _, s := range slots {
		words = append(words, uint64(len(s)))
	}
	_, err := p.in.Write(dtype.Bytes(words))
	for _, s := range slots {
		if err == nil {
			_, err = p.in.Write(s)
		}
	}
	failed := make([]byte, 8)
	if err == nil {
		_, err = io.ReadFull(p.out, failed)
	}
	for _, s := range slots {
		if err == nil {
			_, err = io.ReadFull(p.out, s)
		}
	}
	switch {
	case err != nil:
		_ = p.cmd.Wait()
		return fmt.Errorf("%w: %s", err, p.stderr.String())
	case failed[0] != 0:
		return errors.New("a block stands still")
	}
	return nil
}

// compare runs a launch in the interpreter and in its program, and adds a difference to wrong.
func (h *texts) compare(l ir.Launch, slots [][]byte, o interp.Options) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.known[l.Kernel.String()]
	mine := make([][]byte, len(slots))
	for i := range slots {
		mine[i] = slices.Clone(slots[i])
	}
	if err := interp.Run(l, slots, o); err != nil || k == nil {
		return err
	}
	h.launches++
	err := k.p.run(k.index, l, mine)
	if err == nil {
		err = difference(l, mine, slots)
	}
	if err != nil && len(h.wrong) < 20 {
		h.wrong = append(h.wrong, fmt.Sprintf("kernel %s: %v", l.Kernel.Name, err))
		if folder := os.Getenv("BURN_HOST_KEEP"); folder != "" {
			_ = os.WriteFile(filepath.Join(folder, l.Kernel.Name+".ir"), []byte(fmt.Sprint(l.Kernel, l.Grid, l.Args)), 0o644)
		}
	}
	return nil
}

// difference returns the first element of written buffers that differs, by the types of the buffers.
func difference(l ir.Launch, got, want [][]byte) error {
	for s := range want {
		for at := 0; at < len(want[s]); at++ {
			if got[s][at] == want[s][at] {
				continue
			}
			p := -1
			for i, x := range l.Kernel.Params {
				if x.Access&(ir.Write|ir.Atomic) != 0 && l.Args[i].Slot == s && l.Args[i].Offset <= int64(at) && (p < 0 || l.Args[i].Offset > l.Args[p].Offset) {
					p = i
				}
			}
			if p < 0 {
				return fmt.Errorf("byte %d of slot %d was written, where no result is", at, s)
			}
			t := l.Kernel.Params[p].Type
			first := at - (at-int(l.Args[p].Offset))%t.Size()
			g, w := got[s][first:first+t.Size()], want[s][first:first+t.Size()]
			if !alike(l.Kernel, t, g, w) {
				return fmt.Errorf("element %d of %s %v: %x, the interpreter has %x", (first-int(l.Args[p].Offset))/t.Size(), l.Kernel.Params[p].Name, t, g, w)
			}
			at = first + t.Size() - 1
		}
	}
	return nil
}

// alike reports whether two elements are equal, or close if the kernel is inexact.
func alike(k *ir.Kernel, t dtype.DType, a, b []byte) bool {
	var x, y, step float64
	switch t {
	case dtype.F64:
		x, y, step = math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)), 1e-13
	case dtype.F32:
		x, y, step = float64(math.Float32frombits(binary.LittleEndian.Uint32(a))), float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 1e-5
	case dtype.F16:
		x, y, step = float64(dtype.Float16(binary.LittleEndian.Uint16(a)).Float32()), float64(dtype.Float16(binary.LittleEndian.Uint16(b)).Float32()), 1e-3
	case dtype.BF16:
		x, y, step = float64(dtype.BFloat16(binary.LittleEndian.Uint16(a)).Float32()), float64(dtype.BFloat16(binary.LittleEndian.Uint16(b)).Float32()), 1e-2
	default:
		return false
	}
	if x != x || y != y {
		return x != x && y != y
	}
	return inexact(k) && math.Abs(x-y) <= step*max(math.Abs(x), math.Abs(y), 1)
}

// inexact reports whether a kernel has functions of the C library, sums of fragments, or atomic sums.
func inexact(k *ir.Kernel) bool {
	var in func(body []ir.Inst) bool
	in = func(body []ir.Inst) bool {
		return slices.ContainsFunc(body, func(x ir.Inst) bool {
			return x.Op >= ir.Exp && x.Op <= ir.Exp2Fast && x.Op != ir.Sqrt && (x.Op < ir.Floor || x.Op > ir.Round) || x.Op == ir.FragMMA || x.Op == ir.AtomicAdd || x.Op == ir.SharedAdd || in(x.Head) || in(x.Body) || in(x.Else)
		})
	}
	return in(k.Body)
}
