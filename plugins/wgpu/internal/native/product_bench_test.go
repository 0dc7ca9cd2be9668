package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// form is a way to write the kernel of a product.
type form struct {
	tile     template.Tile
	unrolled bool
	edits    []string // of the text, by name
}

func (f form) name() string {
	x := f.tile
	s := fmt.Sprintf("%dx%dx%d_%dx%d", x.Rows, x.Cols, x.Depth, x.TM, x.TN)
	if x.Stages > 0 {
		s += fmt.Sprintf("_stages%d", x.Stages)
	}
	if x.Rake {
		s += "_rake"
	}
	if f.unrolled {
		s += "_unrolled"
	}
	return strings.Join(append([]string{s}, f.edits...), "_")
}

func size(rows, cols, depth, tm, tn, stages int, rake bool) template.Tile {
	return template.Tile{Rows: rows, Cols: cols, Depth: depth, TM: tm, TN: tn, Blocks: 1, Speed: 1, Stages: stages, Rake: rake}
}

// forms are the ways that are compared, the most important first.
func forms() []form {
	now := size(128, 128, 16, 8, 8, 0, false)
	raked := now
	raked.Rake = true
	all := []form{
		{now, false, []string{"shifted"}}, {now, false, nil}, {now, true, nil}, {raked, true, nil}, {raked, false, nil},
	}
	for _, x := range []template.Tile{
		size(128, 128, 8, 8, 8, 0, true), size(128, 128, 8, 8, 16, 0, true), size(128, 128, 16, 8, 16, 1, true), size(128, 128, 8, 16, 8, 0, true),
		size(64, 128, 16, 8, 8, 0, true), size(128, 64, 16, 8, 8, 0, true), size(128, 256, 8, 8, 16, 0, true), size(256, 128, 8, 16, 8, 0, true),
		size(128, 128, 8, 8, 8, 0, false), size(128, 128, 8, 8, 16, 0, false), size(64, 128, 16, 8, 8, 0, false), size(128, 128, 8, 8, 8, 1, true),
		size(128, 128, 16, 8, 8, 1, true), size(128, 128, 32, 8, 8, 1, true), size(128, 128, 16, 8, 16, 0, true), size(64, 128, 8, 8, 8, 0, true),
		size(64, 64, 16, 8, 8, 0, true), size(64, 128, 16, 8, 16, 0, true), size(128, 256, 16, 8, 16, 1, true), size(64, 64, 16, 8, 4, 0, true),
	} {
		all = append(all, form{x, true, nil})
	}
	for _, edit := range []string{"constants", "readonly", "muladd", "scalars"} {
		all = append(all, form{raked, true, []string{edit}})
	}
	all = append(all, form{now, true, []string{"shifted"}}, form{size(128, 128, 8, 8, 8, 0, true), false, nil}, form{size(128, 128, 8, 8, 16, 0, true), false, nil},
		form{size(64, 128, 16, 8, 8, 0, true), false, nil})
	return all
}

var (
	dividedIndex = regexp.MustCompile(`\[(v\d+)_4\]`)
	fmaCall      = regexp.MustCompile(`fma\((\w+), (\w+), (\w+)\)`)
	scalarName   = regexp.MustCompile(`\w+_scalars\.p(\d+)_\w+`)
	localElement = regexp.MustCompile(`(\bl\d+_\w+)\[(\d+)i\]`)
	localArray   = regexp.MustCompile(`var (l\d+_\w+): array<f32, (\d+)>;`)
	readBuffer   = regexp.MustCompile(`read_write> (\w+_p\d+_[ab]:)`)
)

// edit changes the text of a kernel. scalars are its arguments, by number of the parameter.
func edit(name, text string, scalars map[int]int32) string {
	switch name {
	case "shifted": // indices of elements, shifted as a whole
		return dividedIndex.ReplaceAllString(text, "[(u32($1) >> 2u)]")
	case "scalars": // a variable for each element of a local array
		text = localElement.ReplaceAllString(text, "${1}_$2")
		return localArray.ReplaceAllStringFunc(text, func(s string) string {
			m := localArray.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[2])
			var w strings.Builder
			for i := range n {
				fmt.Fprintf(&w, "var %s_%d: f32; ", m[1], i)
			}
			return w.String()
		})
	case "muladd":
		return fmaCall.ReplaceAllString(text, "$1 * $2 + $3")
	case "readonly":
		return readBuffer.ReplaceAllString(text, "read> $1")
	case "constants":
		return scalarName.ReplaceAllStringFunc(text, func(s string) string {
			n, _ := strconv.Atoi(scalarName.FindStringSubmatch(s)[1])
			return fmt.Sprintf("%di", scalars[n])
		})
	}
	panic(name)
}

