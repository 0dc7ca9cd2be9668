package onnx

import (
	"fmt"
	"slices"
	"sort"
)

// converter emits contract ops for one ONNX node and gives its outputs, in order; trailing outputs that the node does not
// name may be left out. It reports faults with tracer.fail and tracer.unsupported. It must be deterministic: the same
// node and the same values of the same shapes give the same ops.
type converter func(t *tracer, n *node) []value

type registration struct {
	since   int
	convert converter
}

type opKey struct{ domain, op string }

var registry = map[opKey][]registration{}

// register adds the converter of an operator of the default domain from an opset on, for init functions.
func register(opType string, since int, c converter) { registerIn("", opType, since, c) }

// registerIn is register for another domain.
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

// String prints "domain.Op", or "Op" in the default domain.
func (k opKey) String() string {
	if k.domain == "" {
		return k.op
	}
	return k.domain + "." + k.op
}

// find is the converter of an operator at an opset: the one with the greatest since that is not above it.
func find(domain, opType string, opset int) (converter, bool) {
	rs := registry[opKey{canonical(domain), opType}]
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].since <= opset {
			return rs[i].convert, true
		}
	}
	return nil, false
}

// canonical is the one spelling of a domain.
func canonical(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}
