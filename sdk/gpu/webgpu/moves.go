package webgpu

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// moves are the kernels that copy and fill bytes at any offset. They are created when they are needed: WebGPU itself copies only whole
// words, between different buffers.
type moves struct{ copy, fill *kept }

// maxMoved bounds the bytes that one launch moves, so that offsets fit i32.
const maxMoved = 1 << 28

// Each kernel has a grid-stride loop over the words of the destination. Bytes of the first and last word that are outside of the
// destination stay unchanged.
const (
	movesHead = `
struct Scalars { first: u32, source: u32, bytes: u32, pattern: u32 }
@group(0) @binding(0) var<storage, read_write> dst: array<u32>;
fn put(w: u32, s: Scalars, value: u32) {
	var mask = 0xffffffffu;
	if (4u * w < s.first) { mask = mask << (8u * (s.first - 4u * w)); }
	let end = s.first + s.bytes;
	if (4u * w + 4u > end) { mask = mask & (0xffffffffu >> (8u * (4u * w + 4u - end))); }
	if (mask == 0xffffffffu) { dst[w] = value; } else { dst[w] = (dst[w] & ~mask) | (value & mask); }
}
`
	movesHeadEnd = `@compute @workgroup_size(64)
fn %s(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
	for (var w = s.first / 4u + at.x; w < (s.first + s.bytes + 3u) / 4u; w += groups.x * 64u) {
		%s
	}
}
`
	copyBody = `let p = i32(4u * w + s.source) - i32(s.first);
		let i = p >> 2u;
		let last = i32((s.source + s.bytes - 1u) / 4u);
		var value = src[clamp(i, 0, last)];
		let shift = 8u * (u32(p) & 3u);
		if (shift != 0u) { value = (value >> shift) | (src[clamp(i + 1, 0, last)] << (32u - shift)); }
		put(w, s, value);`
)

var (
	copyText = movesHead + `@group(0) @binding(1) var<storage, read_write> src: array<u32>;
@group(0) @binding(2) var<uniform> s: Scalars;
` + fmt.Sprintf(movesHeadEnd, "copy_bytes", copyBody)
	fillText = movesHead + `@group(0) @binding(1) var<uniform> s: Scalars;
` + fmt.Sprintf(movesHeadEnd, "fill_bytes", "put(w, s, s.pattern);")
)

// pipeline returns the kernel that copies, or else fills.
func (m *moves) pipeline(x *pipelines, copies bool) (k *kept, err error) {
	at, text, entry, storage := &m.fill, fillText, "fill_bytes", 1
	if copies {
		at, text, entry, storage = &m.copy, copyText, "copy_bytes", 2
	}
	if *at == nil {
		*at, err = x.get(text, entry, storage, 16)
	}
	return *at, err
}

func (m *moves) release(x *pipelines) {
	for _, k := range []*kept{m.copy, m.fill} {
		if k != nil {
			x.give(k)
		}
	}
}

// window returns the part to bind, for n bytes from offset on, of a buffer of the given size in bytes. It also returns the offset of the
// n bytes in this part.
func (d *device) window(b Buffer, bytes, offset, n int64) (Binding, uint32) {
	start := offset &^ (d.limits.StorageAlignment - 1)
	return Binding{b, start, min(roundUp(offset+n, 4), bytes) - start}, uint32(offset - start)
}

// region is a range of bytes of a buffer.
type region struct {
	buffer Buffer
	id     uint32 // 0 for buffers of the driver
	size   int64  // size of the buffer
	offset int64
}

// move copies n bytes, or fills them with a pattern if src is nil. The caller holds the lock.
func (d *device) move(dst region, src *region, n int64, pattern uint32) error {
	p, err := d.moves.pipeline(d.pipelines, src != nil)
	if err != nil {
		return sentinel(err)
	}
	most := min(maxMoved, d.limits.StorageBinding-2*d.limits.StorageAlignment) &^ 3 // windows begin before and end behind the bytes
	for done := int64(0); done < n; done += most {
		part := min(n-done, most)
		if err := d.reserve(16, 0); err != nil {
			return err
		}
		to, first := d.window(dst.buffer, dst.size, dst.offset+done, part)
		bindings, ids, from := []Binding{to}, []uint32{dst.id}, uint32(0)
		if src != nil {
			var b Binding
			b, from = d.window(src.buffer, src.size, src.offset+done, part)
			bindings, ids = append(bindings, b), append(ids, src.id)
		}
		g, err := d.group(p.Pipeline, bindings, ids, 16)
		if err != nil {
			return err
		}
		groups := min((int64(first)+part+255)/256, int64(d.limits.WorkgroupsPerAxis))
		d.commands++
		d.encoder.Dispatch(p.Pipeline, g, d.uniform([]uint32{first, from, uint32(part), pattern}), true, [3]uint32{uint32(groups), 1, 1})
	}
	return nil
}

// regionAt returns the region at offset, which the caller has checked to be within the memory.
func (m *memory) regionAt(offset int64) region { return region{m.buffer, m.id, m.bytes, offset} }

var errOtherMemory = fmt.Errorf("memory of another device: %w", core.ErrKernel)
