package metal

import (
	"fmt"

	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu/commands"
)

// moveText is the format of a kernel that copies or fills, with a grid-stride loop over the elements.
const moveText = `kernel void %s(device %s* dst [[buffer(0)]], %s, constant ulong& count [[buffer(2)]], uint3 thread_at [[thread_position_in_threadgroup]],
	uint3 block_at [[threadgroup_position_in_grid]], uint3 blocks [[threadgroups_per_grid]]) {
	for (ulong i = ulong(block_at.x) * %du + thread_at.x; i < count; i += ulong(blocks.x) * %du) dst[i] = %s;
}
`

// newMoves creates the kernels that copy and fill: Metal's own commands require multiples of 4 bytes on some Macs, and end the pass of
// kernels.
func newMoves(d calls.Device) (m commands.Moves, err error) {
	text := "#include <metal_stdlib>\nusing namespace metal;\n"
	names := [len(m)]string{"copy_bytes", "copy_pieces", "fill_bytes", "fill_words"}
	for i, x := range [len(m)][3]string{{"uchar", "device const uchar* src [[buffer(1)]]", "src[i]"}, {"uint4", "device const uint4* src [[buffer(1)]]", "src[i]"},
		{"uchar", "constant uint& pattern [[buffer(1)]]", "uchar(pattern >> (8u * (uint(i) & 3u)))"}, {"uint", "constant uint& pattern [[buffer(1)]]", "pattern"}} {
		text += fmt.Sprintf(moveText, names[i], x[0], x[1], commands.MoveThreads, commands.MoveThreads, x[2])
	}
	l, err := d.NewLibrary(text)
	if err != nil {
		return m, err
	}
	defer l.Release()
	for i, n := range names {
		if m[i], err = l.Pipeline(n); err != nil {
			for _, p := range m[:i] {
				p.Release()
			}
			return m, err
		}
	}
	return m, nil
}
