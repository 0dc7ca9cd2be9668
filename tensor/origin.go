package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// looksUp lists the ops that fail with core.ErrIndex because of the elements of an operand.
var looksUp = map[op.Code]bool{op.Gather: true, op.Scatter: true, op.GatherElements: true, op.ScatterElements: true, op.GatherND: true,
	op.ScatterND: true, op.Embedding: true, op.NLLLoss: true, op.CrossEntropyLoss: true, op.CacheWrite: true, op.MaxUnpool: true, op.RoiAlign: true}

// origins records the latest calls that created nodes of ops in looksUp. The device detects a bad index later, in a node; the
// error should name the call that created the node.
type origins struct {
	mu   sync.Mutex
	last [256]origin // ring buffer
	next int
}

type origin struct {
	ids  []op.TensorID // outputs of the nodes that may fail
	code op.Code       // op of the call
	desc op.Desc       // first output of the call
	at   [24]uintptr
}

// note records that a call of code created nodes, if one of them may fail with core.ErrIndex.
func (o *origins) note(code op.Code, desc op.Desc, nodes []op.Node) {
	var ids []op.TensorID
	for i := range nodes {
		if looksUp[nodes[i].Op] && len(nodes[i].Outputs) > 0 {
			ids = append(ids, nodes[i].Outputs[0].ID)
		}
	}
	if ids == nil {
		return
	}
	x := origin{ids: ids, code: code, desc: desc}
	runtime.Callers(3, x.at[:])
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[o.next%len(o.last)] = x
	o.next++
}

// explain returns err. If err is the core.ErrIndex of a recorded node, explain returns an error that names the call that created
// the node and wraps err's node error.
func (o *origins) explain(err error) error {
	var n *core.NodeError
	if err == nil || !errors.As(err, &n) || len(n.Outputs) == 0 || !errors.Is(err, core.ErrIndex) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.last {
		if x := &o.last[i]; slices.Contains(x.ids, n.Outputs[0].ID) {
			return &originError{call: fmt.Sprintf("%v %v%s", x.code, x.desc, line(x.at[:])), node: n}
		}
	}
	return err
}

// line returns " at FILE:LINE" of the innermost caller that is neither in package tensor or nn nor in a package below them, or ""
// if there is none.
func line(pcs []uintptr) string {
	frames := runtime.CallersFrames(slices.DeleteFunc(slices.Clone(pcs), func(pc uintptr) bool { return pc == 0 }))
	for {
		f, more := frames.Next()
		if f.File != "" && !within(f.Function, "tensor") && !within(f.Function, "nn") {
			return fmt.Sprintf(" at %s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// within reports whether a function belongs to the package pkg of burn, or to a package below it.
func within(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, "github.com/goburn/burn/"+pkg)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
}

// originError is the error of a node, reported as an error of the call that created the node.
type originError struct {
	call string
	node *core.NodeError
}

func (e *originError) Error() string {
	return e.call + ": " + strings.TrimPrefix(e.node.Err.Error(), e.node.Op+": ")
}

func (e *originError) Unwrap() error { return e.node }
