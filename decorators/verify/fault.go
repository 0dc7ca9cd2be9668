package verify

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Kind is the kind of rule that a fault breaks.
type Kind uint8

// The kinds of faults.
const (
	// Order: a tensor is used on one stream, and no event orders the use after the command of another stream that creates it; or a tensor
	// is freed or donated, and no event orders the free or the donation after a use. It wraps core.ErrProtocol.
	Order Kind = iota + 1
	// Unknown: a command uses, frees or donates a tensor that was never created or is already freed (core.ErrUnknownTensor), or uses a
	// program that is not defined (core.ErrNotFound).
	Unknown
	// Identity: a tensor is created with an id that NewIDs did not return, or that was used before. It wraps core.ErrProtocol.
	Identity
	// Invalid: a node does not pass op.Check or Capabilities.Check; a size, a type or a number of operands is wrong; an id is donated and
	// listed twice among the inputs. It wraps the error of these checks, core.ErrShape or core.ErrAttr.
	Invalid
	// Usage: a stream is called by two goroutines at once, a ticket is waited for twice, or a stream or event belongs to another backend.
	// It wraps core.ErrProtocol, core.ErrClosed or core.ErrAttr.
	Usage
	// Value: a node computes a NaN or an infinity from finite operands. It wraps core.ErrKernel.
	Value
	// Answer: the backend breaks the contract. Examples: it returns an error without a sentinel, returns an id twice, does not know a live
	// tensor, disputes its size, or does not call a release exactly once. It wraps core.ErrKernel, and the backend's error if there is one.
	Answer
	// Difference: the results of a node or a program differ from the results of a second backend: see Against and Audit. It wraps
	// core.ErrKernel.
	Difference
)

var kindNames = [...]string{Order: "order", Unknown: "unknown", Identity: "identity", Invalid: "invalid", Usage: "usage",
	Value: "value", Answer: "answer", Difference: "difference"}

// String prints "order", "unknown" and so on.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Fault is one finding. It is the error that a refused command returns.
type Fault struct {
	Kind Kind
	// Tensor is the id of the tensor concerned, 0 if there is none.
	Tensor op.TensorID
	// Command is the command at fault, as "add (command 7 of stream 1)". Streams are numbered from 0 in the order in which
	// they were opened on the backend, commands from 1.
	Command string
	// Other is the conflicting command, which created, used or freed the tensor; empty if there is none.
	Other string
	// Err says what was found and what was expected, and wraps a sentinel of core.
	Err error
}

// Error prints "verify: add (command 7 of stream 1): t4 is used ...".
func (f *Fault) Error() string {
	if f.Command == "" {
		return "verify: " + f.Err.Error()
	}
	return "verify: " + f.Command + ": " + f.Err.Error()
}

// Unwrap returns the cause, which wraps a sentinel of core.
func (f *Fault) Unwrap() error { return f.Err }

// maxFaults bounds what a Log keeps.
const maxFaults = 1000

// Log collects faults. The zero Log is empty. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	faults []*Fault
	count  int
}

// Add adds a fault. It keeps the first 1000 faults. Pass it to OnFault.
func (l *Log) Add(f *Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count++; len(l.faults) < maxFaults {
		l.faults = append(l.faults, f)
	}
}

// Report returns the faults that are kept, in the order in which they were found, and the total number of faults.
func (l *Log) Report() (faults []*Fault, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Fault(nil), l.faults...), l.count
}

// Leak counts the tensors and programs that are alive on a device when it is closed.
type Leak struct {
	Device   int // index of the device
	Tensors  int
	Programs int
	Bytes    int64 // bytes of the elements of the tensors
	// First describes up to eight of them, lowest ids first: "t4 f32[2] made by add (command 7 of stream 1)".
	First []string
}

// maxLeaks bounds Leak.First.
const maxLeaks = 8

// report passes faults to the option OnFault. The caller must not hold mu.
func (w *world) report(faults ...*Fault) {
	if w.onFault == nil {
		return
	}
	for _, f := range faults {
		w.onFault(f)
	}
}

// refuse reports a fault. It returns it as an error unless the option PassOn is set.
func (w *world) refuse(f *Fault) error {
	w.report(f)
	if w.passOn {
		return nil
	}
	return f
}

// blame reports a fault of the backend. If commands with faults are refused, it returns the fault in place of err.
func (w *world) blame(command string, id op.TensorID, err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	f := &Fault{Kind: Answer, Tensor: id, Command: command}
	if err == nil {
		f.Err = fmt.Errorf("%s: %w", what, core.ErrKernel)
	} else {
		f.Err = fmt.Errorf("%s: %w: %w", what, err, core.ErrKernel)
	}
	if w.refuse(f) == nil {
		return err
	}
	return f
}

// answer checks an error of the backend.
func (w *world) answer(command string, err error) error {
	if err == nil || slices.ContainsFunc(core.Sentinels(), func(s error) bool { return errors.Is(err, s) }) {
		return err
	}
	return w.blame(command, 0, err, "the error of the backend wraps no sentinel")
}
