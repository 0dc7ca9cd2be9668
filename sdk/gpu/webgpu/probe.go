package webgpu

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
)

// features are the features that worked in kernels with known results. The implementation's own list is not trusted.
type features struct {
	// Subgroup is the size of subgroups, or 0 if kernels cannot use subgroups.
	Subgroup int
	// F16 reports whether conversions of f16 to f32 are correct.
	F16 bool
	// Rounded reports whether quotients and roots of f32 are correctly rounded.
	Rounded bool
	// Flushes reports whether arithmetic of f32 treats subnormal operands as zeros, or returns zeros in place of subnormal results.
	Flushes bool
	// Binding is the size in bytes of the largest binding whose last word was written and read.
	Binding int64
}

// probesVersion changes with the probes, so that results of other versions are not used.
const probesVersion = 2

// features runs the probes, or reads the results of an earlier process with this adapter, driver, library and version.
func (d *device) features() (features, error) {
	file := ""
	if folder := d.driver.options.Cache; folder != "" {
		f := d.facts
		key := sha256.Sum256(fmt.Append(nil, probesVersion, "\n", f.Name, "\n", f.Driver, "\n", f.Backend, "\n", f.Version, "\n", d.driver.info.Version, "\n", f.Limits, f.Subgroups))
		file = filepath.Join(folder, "probes", fmt.Sprintf("%x.json", key[:16]))
		var found features
		if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &found) == nil && found.Binding > 0 {
			return found, nil
		}
	}
	found, err := d.probes()
	if err == nil && file != "" {
		_ = keep(file, found) // the next process probes again
	}
	return found, err
}

func keep(file string, found features) error {
	b, err := json.Marshal(found)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}

func (d *device) probes() (found features, err error) {
	for _, probe := range []func(*features) error{d.probeHalves, d.probeRounding, d.probeSubnormals, d.probeSubgroups, d.probeBinding} {
		// A feature that the compiler rejects is missing; a lost device ends the probes.
		if e := probe(&found); errors.Is(e, core.ErrBackendLost) || errors.Is(e, core.ErrClosed) {
			return found, e
		}
	}
	if found.Binding == 0 {
		return found, fmt.Errorf("a kernel that writes a buffer does not work: %w", core.ErrUnsupported)
	}
	return found, nil
}

// run executes a kernel with one buffer of n words, in which word i is initially i·2654435761 modulo 2^32, and returns the words.
func (d *device) run(text string, n, groups int) ([]uint32, error) {
	m, err := d.Alloc(int64(4 * n))
	if err != nil {
		return nil, err
	}
	defer d.Free(m)
	words := make([]uint32, n)
	for i := range words {
		words[i] = uint32(i) * 2654435761
	}
	q := queue{d: d}
	ref := gpu.Ref{Memory: m}
	if err := q.Upload(ref, dtype.Bytes(words)); err != nil {
		return nil, err
	}
	if err := d.runOn(text, m.(*memory), groups); err != nil {
		return nil, err
	}
	if err := q.Download(dtype.Bytes(words), ref); err != nil {
		return nil, err
	}
	return words, q.Synchronize()
}

// runOn adds a launch of the kernel probe of a text to the batch, with m as its buffer.
func (d *device) runOn(text string, m *memory, groups int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.calls.NewPipeline(text, "probe", 1, 0)
	if err != nil {
		return err
	}
	defer p.Release()
	if err := d.reserve(0, 0); err != nil {
		return err
	}
	g, err := d.group(p, []Binding{{m.buffer, 0, min(m.bytes, d.limits.StorageBinding&^3)}}, []uint32{m.id}, 0)
	if err != nil {
		return err
	}
	d.commands++
	d.encoder.Dispatch(p, g, 0, false, [3]uint32{uint32(groups), 1, 1})
	return nil
}

const probeHead = `@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(%d)
fn probe(@builtin(local_invocation_id) at: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>%s) {
	let i = block.x * %du + at.x;
`

func probeText(threads int, builtins, body string) string {
	return fmt.Sprintf(probeHead, threads, builtins, threads) + body + "\n}\n"
}

// probeHalves checks the conversion of all numbers of f16.
func (d *device) probeHalves(found *features) error {
	const n = 1 << 16
	words, err := d.run(probeText(64, "", "words[i] = bitcast<u32>(unpack2x16float(i).x);"), n, n/64)
	if err != nil {
		return err
	}
	found.F16 = true
	for i, w := range words {
		want, got := dtype.Float16(i).Float32(), math.Float32frombits(w)
		if math.Float32bits(want) != w && !(want != want && got != got) {
			found.F16 = false
		}
	}
	return nil
}

