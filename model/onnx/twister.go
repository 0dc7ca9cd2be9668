package onnx

import "math"

// twister is the MT19937 generator, seeded and read as NumPy's RandomState does. The ONNX reference uses it, so a node with a
// seed produces the numbers of the reference.
type twister struct {
	state [624]uint32
	at    int
	spare float64 // the second of a pair of normal numbers
	has   bool
}

func newTwister(seed uint32) *twister {
	g := &twister{at: len(twister{}.state)}
	for i := range g.state {
		g.state[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return g
}

func (g *twister) refill() {
	const n, m = 624, 397
	for i := range g.state {
		y := g.state[i]&0x80000000 | g.state[(i+1)%n]&0x7fffffff
		v := g.state[(i+m)%n] ^ y>>1
		if y&1 != 0 {
			v ^= 0x9908b0df
		}
		g.state[i] = v
	}
	g.at = 0
}

func (g *twister) uint32() uint32 {
	if g.at == len(g.state) {
		g.refill()
	}
	y := g.state[g.at]
	g.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Float64 returns a number uniformly distributed in [0, 1).
func (g *twister) Float64() float64 {
	a, b := g.uint32()>>5, g.uint32()>>6
	return (float64(a)*67108864 + float64(b)) / 9007199254740992
}

// NormFloat64 returns a normally distributed number with mean 0 and standard deviation 1, by the polar method.
func (g *twister) NormFloat64() float64 {
	if g.has {
		g.has = false
		return g.spare
	}
	for {
		x, y := 2*g.Float64()-1, 2*g.Float64()-1
		r := x*x + y*y
		if r >= 1 || r == 0 {
			continue
		}
		f := math.Sqrt(-2 * math.Log(r) / r)
		g.spare, g.has = f*x, true
		return f * y
	}
}