// bench is a device with the operands of products of n×n.
type bench struct {
	d       *device
	f       webgpu.Facts
	n       int
	a, b    []float32
	buffers [3]webgpu.Buffer // C, A, B
	uniform webgpu.Buffer
	first   []float32 // the result of the first form
	made    map[string]*built
}

// built is a compiled kernel, or the error of its compilation.
type built struct {
	p     *pipeline
	g     webgpu.Group
	grid  [3]uint32
	words []byte
	took  time.Duration
	err   error
}

func newBench(t testing.TB, d *device, f webgpu.Facts, n int) *bench {
	x := &bench{d: d, f: f, n: n, made: map[string]*built{}}
	for i, p := range []*[]float32{nil, &x.a, &x.b} {
		var err error
		x.buffers[i], err = d.NewBuffer(int64(4*n*n), webgpu.Storage)
		require.NoError(t, err)
		if p == nil {
			continue
		}
		*p = make([]float32, n*n)
		for k := range *p {
			h := uint32(k)*2654435761 + uint32(i)*97
			h ^= h >> 15
			(*p)[k] = float32(h*2246822519>>8)/(1<<23) - 1
		}
		require.NoError(t, d.Write(x.buffers[i], 0, dtype.Bytes(*p)))
	}
	var err error
	x.uniform, err = d.NewBuffer(256, webgpu.Uniform)
	require.NoError(t, err)
	return x
}

// build makes the kernel of a form once.
func (x *bench) build(f form) *built {
	name := f.name()
	if k := x.made[name]; k != nil {
		return k
	}
	k := &built{}
	x.made[name] = k
	k.err = x.make(f, k)
	return k
}

func (x *bench) make(f form, k *built) error {
	words := dtype.SetOf(dtype.F32, dtype.I32, dtype.U32)
	t := template.Target{Subgroup: 32, Threads: x.f.Limits.WorkgroupThreads, Units: 132, Blocks: 8, Grid: [3]int{65535, 65535, 65535}, Wide: 16, Shared: x.f.Limits.WorkgroupStorage,
		Types: words, Math: words | dtype.SetOf(dtype.Bool), Words: true, Align: int(x.f.Limits.StorageAlignment), Tiles: []template.Tile{f.tile}, Unrolled: f.unrolled}
	operand := func(slot int) template.Operand {
		return template.Operand{Type: dtype.F32, View: shape.Contiguous(shape.Of(x.n, x.n)), Slot: slot}
	}
	w, err := template.Product{M: x.n, N: x.n, K: x.n, A: operand(0), B: operand(1), Out: []template.Operand{operand(2)}, Compute: dtype.F32}.Build(t)
	if err != nil {
		return err
	}
	if len(w.Launches) != 1 {
		return fmt.Errorf("%d launches", len(w.Launches))
	}
	l := w.Launches[0]
	own := *dialect.WGSL
	own.Threads, own.Static, own.Components = t.Threads, t.Shared, x.f.Components
	text, err := own.Print([]*ir.Kernel{l.Kernel})
	if err != nil {
		return err
	}
	scalars := map[int]int32{}
	var bindings []webgpu.Binding
	storage, read := 0, []bool(nil)
	for i, p := range l.Kernel.Params {
		if !p.IsBuffer() {
			scalars[i] = int32(l.Args[i].Bits)
			k.words = binary.LittleEndian.AppendUint32(k.words, uint32(l.Args[i].Bits))
			continue
		}
		storage++
		read = append(read, p.Access == ir.Read && slices.Contains(f.edits, "readonly"))
		bindings = append(bindings, webgpu.Binding{Buffer: x.buffers[(l.Args[i].Slot+1)%3], Size: int64(4 * x.n * x.n)})
	}
	for len(k.words)%16 != 0 {
		k.words = append(k.words, 0)
	}
	for _, e := range f.edits {
		text = edit(e, text, scalars)
	}
	bindings = append(bindings, webgpu.Binding{Buffer: x.uniform, Size: int64(len(k.words))})
	began := time.Now()
	if slices.Contains(read, true) {
		key := [2]int{storage, len(k.words)}
		usual := x.d.layouts[key]
		x.d.layouts[key] = x.readLayout(read, len(k.words))
		defer func() { x.d.layouts[key] = usual }()
	}
	p, err := x.d.NewPipeline(text, dialect.Symbol(0, l.Kernel), storage, len(k.words))
	if err != nil {
		return err
	}
	k.took = time.Since(began)
	k.p = p.(*pipeline)
	if k.g, err = x.d.NewGroup(p, bindings); err != nil {
		return err
	}
	k.grid = [3]uint32{uint32(l.Grid[0]), uint32(l.Grid[1]), uint32(l.Grid[2])}
	return nil
}

