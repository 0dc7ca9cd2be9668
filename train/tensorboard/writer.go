// Package tensorboard writes the events of training as event files, which `tensorboard --logdir DIR` shows. Values are plotted over steps:
// values of training batches under batch/, and values of epochs under epoch/. Each split is a separate run. It is a listener of package
// train, and must not influence training.
package tensorboard

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/train"
)

// flushEvery is the time after which the next event writes the data in memory to the files.
const flushEvery = 5 * time.Second

// Writer is a listener of one run. After the first error it writes nothing more; Close returns the error.
type Writer struct {
	dir     string
	files   map[train.Split]*file
	step    int // the first step of the run
	flushed time.Time
	err     error
}

// New returns a writer to dir. The folder is created when the first event is written.
func New(dir string) *Writer { return &Writer{dir: dir, files: map[train.Split]*file{}} }

// file is the event file of a split.
type file struct {
	f *os.File
	w *bufio.Writer
}

// count distinguishes files of one process that were started in the same second.
var count atomic.Int64

func create(dir string, at time.Time) (*file, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", at.Unix(), host, os.Getpid(), count.Add(1))
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return &file{f, bufio.NewWriter(f)}, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// write appends an event with scalars to the file of a split, which it creates if necessary.
func (w *Writer) write(s train.Split, at time.Time, step int, scalars []scalar) error {
	f := w.files[s]
	if f == nil {
		var err error
		if f, err = create(filepath.Join(w.dir, string(s)), at); err != nil {
			return err
		}
		w.files[s] = f
		if err := f.put(&event{wall: seconds(at), version: "brain.Event:2"}); err != nil {
			return err
		}
		if w.step > 0 { // a resumed run replaces later events of an earlier file
			if err := f.put(&event{wall: seconds(at), step: int64(w.step) + 1, started: true}); err != nil {
				return err
			}
		}
	}
	if len(scalars) == 0 {
		return nil
	}
	return f.put(&event{wall: seconds(at), step: int64(step), scalars: scalars})
}

func (f *file) put(e *event) error {
	_, err := f.w.Write(record(e.marshal()))
	return err
}

// Event writes the values of e, if it has any.
func (w *Writer) Event(e train.Event) {
	if w.err != nil {
		return
	}
	var err error
	switch e := e.(type) {
	case train.Started:
		w.step = e.Step
		err = w.close()
	case train.Stepped:
		if e.Fresh && e.Split == train.Train {
			err = w.write(e.Split, e.Time, e.Step, scalars("batch/", e.Readings, func(r train.Reading) float64 { return r.Last }))
		}
		if err == nil && e.Time.Sub(w.flushed) > flushEvery {
			w.flushed = e.Time
			err = w.flush()
		}
	case train.EpochEnded:
		err = w.write(e.Split, e.Time, e.Step, scalars("epoch/", e.Readings, func(r train.Reading) float64 { return r.Value }))
		if err == nil {
			err = w.flush()
		}
	case train.Ended:
		err = w.close()
	}
	if err != nil {
		w.err = fmt.Errorf("tensorboard: %w", err)
	}
}

// scalars returns the readings that are numbers.
func scalars(prefix string, list []train.Reading, value func(train.Reading) float64) []scalar {
	var out []scalar
	for _, r := range list {
		if v := value(r); !math.IsNaN(v) {
			out = append(out, scalar{prefix + r.Name, float32(v)})
		}
	}
	return out
}

func (w *Writer) flush() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.w.Flush())
	}
	return errors.Join(errs...)
}

func (w *Writer) close() error {
	err := w.flush()
	for s, f := range w.files {
		err = errors.Join(err, f.f.Close())
		delete(w.files, s)
	}
	return err
}

// Close closes the files, unless the end of training has closed them, and returns the first error.
func (w *Writer) Close() error {
	if err := w.close(); err != nil && w.err == nil {
		w.err = fmt.Errorf("tensorboard: %w", err)
	}
	return w.err
}
