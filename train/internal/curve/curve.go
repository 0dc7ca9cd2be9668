// Package curve stores long series of points in bounded memory, for the plots of packages train/dashboard and train/report. It must not
// draw them.
package curve

import "math"

// Most is the greatest number of points of a Curve.
const Most = 1024

// Curve is a list of points in ascending X. Before the number of points exceeds Most, each pair of neighbours is replaced by its mean. The
// zero value is empty.
type Curve struct {
	X, Y []float64 // read only
	per  int       // number of values whose mean is a point
	n    int       // number of values in the last point so far
}

// Add appends a point. It omits a point whose y is not finite.
func (c *Curve) Add(x, y float64) {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return
	}
	if c.per == 0 {
		c.per = 1
	}
	if last := len(c.X) - 1; last >= 0 && c.n < c.per {
		n := float64(c.n)
		c.X[last], c.Y[last] = (c.X[last]*n+x)/(n+1), (c.Y[last]*n+y)/(n+1)
		c.n++
		return
	}
	if len(c.X) == Most {
		for i := range Most / 2 {
			c.X[i], c.Y[i] = (c.X[2*i]+c.X[2*i+1])/2, (c.Y[2*i]+c.Y[2*i+1])/2
		}
		c.X, c.Y = c.X[:Most/2], c.Y[:Most/2]
		c.per *= 2
	}
	c.X, c.Y, c.n = append(c.X, x), append(c.Y, y), 1
}

// Cut removes the points after x.
func (c *Curve) Cut(x float64) {
	n := len(c.X)
	for n > 0 && c.X[n-1] > x {
		n--
	}
	c.X, c.Y, c.n = c.X[:n], c.Y[:n], c.per
}
