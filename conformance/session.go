package conformance

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// session contains the open backend, and a device of it, for consecutive cases.
type session struct {
	options Options
	open    func() (core.Backend, error)
	backend core.Backend
	device  core.Device
	used    int // number of cases that have used the device
	report  *Report
	seeds   []uint64 // seeds of the run
	seed    uint64   // seed of the current case
	hangs   int
	*shared
	// made is the size of the tensors that the last case wrote or computed, in bytes. crowded: other cases have run on the device before.
	made    atomic.Int64
	crowded bool
}

// shared holds the state that sessions of one run have in common.
type shared struct {
	// accuracy collects the errors of all cases.
	accuracy accuracies
	// shrunk counts the failures that were shrunk.
	shrunk atomic.Int32
}

// casesPerDevice is the number of cases of ops that share a device, so that state left by one case can affect the next. A case of the
// contract has a separate device.
const casesPerDevice = 64

// ensure opens the backend and the device unless they are open.
func (s *session) ensure(ctx context.Context) error {
	if s.backend == nil {
		b, err := s.open()
		if err != nil {
			return fmt.Errorf("conformance: open the backend: %w", err)
		}
		s.backend = b
	}
	if s.device == nil {
		if n := len(s.backend.Info().Devices); s.options.Device < 0 || s.options.Device >= n {
			return fmt.Errorf("conformance: device %d of %d: %w", s.options.Device, n, core.ErrNotFound)
		}
		d, err := s.backend.Open(ctx, s.options.Device)
		if err != nil {
			return fmt.Errorf("conformance: open device %d: %w", s.options.Device, err)
		}
		s.device, s.used = d, 0
	}
	if s.report.Backend.Name == "" {
		s.report.Backend, s.report.Capabilities = s.backend.Info(), s.device.Capabilities()
	}
	return nil
}

// deviceFor closes the device of earlier cases if c must not use it, and opens a device if none is open.
func (s *session) deviceFor(ctx context.Context, c testCase) error {
	if alone := c.spec == nil; s.device != nil && (s.used >= casesPerDevice || alone && s.used > 0) {
		d := s.device
		s.device = nil
		s.shut(d.Close)
	}
	if err := s.ensureAnew(ctx); err != nil {
		return err
	}
	s.used++
	if c.spec == nil {
		s.used = casesPerDevice // no other case uses it afterwards
	}
	return nil
}

// ensureAnew is like ensure, for a backend whose loss may be unnoticed: if it was open and cannot open a device, it is opened again.
func (s *session) ensureAnew(ctx context.Context) error {
	before := s.backend != nil
	err := s.ensure(ctx)
	if err == nil || !before || ctx.Err() != nil {
		return err
	}
	s.close()
	return s.ensure(ctx)
}

// distrust closes the device after a case has failed on it, so that state that the case left cannot make another case fail.
func (s *session) distrust() {
	if d := s.device; d != nil {
		s.device = nil
		s.shut(d.Close)
	}
}

// closePatience is the time that a backend may take to close. After that it is abandoned.
const closePatience = 5 * time.Second

// close closes the backend. An error of Close after a case has broken the backend is ignored: the case has reported it.
func (s *session) close() {
	b := s.backend
	s.backend, s.device = nil, nil
	if b != nil {
		s.shut(b.Close)
	}
}

func (s *session) shut(closing func() error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_ = closing()
	}()
	within(done, min(closePatience, max(s.limit(), 100*time.Millisecond)))
}

// within waits for done at most for the given time.
func within(done <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// queue is the stream of one case, with its device and backend.
type queue struct {
	core.Stream
	dev     core.Device
	backend core.Backend
	options *Options
	open    func() (core.Backend, error)
	seed    uint64
	// test is the id of the case. accuracy collects the errors that it finds; nil: they are not collected.
	test     string
	accuracy *accuracies
	made     *atomic.Int64
}

// queue returns a queue for a case, without a stream. another opens one.
func (s *session) queue() *queue {
	return &queue{dev: s.device, backend: s.backend, options: &s.options, open: s.open, seed: s.seed, accuracy: &s.accuracy, made: &s.made}
}

// another opens a further stream of the device.
func (q *queue) another(ctx context.Context) (*queue, error) {
	st, err := q.dev.OpenStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	other := *q
	other.Stream = st
	return &other, nil
}

// apart opens the device once more, with a stream. The caller closes the device.
func (q *queue) apart(ctx context.Context) (*queue, error) {
	d, err := q.backend.Open(ctx, q.options.Device)
	if err != nil {
		return nil, fmt.Errorf("open the device: %w", err)
	}
	other := *q
	other.dev = d
	s, err := other.another(ctx)
	if err != nil {
		_ = d.Close() // the other error is the one to report
	}
	return s, err
}

func (q *queue) id() op.TensorID { return q.dev.NewIDs(1) }

func (q *queue) sync(ctx context.Context) error { return core.Sync(ctx, q.Stream) }

func (q *queue) free(ids []op.TensorID) error { return q.Submit(nil, ids) }

func (q *queue) read(ctx context.Context, id op.TensorID, dst []byte) error {
	return core.Read(ctx, q.Stream, id, dst)
}

// put writes t under a new id.
func (q *queue) put(ctx context.Context, t ref.Tensor) (op.Desc, error) {
	d := t.Desc
	d.ID = q.id()
	q.made.Add(int64(d.Bytes()))
	if err := q.Write(ctx, d, t.Bytes()); err != nil {
		return d, fmt.Errorf("write of %v: %w", d, err)
	}
	return d, nil
}

// get reads a tensor.
func (q *queue) get(ctx context.Context, d op.Desc) (ref.Tensor, error) {
	data := make([]byte, d.Bytes())
	for i := range data {
		data[i] = 0xa5 // detects a backend that writes nothing
	}
	if err := q.read(ctx, d.ID, data); err != nil {
		return ref.Tensor{}, err
	}
	return ref.FromBytes(d, data)
}

// do submits one node and returns its outputs.
func (q *queue) do(c op.Code, in []op.Desc, attrs ...op.Attr) ([]op.Desc, error) {
	n, err := op.New(c, in, attrs...)
	if err != nil {
		return nil, err
	}
	return q.submit(n)
}

// consume submits one node that drops its first operand.
func (q *queue) consume(c op.Code, in ...op.Desc) (op.Desc, error) {
	n, err := op.New(c, in)
	if err != nil {
		return op.Desc{}, err
	}
	n.Drop = 1
	outs, err := q.submit(n)
	if err != nil {
		return op.Desc{}, err
	}
	return outs[0], nil
}

// submit assigns ids to the outputs of n and submits it.
func (q *queue) submit(n op.Node) ([]op.Desc, error) {
	n.Outputs = q.renewed(n.Outputs)
	q.made.Add(int64(total(n.Outputs)))
	if err := q.Submit([]op.Node{n}, nil); err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	return n.Outputs, nil
}

// random returns the random generator of a case's values.
func (q *queue) random(id string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return rand.New(rand.NewPCG(q.seed, h.Sum64()))
}
