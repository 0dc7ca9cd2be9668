package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// choices writes the selection by bytes of a condition, with ordinary stores, and with non-temporal stores to a dst that is
// aligned to the vector size.
func (k *kernels) choices() {
	for _, nonTemporal := range []bool{false, true} {
		name := "choose"
		if nonTemporal {
			name += "NonTemporal"
		}
		x, t := k.vec(0), k.vec(1)
		TEXT(k.name(name), 4, "func(n int, dst *float32, cond *uint8, a, b *float32)")
		Pragma("noescape")
		Doc(k.name(name) + " takes a where cond is not zero and b elsewhere.")
		k.whole([]stride{{"dst", 4}, {"cond", 1}, {"a", 4}, {"b", 4}}, func(at []operand.Mem) {
			if nonTemporal {
				for _, from := range at[1:] {
					PREFETCHT0(from.Offset(fetchAhead))
				}
			}
			VPMOVZXBD(at[1], t)
			k.zero(k.vec(2))
			k.load(at[2], x)
			k.load(at[3], k.vec(3))
			if k.wide {
				VPCMPD(operand.U8(4), k.vec(2), t, reg.K2)
			} else {
				VPCMPGTD(k.vec(2), t, k.vec(14))
			}
			k.blend(x, k.vec(3), x)
			if nonTemporal {
				VMOVNTPS(x, at[0])
				return
			}
			k.store(x, at[0])
		})
		k.done()
	}
}
