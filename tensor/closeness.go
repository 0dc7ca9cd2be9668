package tensor

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/goburn/burn/core"
)

// Closeness describes how close two tensors are: String returns a report for people, and the fields are for tests.
type Closeness struct {
	Elements int    // number of elements of each tensor
	Bands    []Band // tolerances from 1e-1 to 1e-8
	NaN      int    // elements of which one or both are NaN; they are not close to anything
	Infinite int    // elements of which one is infinite and the other differs
	Worst    Worst  // by absolute difference, among finite elements
}

// Band contains the number of elements for which |got-want| <= Epsilon + Epsilon·|want|. Equal infinities count as close.
type Band struct {
	Epsilon float64
	Close   int
}

// Worst is the pair of finite elements with the greatest difference. Abs is |Got-Want|, and Rel is Abs/|Want|, or 0 if Abs is 0.
// Index is nil if no pair is finite.
type Worst struct {
	Index               []int
	Got, Want, Abs, Rel float64
}

// CheckCloseness waits for both tensors, of one shape and of any types, and compares them. If the shapes differ, the error is
// ErrShape.
func CheckCloseness(ctx context.Context, got, want *Tensor) (*Closeness, error) {
	if !got.desc.Shape.Equal(want.desc.Shape) {
		return nil, fmt.Errorf("tensor: check closeness: %v and %v, want the same shape: %w", got.desc, want.desc, core.ErrShape)
	}
	a, err := got.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	b, err := want.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	c := &Closeness{Elements: got.Size()}
	for e := 1; e <= 8; e++ {
		c.Bands = append(c.Bands, Band{Epsilon: math.Pow10(-e)})
	}
	x, y := Float64s(got.desc.DType, a), Float64s(want.desc.DType, b)
	worst := -1
	for i := range x {
		if c.count(x[i], y[i]) && (worst < 0 || math.Abs(x[i]-y[i]) > c.Worst.Abs) {
			worst = i
			d := math.Abs(x[i] - y[i])
			c.Worst = Worst{Got: x[i], Want: y[i], Abs: d, Rel: d / math.Abs(y[i])}
			if d == 0 {
				c.Worst.Rel = 0
			}
		}
	}
	if worst >= 0 {
		c.Worst.Index = make([]int, got.Rank())
		for d, stride := range got.desc.Shape.Strides() {
			c.Worst.Index[d] = worst / stride % got.desc.Shape[d]
		}
	}
	return c, nil
}

// count adds one pair to the counts, and reports whether both are finite.
func (c *Closeness) count(x, y float64) bool {
	if math.IsNaN(x) || math.IsNaN(y) {
		c.NaN++
		return false
	}
	finite := !math.IsInf(x, 0) && !math.IsInf(y, 0)
	if !finite && x != y {
		c.Infinite++
		return false
	}
	for i := range c.Bands {
		if e := c.Bands[i].Epsilon; x == y || math.Abs(x-y) <= e+e*math.Abs(y) {
			c.Bands[i].Close++
		}
	}
	return finite
}

// Share returns the percentage of n elements that are close, or 100 if n is 0.
func (b Band) Share(n int) float64 {
	if n == 0 {
		return 100
	}
	return 100 * float64(b.Close) / float64(n)
}

// String returns the report: one line per tolerance, with pass for all elements, warn for 90 percent or more, else fail.
func (c *Closeness) String() string {
	var s strings.Builder
	for _, b := range c.Bands {
		verdict := "fail"
		switch p := b.Share(c.Elements); {
		case b.Close == c.Elements:
			verdict = "pass"
		case p >= 90:
			verdict = "warn"
		}
		fmt.Fprintf(&s, "within %.0e: %d/%d (%.2f%%) %s\n", b.Epsilon, b.Close, c.Elements, b.Share(c.Elements), verdict)
	}
	if c.NaN > 0 {
		fmt.Fprintf(&s, "nan: %d\n", c.NaN)
	}
	if c.Infinite > 0 {
		fmt.Fprintf(&s, "infinite on one side: %d\n", c.Infinite)
	}
	if c.Worst.Index != nil {
		fmt.Fprintf(&s, "worst: %v at %v, want %v: difference %.3g, relative %.3g\n", c.Worst.Got, c.Worst.Index, c.Worst.Want, c.Worst.Abs, c.Worst.Rel)
	}
	return s.String()
}
