package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// canvas is a plot of braille characters, each of two by four dots. A cell has the colour of the last dot drawn in it.
type canvas struct {
	w, h  int // in cells
	dots  []byte
	ink   []int
	style []lipgloss.Style
}

func newCanvas(w, h int, styles ...lipgloss.Style) *canvas {
	return &canvas{w: w, h: h, dots: make([]byte, w*h), ink: make([]int, w*h), style: styles}
}

// bits contains the bit of each dot of a braille character, by row and column (Unicode, block U+2800).
var bits = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (c *canvas) dot(x, y, ink int) {
	if x < 0 || y < 0 || x >= 2*c.w || y >= 4*c.h {
		return
	}
	at := y/4*c.w + x/2
	c.dots[at] |= bits[y%4][x%2]
	c.ink[at] = ink
}

// line draws a line by Bresenham's algorithm: in each column or row that the line crosses, it sets the nearest dot.
func (c *canvas) line(x0, y0, x1, y1, ink int) {
	dx, dy := abs(x1-x0), -abs(y1-y0)
	sx, sy := 1, 1
	if x0 > x1 {
		sx = -1
	}
	if y0 > y1 {
		sy = -1
	}
	for e := dx + dy; ; {
		c.dot(x0, y0, ink)
		if x0 == x1 && y0 == y1 {
			return
		}
		twice := 2 * e
		if twice >= dy {
			e += dy
			x0 += sx
		}
		if twice <= dx {
			e += dx
			y0 += sy
		}
	}
}

func abs(v int) int { return max(v, -v) }

func (c *canvas) row(y int) string {
	var b, run strings.Builder
	last := -1
	flush := func() {
		if run.Len() > 0 {
			b.WriteString(c.style[last].Render(run.String()))
			run.Reset()
		}
	}
	for x := range c.w {
		at := y*c.w + x
		if c.ink[at] != last {
			flush()
			last = c.ink[at]
		}
		run.WriteRune(0x2800 + rune(c.dots[at]))
	}
	flush()
	return b.String()
}

// inked is a line of a plot with its colour.
type inked struct {
	series
	ink int
}

// gutter is the width of the labels of the vertical axis.
const gutter = 10

// axisLabel formats a number with four digits, or with fewer if these do not fit the gutter.
func axisLabel(v float64) string {
	label := ""
	for digits := 4; digits > 0; digits-- {
		if label = strconv.FormatFloat(v, 'g', digits, 64); len(label) < gutter {
			break
		}
	}
	return label
}

// plot returns a chart of lines as h rows of at most w columns, including the axes.
func plot(w, h int, lines []inked, styles ...lipgloss.Style) []string {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for i := range l.x {
			if v := l.y[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
				x0, x1, y0, y1 = min(x0, l.x[i]), max(x1, l.x[i]), min(y0, v), max(y1, v)
			}
		}
	}
	rows := max(h-1, 1)
	c := newCanvas(max(w-gutter-1, 1), rows, styles...)
	if x0 > x1 {
		out := make([]string, h)
		out[h/2] = strings.Repeat(" ", gutter+1) + "no values yet"
		return out
	}
	if y0 == y1 {
		pad := max(math.Abs(y0)*0.05, 1e-9)
		y0, y1 = y0-pad, y1+pad
	}
	if x0 == x1 {
		x0, x1 = x0-1, x1+1
	}
	px := func(x float64) int { return int(math.Round(float64(2*c.w-1) * (x/2 - x0/2) / (x1/2 - x0/2))) }
	py := func(y float64) int { return int(math.Round(float64(4*rows-1) * (1 - (y/2-y0/2)/(y1/2-y0/2)))) }
	for _, l := range lines {
		first, lx, ly := true, 0, 0
		for i := range l.x {
			if v := l.y[i]; math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			x, y := px(l.x[i]), py(l.y[i])
			if first {
				c.dot(x, y, l.ink)
			} else {
				c.line(lx, ly, x, y, l.ink)
			}
			first, lx, ly = false, x, y
		}
	}
	out := make([]string, 0, h)
	for y := range rows {
		label := ""
		switch y {
		case 0:
			label = axisLabel(y1)
		case rows - 1:
			label = axisLabel(y0)
		case (rows - 1) / 2:
			label = axisLabel(y1 - (y1/2-y0/2)*2*float64(y)/float64(rows-1))
		}
		out = append(out, fmt.Sprintf("%*s │", gutter-1, label)+c.row(y))
	}
	if h > 1 {
		a, b := fmt.Sprintf("%.0f", x0), fmt.Sprintf("step %.0f", x1)
		gap := max(c.w-len(a)-len(b), 1)
		out = append(out, strings.Repeat(" ", gutter+1)+a+strings.Repeat(" ", gap)+b)
	}
	return out
}