// readLayout returns the layout of storage buffers, some of which are read-only, and a uniform.
func (x *bench) readLayout(read []bool, uniform int) layout {
	entries := make([]layoutEntry, len(read)+1)
	for i := range entries {
		entries[i] = layoutEntry{binding: uint32(i), visibility: stageCompute, buffer: bufferLayout{kind: bindingStorage}}
		if i < len(read) && read[i] {
			entries[i].buffer.kind++
		}
	}
	entries[len(read)].buffer = bufferLayout{kind: bindingUniform, hasDynamicOffset: 1, minBindingSize: uint64(uniform)}
	o := &layoutDescriptor{entryCount: uintptr(len(entries)), entries: unsafe.Pointer(&entries[0])}
	var l layout
	l.group = x.d.DeviceCreateBindGroupLayout.call(x.d.h, uintptr(unsafe.Pointer(o)))
	p := &pipelineLayoutDescriptor{bindGroupLayoutCount: 1, bindGroupLayouts: unsafe.Pointer(&[]handle{l.group}[0])}
	l.pipeline = x.d.DeviceCreatePipelineLayout.call(x.d.h, uintptr(unsafe.Pointer(p)))
	return l
}

// wait polls until a submission or a map is done.
func (x *bench) wait(begin func(done func(error)) error) error {
	done := make(chan error, 1)
	if err := begin(func(err error) { done <- err }); err != nil {
		return err
	}
	for {
		select {
		case err := <-done:
			return err
		default:
			x.d.Poll()
		}
	}
}

// run launches a kernel a number of times and returns the time that all of it took.
func (x *bench) run(k *built, times int) (time.Duration, error) {
	began := time.Now()
	e, err := x.d.NewEncoder()
	if err != nil {
		return 0, err
	}
	for range times {
		e.Dispatch(k.p, k.g, 0, true, k.grid)
	}
	err = x.wait(func(done func(error)) error { return x.d.Submit(e, done) })
	return time.Since(began), err
}

// result returns C after one launch into zeros.
func (x *bench) result(k *built) ([]float32, error) {
	c := make([]float32, x.n*x.n)
	back, err := x.d.NewBuffer(int64(4*len(c)), webgpu.Readback)
	if err != nil {
		return nil, err
	}
	defer back.Destroy()
	if err := x.d.Write(x.buffers[0], 0, dtype.Bytes(c)); err != nil {
		return nil, err
	}
	if err := x.d.Write(x.uniform, 0, k.words); err != nil {
		return nil, err
	}
	e, err := x.d.NewEncoder()
	if err != nil {
		return nil, err
	}
	e.Dispatch(k.p, k.g, 0, true, k.grid)
	e.Copy(back, 0, x.buffers[0], 0, int64(4*len(c)))
	if err := x.wait(func(done func(error)) error { return x.d.Submit(e, done) }); err != nil {
		return nil, err
	}
	if err := x.wait(func(done func(error)) error { return x.d.Map(back, done) }); err != nil {
		return nil, err
	}
	return c, back.Read(dtype.Bytes(c), 0)
}

