package tensor

import (
	crand "crypto/rand"
	"encoding/binary"
	"math"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Random is a counter-based generator: Philox 4x32-10 as in the contract's random_bits, with key Seed. A draw of n words of 32
// bits uses the blocks of 4 words starting at Counter, and advances Counter past them, so that draws never overlap. The same Seed
// and Counter produce the same numbers on every backend. Copy a Random to repeat its numbers. It is not safe for concurrent use;
// the methods of Device with the same names are.
type Random struct{ Seed, Counter int }

// take reserves n words, and returns the attributes of an op that draws them.
func (r *Random) take(n int) []op.Attr {
	at := r.Counter
	r.Counter += n/4 + min(n%4, 1)
	return []op.Attr{op.Int("seed", r.Seed), op.Int("counter", at)}
}

// generator is the Random of a device. A device that was not seeded gets a seed from the system at its first draw.
type generator struct {
	mu     sync.Mutex
	seeded bool
	Random
}

func (g *generator) seed(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Random, g.seeded = Random{Seed: n}, true
}

// take reserves n words, and returns a Random from which they are drawn.
func (g *generator) take(n int) *Random {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.seeded {
		var b [8]byte
		_, _ = crand.Read(b[:]) // documented never to fail
		g.Random, g.seeded = Random{Seed: int(binary.LittleEndian.Uint64(b[:]) >> 1)}, true
	}
	r := g.Random
	g.Random.take(n)
	return &r
}

// Seed restarts the device's generator. Later draws produce the same numbers on every backend, if they are made in the same
// order. All scopes of a device share the generator.
func (d *Device) Seed(n int) { d.dev.random.seed(n) }

// Random returns the state of the device's generator, which the next draw uses. SetRandom restores it.
func (d *Device) Random() Random {
	return *d.dev.random.take(0)
}

// SetRandom sets the state of the device's generator.
func (d *Device) SetRandom(r Random) {
	d.dev.random.mu.Lock()
	defer d.dev.random.mu.Unlock()
	d.dev.random.Random, d.dev.random.seeded = r, true
}

// uniformWords returns the number of 32-bit words that n elements of the uniform distribution use.
func uniformWords(dt dtype.DType, n int) int {
	if dt == dtype.F64 {
		return 2 * n
	}
	return n
}

// size returns the number of elements of a shape. It panics for an illegal shape.
func size(name string, dims []int) int {
	if err := shape.Shape(dims).Check(); err != nil {
		fail("%s: %w", name, err)
	}
	return shape.Shape(dims).Size()
}

// Uniform draws floats uniformly from [low, high).
func (r *Random) Uniform(d *Device, dt dtype.DType, low, high float64, dims ...int) *Tensor {
	n := size("uniform", dims)
	return d.Op(op.RandomUniform, nil, append(r.take(uniformWords(dt, n)), op.Ints("shape", dims...), op.Type("dtype", dt),
		op.Float("low", low), op.Float("high", high))...)[0]
}

// Normal draws floats from the normal distribution with the given mean and standard deviation.
func (r *Random) Normal(d *Device, dt dtype.DType, mean, std float64, dims ...int) *Tensor {
	n := size("normal", dims)
	return d.Op(op.RandomNormal, nil, append(r.take(2*n), op.Ints("shape", dims...), op.Type("dtype", dt), op.Float("mean", mean),
		op.Float("std", std))...)[0]
}

// Bits draws 32 random bits per element, as i32.
func (r *Random) Bits(d *Device, dims ...int) *Tensor {
	n := size("random bits", dims)
	return d.Op(op.RandomBits, nil, append(r.take(n), op.Ints("shape", dims...), op.Type("dtype", dtype.I32))...)[0]
}

// Int draws integers uniformly from [low, high), from 62 random bits each. It panics with *Error if the range is empty, contains
// 2^62 numbers or more, or is not within the type.
func (r *Random) Int(d *Device, dt dtype.DType, low, high int, dims ...int) *Tensor {
	if !dt.IsInt() || high <= low || high-low <= 0 {
		fail("random int: %v from [%d, %d), want an integer type and a range that is not empty: %w", dt, low, high, op.ErrAttr)
	}
	if r := high - low; r >= 1<<62 {
		fail("random int: a range of %d, want less than 2^62: %w", r, op.ErrAttr)
	}
	if signed := dt.Class() == dtype.Signed; !signed && low < 0 || dt.Size() < 8 {
		bits := 8 * dt.Size()
		least, most := 0, math.MaxInt
		if bits < 64 {
			most = 1<<bits - 1
		}
		if signed {
			least, most = -1<<(bits-1), 1<<(bits-1)-1
		}
		if low < least || high-1 > most {
			fail("random int: %v from [%d, %d), want numbers from %d to %d: %w", dt, low, high, least, most, op.ErrAttr)
		}
	}
	var m temps
	at := m.of(m.of(r.wide(d, dims)).FloorMod(m.of(d.scalarInt(dtype.I64, int64(high-low)))))
	return m.done(m.of(at.Add(m.of(d.scalarInt(dtype.I64, int64(low))))).Cast(dt))
}

// wide draws i64 numbers of 62 random bits.
func (r *Random) wide(d *Device, dims []int) *Tensor {
	var m temps
	w := m.of(m.of(m.of(r.Bits(d, append([]int{2}, dims...)...)).Cast(dtype.I64)).AndScalar(1<<31 - 1))
	hi, lo := m.of(w.Select(0, 0)), m.of(w.Select(0, 1))
	return m.done(m.of(hi.ShlScalar(31)).Add(lo))
}

// Permutation draws a permutation of 0, 1, ..., n-1 (i64).
func (r *Random) Permutation(d *Device, n int) *Tensor {
	var m temps
	return m.done(m.of(r.wide(d, []int{n})).ArgSort(0, false))
}

// Bernoulli returns 1 with probability p, else 0, of the given type, for each element of a float tensor p.
func (r *Random) Bernoulli(p *Tensor, dt dtype.DType) *Tensor {
	return p.un(op.Bernoulli, append(r.take(p.Size()), op.Type("dtype", dt))...)
}

// Multinomial draws count indices (i64) of the last axis of weights, each with a probability proportional to its weight. If
// replace is set, an index may be drawn more than once. Otherwise count is at most the number of weights, and indices of weight 0
// come last.
func (r *Random) Multinomial(weights *Tensor, count int, replace bool) *Tensor {
	if replace {
		return weights.un(op.Multinomial, append(r.take(weights.rows()*max(count, 0)), op.Int("count", count))...)
	}
	// The indices with the greatest log(weight) + Gumbel noise are a sample without replacement (Efraimidis and Spirakis; Gumbel
	// top-k).
	m := temps{from: weights}
	if dt := weights.DType(); dt.IsFloat() && dt != dtype.F64 {
		weights = m.of(weights.Cast(dtype.F32))
	}
	u := m.of(r.Uniform(weights.within(), weights.DType(), 0, 1, weights.Shape()...))
	u = m.of(u.AddScalar(0x1p-60)) // above zero, and far below the spacing of random numbers
	noise := m.of(m.of(m.of(u.Log()).Neg()).Log())
	values, at := m.of(m.of(weights.Log()).Sub(noise)).TopK(count, -1)
	m.of(values)
	return m.done(at)
}

// Dropout returns a tensor that is 0 with probability p for each element, and x/(1-p) otherwise.
func (r *Random) Dropout(x *Tensor, p float64) *Tensor {
	o := Op(op.Dropout, []*Tensor{x}, append(r.take(x.Size()), op.Float("p", p))...)
	o[1].Release()
	return o[0]
}

// Uniform draws floats uniformly from [low, high) with the device's generator.
func (d *Device) Uniform(dt dtype.DType, low, high float64, dims ...int) *Tensor {
	return d.dev.random.take(uniformWords(dt, size("uniform", dims))).Uniform(d, dt, low, high, dims...)
}

// Normal draws floats from a normal distribution with the device's generator.
func (d *Device) Normal(dt dtype.DType, mean, std float64, dims ...int) *Tensor {
	return d.dev.random.take(2*size("normal", dims)).Normal(d, dt, mean, std, dims...)
}

// RandomInt draws integers uniformly from [low, high) with the device's generator.
func (d *Device) RandomInt(dt dtype.DType, low, high int, dims ...int) *Tensor {
	return d.dev.random.take(2*size("random int", dims)).Int(d, dt, low, high, dims...)
}

// Permutation draws a permutation of 0, 1, ..., n-1 (i64) with the device's generator.
func (d *Device) Permutation(n int) *Tensor {
	return d.dev.random.take(2*size("permutation", []int{n})).Permutation(d, n)
}

// Bernoulli returns 1 with probability p, else 0, with the device's generator.
func (d *Device) Bernoulli(dt dtype.DType, p float64, dims ...int) *Tensor {
	var m temps
	return m.done(m.of(d.Full(dtype.F32, p, dims...)).Bernoulli(dt))
}

// Bernoulli returns 1 with the probability in t, else 0, of type dt, with the device's generator.
func (t *Tensor) Bernoulli(dt dtype.DType) *Tensor {
	return t.queue.dev.random.take(t.Size()).Bernoulli(t, dt)
}

// Multinomial is Random.Multinomial for the weights t with the device's generator.
func (t *Tensor) Multinomial(count int, replace bool) *Tensor {
	words := t.rows() * max(count, 0)
	if !replace {
		words = uniformWords(t.DType(), t.Size())
	}
	return t.queue.dev.random.take(words).Multinomial(t, count, replace)
}

// Dropout returns a tensor that is 0 with probability p for each element, and t/(1-p) otherwise, with the device's generator.
func (t *Tensor) Dropout(p float64) *Tensor { return t.queue.dev.random.take(t.Size()).Dropout(t, p) }

// UniformLike is Device.Uniform with t's type and shape.
func (t *Tensor) UniformLike(low, high float64) *Tensor {
	return t.within().Uniform(t.DType(), low, high, t.Shape()...)
}

// NormalLike is Device.Normal with t's type and shape.
func (t *Tensor) NormalLike(mean, std float64) *Tensor {
	return t.within().Normal(t.DType(), mean, std, t.Shape()...)
}