// probeRounding checks the rounding of quotients and roots.
func (d *device) probeRounding(found *features) error {
	const n = 1 << 15
	words, err := d.run(probeText(64, "", `let x = bitcast<f32>((words[2u * i] >> 4u) | 0x38000000u);
	let y = bitcast<f32>((words[2u * i + 1u] >> 4u) | 0x38000000u);
	words[2u * i] = bitcast<u32>(x / y);
	words[2u * i + 1u] = bitcast<u32>(sqrt(x));`), 2*n, n/64)
	if err != nil {
		return err
	}
	found.Rounded = true
	for i := range n {
		number := func(k int) float32 { return math.Float32frombits(uint32(2*i+k)*2654435761>>4 | 0x38000000) }
		x, y := number(0), number(1)
		if words[2*i] != math.Float32bits(x/y) || words[2*i+1] != math.Float32bits(float32(math.Sqrt(float64(x)))) {
			found.Rounded = false
		}
	}
	return nil
}

// probeSubnormals checks products of subnormal numbers, products that are subnormal, sums and comparisons.
func (d *device) probeSubnormals(found *features) error {
	const n = 1 << 10
	found.Flushes = true // until all results are exact
	words, err := d.run(probeText(64, "", `let k = (words[4u * i] >> 9u) | 1u;
	let x = bitcast<f32>(k);
	let y = bitcast<f32>(k | 0x00800000u);
	words[4u * i] = bitcast<u32>(x * 16777216.0f);
	words[4u * i + 1u] = bitcast<u32>(y * 0.25f);
	words[4u * i + 2u] = bitcast<u32>(y - x);
	words[4u * i + 3u] = select(0u, 1u, x > 0.0f);`), 4*n, n/64)
	if err != nil {
		return err
	}
	for i := range n {
		k := uint32(4*i)*2654435761>>9 | 1
		x, y := math.Float32frombits(k), math.Float32frombits(k|0x00800000)
		if words[4*i] != math.Float32bits(x*16777216) || words[4*i+1] != math.Float32bits(y*0.25) || words[4*i+2] != math.Float32bits(y-x) || words[4*i+3] != 1 {
			return nil
		}
	}
	found.Flushes = false
	return nil
}

// probeSubgroups checks exchanges in subgroups, if they have one size.
func (d *device) probeSubgroups(found *features) error {
	least, most := d.facts.Subgroups[0], d.facts.Subgroups[1]
	if least != most || least < 8 || least&(least-1) != 0 {
		return nil
	}
	t := min(d.limits.WorkgroupThreads, 256)
	parts := []string{"size", "lane", "subgroupShuffleXor(7u * i + 1u, 1u)", "bitcast<u32>(subgroupShuffleXor(f32(i), 2u))",
		"select(subgroupShuffleUp(i, 1u), i, lane < 1u)", "subgroupShuffle(i, (3u * lane + 1u) % size)", "subgroupBallot(i % 3u == 1u).x"}
	var body strings.Builder
	for k, part := range parts {
		fmt.Fprintf(&body, "\tlet v%d = %s;\n\tsubgroupBarrier();\n", k, part)
	}
	for k := range parts {
		fmt.Fprintf(&body, "\twords[%du + i] = v%d;\n", k*t, k)
	}
	words, err := d.run(probeText(t, ", @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32", body.String()), len(parts)*t, 1)
	if err != nil {
		return err
	}
	s := uint32(least)
	for i := range uint32(t) {
		lane := i % s
		votes := uint32(0)
		for k := range min(s, 32) {
			if (i-lane+k)%3 == 1 {
				votes |= 1 << k
			}
		}
		up := i
		if lane > 0 {
			up--
		}
		for k, want := range []uint32{s, lane, 7*(i^1) + 1, math.Float32bits(float32(i ^ 2)), up, i - lane + (3*lane+1)%s, votes} {
			if words[k*t+int(i)] != want {
				return nil
			}
		}
	}
	found.Subgroup = least
	return nil
}

// probeBinding writes the last word of ever smaller bindings, until a binding works.
func (d *device) probeBinding(found *features) error {
	const last = "if (i == 0u) { let n = arrayLength(&words); words[n - 1u] = n; }"
	most := min(d.limits.StorageBinding, d.limits.BufferSize, 1<<31) &^ 255
	for ; most >= 1<<20; most /= 2 {
		m, err := d.Alloc(most)
		if err != nil {
			if errors.Is(err, core.ErrOutOfMemory) {
				continue
			}
			return err
		}
		var got [1]uint32
		err = d.runOn(probeText(64, "", last), m.(*memory), 1)
		if err == nil {
			q := queue{d: d}
			if err = q.Download(dtype.Bytes(got[:]), gpu.Ref{Memory: m, Offset: most - 4}); err == nil {
				err = q.Synchronize()
			}
		}
		d.Free(m)
		if err != nil {
			return err
		}
		if int64(got[0]) == most/4 {
			found.Binding = most
			return nil
		}
	}
	return nil
}