// check compares the result of a kernel with the result of the first kernel, and 200 elements of the first with sums of float64. It returns
// the greatest difference.
func (x *bench) check(k *built) (float64, error) {
	got, err := x.result(k)
	if err != nil {
		return 0, err
	}
	worst, n := 0.0, x.n
	if x.first == nil {
		for s := range 200 {
			i := int(uint32(s)*2654435761>>8) % len(got)
			want := 0.0
			for d := range n {
				want += float64(x.a[i/n*n+d]) * float64(x.b[d*n+i%n])
			}
			worst = max(worst, math.Abs(want-float64(got[i])))
		}
		x.first = got
	} else {
		for i, v := range got {
			if off := math.Abs(float64(v - x.first[i])); !(off <= worst) {
				worst = off
			}
		}
	}
	if !(worst < 1e-5*float64(n)) {
		return worst, fmt.Errorf("the greatest difference is %g", worst)
	}
	return worst, nil
}

// BenchmarkProduct compares ways to write the kernel of a product of n×n for n in BURN_WGPU_PRODUCTS, on the first adapter of the library
// BURN_WGPU_LIBRARY. It ends early when BURN_WGPU_PRODUCTS_TIME is over.
func BenchmarkProduct(b *testing.B) {
	sizes, library := strings.Fields(os.Getenv("BURN_WGPU_PRODUCTS")), os.Getenv("BURN_WGPU_LIBRARY")
	if len(sizes) == 0 || library == "" {
		b.Skip("needs BURN_WGPU_LIBRARY and sizes in BURN_WGPU_PRODUCTS")
	}
	limit, err := time.ParseDuration(os.Getenv("BURN_WGPU_PRODUCTS_TIME"))
	if err != nil {
		limit = time.Hour
	}
	only := regexp.MustCompile(os.Getenv("BURN_WGPU_PRODUCTS_RUN"))
	api, err := Open([]string{library})
	require.NoError(b, err)
	adapters, err := api.Adapters(context.Background())
	require.NoError(b, err)
	f := adapters[0].Facts()
	for range 2 {
		began := time.Now()
		d, err := adapters[0].Open(context.Background())
		require.NoError(b, err)
		made := time.Since(began)
		d.Close()
		fmt.Printf("device opened in %v, closed in %v\n", made, time.Since(began)-made)
	}
	opened, err := adapters[0].Open(context.Background())
	require.NoError(b, err)
	defer opened.Close()
	fmt.Printf("%s, %s, %d bytes of shared memory, %d threads\n", f.Name, f.Driver, f.Limits.WorkgroupStorage, f.Limits.WorkgroupThreads)
	began := time.Now()
	var benches []*bench
	for _, s := range sizes {
		n, err := strconv.Atoi(s)
		require.NoError(b, err)
		benches = append(benches, newBench(b, opened.(*device), f, n))
	}
	for _, form := range forms() {
		if !only.MatchString(form.name()) {
			continue
		}
		fmt.Printf("| %-40s |", form.name())
		for _, x := range benches {
			if time.Since(began) > limit {
				fmt.Printf(" not run: no time is left |")
				continue
			}
			fmt.Printf(" %s |", x.row(form))
		}
		fmt.Println()
	}
}

// row measures a form, and returns its median and best speed.
func (x *bench) row(f form) string {
	k := x.build(f)
	if k.err != nil {
		return k.err.Error()
	}
	off, err := x.check(k)
	if err != nil {
		return err.Error()
	}
	flops := 2 * float64(x.n) * float64(x.n) * float64(x.n)
	once, err := x.run(k, 1)
	if err != nil {
		return err.Error()
	}
	times := min(max(1, int(20*time.Millisecond/once)), 32)
	var speeds []float64
	for began := time.Now(); len(speeds) < 12 && (len(speeds) == 0 || time.Since(began) < time.Second); {
		took, err := x.run(k, times)
		if err != nil {
			return err.Error()
		}
		speeds = append(speeds, flops*float64(times)/took.Seconds()/1e12)
	}
	slices.Sort(speeds)
	return fmt.Sprintf("%6.2f %6.2f, off %.1e, made in %.2f s", speeds[len(speeds)/2], speeds[len(speeds)-1], off, k.took.Seconds())
}
