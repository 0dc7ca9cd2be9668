package onnx

import (
	"fmt"
	"slices"
	"sort"
)

// converter emits contract ops for one ONNX node and returns its outputs in order; trailing outputs that the node does not name
// may be left out. It reports errors with tracer.fail and tracer.unsupported. It must be deterministic: the same node with equal
// values and shapes must emit the same ops.
type converter func(t *tracer, n *node) []value

type registration struct {
	since   int
	convert converter
}

type opKey struct{ domain, op string }

var registry = map[opKey][]registration{}

// register adds the converter of an operator of the default domain, valid from opset since on. Call it from init functions.
func register(opType string, since int, c converter) { registerIn("", opType, since, c) }

// registerIn does the same as register for another domain.
func registerIn(domain, opType string, since int, c converter) {
	key := opKey{canonical(domain), opType}
	rs := registry[key]
	i := sort.Search(len(rs), func(i int) bool { return rs[i].since >= since })
	switch {
	case opType == "" || since < 1 || c == nil:
		panic(fmt.Sprintf("onnx: register %q since %d is incomplete", opType, since))
	case i < len(rs) && rs[i].since == since:
		panic(fmt.Sprintf("onnx: register called twice for %s since %d", key, since))
	}
	registry[key] = slices.Insert(rs, i, registration{since, c})
}

// String returns "domain.Op", or "Op" in the default domain.
func (k opKey) String() string {
	if k.domain == "" {
		return k.op
	}
	return k.domain + "." + k.op
}

// find returns the converter of an operator at an opset: the one with the greatest since up to opset.
func find(domain, opType string, opset int) (converter, bool) {
	rs := registry[opKey{canonical(domain), opType}]
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].since <= opset {
			return rs[i].convert, true
		}
	}
	return nil, false
}

// canonical returns the standard spelling of a domain.
func canonical(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}
