package main

import (
	"fmt"
	"strings"
)

// table returns a Markdown table with a line for each case: the times of both sides, the speed relative to the faster mode of
// PyTorch, and the target.
func table(list []opCase, figures []figure) string {
	at := map[[2]string]figure{}
	var names []string
	for _, f := range figures {
		if _, seen := at[[2]string{f.Name, ""}]; !seen {
			names = append(names, f.Name)
			at[[2]string{f.Name, ""}] = f
		}
		at[[2]string{f.Name, f.Side}] = f
	}
	known := map[string]*opCase{}
	for i := range list {
		known[list[i].name] = &list[i]
	}
	plain := map[string]plainCase{}
	for _, p := range plainCases(full) {
		plain[p.name] = p
	}
	var b strings.Builder
	b.WriteString("| case | burn, ms | eager, ms | compiled, ms | speed | TFLOP/s | GB/s | target, ms | met | PyTorch known, ms | off |\n|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|\n")
	for _, name := range names {
		own, eager, compiled := at[[2]string{name, "burn"}], at[[2]string{name, "eager"}], at[[2]string{name, "compiled"}]
		target, flops, bytes, was := 0., int64(0), plain[name].bytes, ""
		if c := known[name]; c != nil {
			target, flops, bytes = c.target, c.flops, c.bytes
			if c.eager > 0 {
				was = fmt.Sprintf("%.3f / %s", c.eager, number(c.compiled, 3))
			}
		} else {
			target = plain[name].target
		}
		met := ""
		switch {
		case own.Error != "":
			met = "failed: " + own.Error
		case target > 0 && own.Millis > 0 && own.Millis <= target:
			met = "yes"
		case target > 0:
			met = "no"
		}
		best := eager.Millis
		if c := compiled.Millis; c > 0 && (best == 0 || c < best) {
			best = c
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, number(own.Millis, 4), number(eager.Millis, 4), number(compiled.Millis, 4),
			number(over(best, own.Millis), 2), number(over(float64(flops)/1e9, own.Millis), 1), number(over(float64(bytes)/1e6, own.Millis), 0), number(target, 4), met, was, number(own.Off, 3))
	}
	return b.String()
}

func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// number formats v, or returns "" for 0.
func number(v float64, digits int) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f", digits, v)
}
