package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// lagging is a driver of asynchronous queues: Execute only appends work, which a goroutine does later. Log fails there.
type lagging struct {
	*driver
	checked bool          // queues report which command failed
	gate    chan struct{} // if not nil, each node receives from it before it is computed
}

func (l *lagging) Open(ctx context.Context, i int) (engine.Device[*buffer], error) {
	d, err := l.driver.Open(ctx, i)
	return lagDevice{d.(*device), l}, err
}

type lagDevice struct {
	*device
	l *lagging
}

func (d lagDevice) Upload(op.Desc, []byte) (*buffer, error) {
	panic("Upload of an asynchronous device")
}

func (d lagDevice) Download([]byte, op.Desc, *buffer) error {
	panic("Download of an asynchronous device")
}

func (d lagDevice) OpenQueue() (engine.Queue[*buffer], error) {
	q := &lagQueue{d: d, ended: make(chan struct{})}
	q.more = sync.NewCond(&q.mu)
	go q.run()
	if d.l.checked {
		return checkedQueue{q}, nil
	}
	return q, nil
}

type lagQueue struct {
	d      lagDevice
	failed error  // since the last mark; the goroutine's
	last   *error // of the command that was started last

	mu    sync.Mutex
	more  *sync.Cond
	work  []func() // nil ends the goroutine
	ended chan struct{}
}

func (q *lagQueue) run() {
	defer close(q.ended)
	for {
		q.mu.Lock()
		for len(q.work) == 0 {
			q.more.Wait()
		}
		f := q.work[0]
		q.work = q.work[1:]
		q.mu.Unlock()
		if f == nil {
			return
		}
		f()
	}
}

func (q *lagQueue) later(f func()) {
	q.mu.Lock()
	q.work = append(q.work, f)
	q.mu.Unlock()
	q.more.Signal()
}

func (q *lagQueue) Close() {
	q.later(nil)
	<-q.ended
}

func (q *lagQueue) Execute(c *engine.Call[*buffer]) error {
	code, in := c.Node.Op, append([]*buffer(nil), c.In...)
	if code == op.Tan {
		panic("planted")
	}
	for i, b := range in {
		if b.released.Load() {
			return fmt.Errorf("operand %d was released: %w", i, core.ErrKernel)
		}
	}
	var out *buffer
	if c.Owned&1 != 0 {
		out = c.Take(0)
	} else {
		var err error
		if out, err = q.d.d.make(len(in[0].data)); err != nil {
			return err
		}
	}
	c.Out[0] = out
	result := new(error)
	q.last = result
	q.later(func() {
		if q.d.l.gate != nil {
			<-q.d.l.gate
		}
		if code == op.Log {
			if *result = core.ErrIndex; !q.d.l.checked { // else a mark reports the loss of the device alone
				q.failed = *result
			}
		}
		for i, f := range in[0].data {
			switch code {
			case op.Neg:
				f = -f
			case op.Add:
				f += in[1].data[i]
			}
			out.data[i] = f
		}
	})
	return nil
}

type lagMark struct {
	reached chan struct{}
	err     error
}

func (m *lagMark) Wait() error {
	<-m.reached
	return m.err
}

func (q *lagQueue) Record() (engine.Mark, error) {
	m := &lagMark{reached: make(chan struct{})}
	q.later(func() {
		m.err, q.failed = q.failed, nil
		close(m.reached)
	})
	return m, nil
}

func (q *lagQueue) Await(m engine.Mark) error {
	q.later(func() { <-m.(*lagMark).reached })
	return nil
}

func (q *lagQueue) Enqueue(d op.Desc, data []byte, done func()) (*buffer, error) {
	b, err := q.d.d.make(d.Shape.Size())
	if err != nil {
		return nil, err
	}
	q.later(func() {
		for i := range b.data {
			b.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		done()
	})
	return b, nil
}

func (q *lagQueue) Fetch(dst []byte, _ op.Desc, b *buffer) error {
	q.later(func() { copy(dst, bytesOf(b.data...)) })
	return nil
}

type checkedQueue struct{ *lagQueue }

func (q checkedQueue) Check() func() error {
	result := q.last
	return func() error { return *result }
}

func engineOfLate(d *driver) core.Backend {
	return engine.New[*buffer](&lagging{driver: d, checked: true})
}

func openLagging(t *testing.T, l *lagging) *rig {
	b := engine.New[*buffer](l)
	dev, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := dev.OpenStream(t.Context())
	require.NoError(t, err)
	return &rig{t, l.driver, b, dev, s}
}

// TestRandomCommandsLate is TestRandomCommands on asynchronous queues, which fail nodes long after they were started.
func TestRandomCommandsLate(t *testing.T) {
	for seed := range rounds(48) {
		play(openLagging(t, &lagging{driver: new(driver), checked: true}), seed, true)
	}
}

// nodeError returns the error of a read, which must name a node or a program.
func (r *rig) nodeError(d op.Desc) *core.NodeError {
	r.t.Helper()
	_, err := values(r.stream, d)
	require.ErrorIs(r.t, err, core.ErrIndex)
	var n *core.NodeError
	require.ErrorAs(r.t, err, &n)
	return n
}

// TestSuspects checks that the failure of a queue that does not report the failed command poisons the commands between two marks, and
// no others, and that the error names an op only if a single node can have failed.
func TestSuspects(t *testing.T) {
	r := openLagging(t, &lagging{driver: new(driver)})
	x := r.put(1, 2)
	before := r.do(op.Neg, 0, x)
	require.NoError(t, core.Sync(t.Context(), r.stream)) // a mark
	beside := r.do(op.Neg, 0, x)
	bad := r.do(op.Log, 0, x)
	require.Empty(t, r.nodeError(bad).Op, "two nodes are possible")
	require.Empty(t, r.nodeError(beside).Op)
	r.holds(before, -1, -2)
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	require.NoError(t, core.Sync(t.Context(), r.stream), "it was reported")

	alone := r.do(op.Log, 0, x)
	n := r.nodeError(alone)
	require.Equal(t, "log", n.Op)
	require.Equal(t, alone.ID, n.Outputs[0].ID)
	after := r.do(op.Add, 0, alone, before)
	require.Equal(t, "log", r.nodeError(after).Op, "it passes on the error of its operand")
	r.holds(r.do(op.Add, 0, before, x), 0, 0)
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	r.closed()
}

// TestCheckedFailure checks that with a queue that reports which command failed, only its dependents fail, on other streams too, however
// many commands and marks are in between.
func TestCheckedFailure(t *testing.T) {
	r := openLagging(t, &lagging{driver: new(driver), checked: true})
	other, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	x := r.put(1, 2)
	bad := r.do(op.Log, 0, x)
	good := x
	for range 5000 { // more than the stream keeps unsettled
		good = r.do(op.Neg, 1, r.do(op.Copy, 0, good))
	}
	sum := r.do(op.Add, 0, good, bad)
	require.NoError(t, other.Wait(r.stream.Signal()))
	far, near := r.node(op.Neg, 0, sum), r.node(op.Neg, 0, good)
	require.NoError(t, other.Submit([]op.Node{far, near}, nil))
	got, err := values(other, near.Outputs[0])
	require.NoError(t, err)
	require.Equal(t, []float32{-1, -2}, got)
	_, err = values(other, far.Outputs[0])
	require.ErrorIs(t, err, core.ErrIndex)
	require.NoError(t, core.Sync(t.Context(), other), "the failure is of the first stream")
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	require.Equal(t, "log", r.nodeError(bad).Op)
	r.closed()
}

// TestCancelWhileDeviceWorks checks that canceled waits return although the device is busy, and that the commands continue.
func TestCancelWhileDeviceWorks(t *testing.T) {
	gate := make(chan struct{})
	r := openLagging(t, &lagging{driver: new(driver), checked: true, gate: gate})
	x := r.put(1, 2)
	y := r.do(op.Neg, 0, x)
	read, event := r.stream.Read(y.ID, make([]byte, 8)), r.stream.Signal()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	within(t, "canceled waits", func() {
		require.ErrorIs(t, event.Wait(ctx), core.ErrCanceled)
		require.ErrorIs(t, read.Wait(ctx), core.ErrCanceled)
	})
	close(gate)
	require.NoError(t, event.Wait(t.Context()))
	r.holds(y, -1, -2)
	r.closed()
}

// TestCloseWhileDeviceWorks checks that closing waits for the commands that were started, and that every value is released once.
func TestCloseWhileDeviceWorks(t *testing.T) {
	gate := make(chan struct{})
	r := openLagging(t, &lagging{driver: new(driver), gate: gate})
	x := r.put(1, 2)
	for range 10 {
		x = r.do(op.Neg, 1, x)
	}
	open := r.stream.Read(x.ID, make([]byte, 8))
	go func() {
		time.Sleep(10 * time.Millisecond)
		close(gate)
	}()
	within(t, "Close", r.closed)
	err := open.Wait(t.Context())
	require.True(t, err == nil || errors.Is(err, core.ErrClosed), "%v", err)
}

// TestProgramsLate checks that the error of a run that fails late names its program, and that a run passes on the error of its input.
func TestProgramsLate(t *testing.T) {
	r := openLagging(t, &lagging{driver: new(driver), checked: true})
	programs, id := r.double()
	x := r.put(1, 2)
	outs := []op.TensorID{r.dev.NewIDs(1), r.dev.NewIDs(1)}
	require.NoError(t, programs.Run(r.stream, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Outputs: outs}))
	r.holds(vector(outs[0], 2), 98, 196)
	bad := r.do(op.Log, 0, x)
	late := []op.TensorID{r.dev.NewIDs(1), r.dev.NewIDs(1)}
	require.NoError(t, programs.Run(r.stream, core.Run{Program: id, Inputs: []op.TensorID{bad.ID}, Outputs: late}))
	require.Equal(t, "log", r.nodeError(vector(late[1], 2)).Op)

	b := op.NewBuilder(func() op.TensorID { return 9 })
	y := b.Do(op.Log, vector(1, 2))
	require.NoError(t, b.Err())
	failing, err := programs.Define(t.Context(), r.stream, &program.Program{Name: "failing", Inputs: []op.Desc{vector(1, 2)}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}, nil)
	require.NoError(t, err)
	out := r.dev.NewIDs(1)
	require.NoError(t, programs.Run(r.stream, core.Run{Program: failing, Inputs: []op.TensorID{x.ID}, Outputs: []op.TensorID{out}}))
	n := r.nodeError(vector(out, 2))
	require.Equal(t, "failing", n.Program)
	require.Equal(t, out, n.Outputs[0].ID)
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	r.closed()
}

// TestFirstOfLateFailures checks that an event reports the failure of the earliest command, also if the queue reports it after the
// stream has refused many later commands.
func TestFirstOfLateFailures(t *testing.T) {
	for _, later := range []int{1, 100} {
		r := openLagging(t, &lagging{driver: new(driver), checked: true})
		x := r.put(1, 2)
		bad := r.do(op.Log, 0, x)
		for range later {
			r.do(op.Neg, 0, vector(r.dev.NewIDs(1), 2)) // of a tensor that does not exist
		}
		err := core.Sync(t.Context(), r.stream)
		var n *core.NodeError
		require.ErrorAs(t, err, &n)
		require.Equal(t, "log", n.Op, "of %d failures", later+1)
		require.Equal(t, bad.ID, n.Outputs[0].ID)
		require.NoError(t, core.Sync(t.Context(), r.stream))
		r.closed()
	}
}
