package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/checkpoint"
	"github.com/goburn/burn/train/metric"
)

// The files of a snapshot.
const (
	modelFile     = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
)

// state is the part of a snapshot that does not consist of tensors.
type state struct {
	Epoch    int                        `json:"epoch"` // current epoch, from 0
	Phase    Split                      `json:"phase"` // phase of the epoch that comes next
	Midst    bool                       `json:"midst"` // in the middle of the training split
	Step     int                        `json:"step"`
	Train    data.Position              `json:"train"`
	Valid    *data.Position             `json:"valid,omitempty"`
	Random   tensor.Random              `json:"random"`
	Replicas []standing                 `json:"replicas,omitempty"`
	Rate     map[string]Number          `json:"rate"`
	Scaling  *optim.Scaling             `json:"scaling,omitempty"` // loss scale in F16
	Metrics  map[string]json.RawMessage `json:"metrics,omitempty"` // unfinished sums of the metrics of training, by name
	History  History                    `json:"history"`
}

// standing is the state of a replica: the position of its loader, and of its random generator.
type standing struct {
	Train  data.Position `json:"train"`
	Random tensor.Random `json:"random"`
}

func numbers(m map[string]float64) map[string]Number {
	out := make(map[string]Number, len(m))
	for k, v := range m {
		out[k] = Number(v)
	}
	return out
}

func floats(m map[string]Number) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		out[k] = float64(v)
	}
	return out
}

// save waits for the device, takes a snapshot and starts writing it. It does not wait for the write. A failed write is reported
// by the event Saved and is no error here. While the loss is not finite nothing is written, so that the last good checkpoint is
// kept; a parameter that is not finite is an error.
func (r *run[M, B]) save(best bool) error {
	if r.patience() > 0 && r.diverged.row > 0 {
		return nil
	}
	if err := r.checkParams(); err != nil || r.store == nil {
		return err
	}
	s, err := r.snapshot()
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	_ = r.store.Save(s, best)
	return nil
}

func (r *run[M, B]) snapshot() (*checkpoint.Snapshot, error) {
	p := r.parts
	s := &checkpoint.Snapshot{Step: r.step, Files: map[string][]byte{}}
	var err error
	if s.Files[modelFile], err = serialize(r.hard, nn.StateDict(p.Model), nil); err != nil {
		return nil, err
	}
	kept := p.Optimizer.State()
	defer kept.Release()
	if s.Files[optimizerFile], err = serialize(r.hard, kept.Entries(), kept.Metadata()); err != nil {
		return nil, err
	}
	at := p.Train.Position()
	st := state{Epoch: r.epoch, Phase: r.phase, Midst: r.phase == Train && at.Epoch == r.epoch && at.Batch > 0, Step: r.step, Train: at,
		Random: p.Device.Random(), Rate: numbers(p.Rate.State()), History: r.history}
	if r.scaler != nil {
		at, err := r.scaler.Scaling(r.hard)
		if err != nil {
			return nil, err
		}
		st.Scaling = &at
	}
	if p.Valid != nil {
		v := p.Valid.Position()
		st.Valid = &v
	}
	for _, x := range p.Replicas {
		st.Replicas = append(st.Replicas, standing{x.Train.Position(), x.Device.Random()})
	}
	if st.Midst {
		st.Metrics = map[string]json.RawMessage{}
		for _, m := range r.train.metrics {
			if x, ok := m.(metric.Stateful); ok {
				b, err := json.Marshal(x.State())
				if err != nil {
					return nil, fmt.Errorf("metric %s: %w", m.Info().Name, err)
				}
				st.Metrics[m.Info().Name] = b
			}
		}
	}
	s.Files[stateFile], err = json.MarshalIndent(st, "", "\t")
	return s, err
}

// serialize returns the content of a safetensors file with the given tensors and metadata.
func serialize(ctx context.Context, entries []nn.Entry, metadata map[string]string) ([]byte, error) {
	size := 1 << 16 // for the header
	for _, e := range entries {
		size += e.Tensor.Desc().Bytes()
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	err := record.Write(ctx, b, entries, record.Options{Format: record.Safetensors, Metadata: metadata})
	return b.Bytes(), err
}

// restore restores the parts from the newest intact checkpoint. If there is none they stay unchanged.
func (r *run[M, B]) restore() error {
	if err := r.store.Wait(); err != nil {
		r.warn("the last checkpoint was not written: %v", err)
	}
	s, damaged, err := r.store.Latest()
	if errors.Is(err, checkpoint.ErrNone) && len(damaged) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	for _, d := range damaged {
		r.warn("%v; going on from step %d before it", d, s.Step)
	}
	if err := r.apply(s); err != nil {
		return fmt.Errorf("train: resume from step %d: %w", s.Step, err)
	}
	return nil
}

func (r *run[M, B]) apply(s *checkpoint.Snapshot) error {
	var st state
	if err := json.Unmarshal(s.Files[stateFile], &st); err != nil {
		return err
	}
	p := r.parts
	if len(st.Replicas) != len(p.Replicas) {
		return fmt.Errorf("the checkpoint is of %d devices, want %d: open as many", len(st.Replicas)+1, len(p.Replicas)+1)
	}
	if err := loadModel(r.hard, p.Model, s); err != nil {
		return err
	}
	file, err := record.Parse(s.Files[optimizerFile])
	if err != nil {
		return err
	}
	kept, err := optim.ReadState(r.hard, p.Device, file, file.Metadata())
	if err != nil {
		return err
	}
	defer kept.Release()
	if err := p.Optimizer.Restore(kept); err != nil {
		return err
	}
	if err := p.Rate.Restore(floats(st.Rate)); err != nil {
		return err
	}
	if err := p.Train.Seek(st.Train); err != nil {
		return err
	}
	if p.Valid != nil && st.Valid != nil {
		if err := p.Valid.Seek(*st.Valid); err != nil {
			return err
		}
	}
	if r.scaler != nil && st.Scaling != nil {
		r.scaler.Restore(*st.Scaling)
	}
	p.Device.SetRandom(st.Random)
	for i, x := range st.Replicas {
		if err := p.Replicas[i].Train.Seek(x.Train); err != nil {
			return err
		}
		p.Replicas[i].Device.SetRandom(x.Random)
	}
	r.epoch, r.phase, r.step, r.history, r.resumed = st.Epoch, st.Phase, st.Step, st.History, st.Midst
	r.rate = p.Rate.Rate()
	if st.Midst {
		for _, m := range r.train.metrics {
			m.Reset()
			x, ok := m.(metric.Stateful)
			if b := st.Metrics[m.Info().Name]; ok && b != nil {
				if err := json.Unmarshal(b, x.State()); err != nil {
					return fmt.Errorf("metric %s: %w", m.Info().Name, err)
				}
			}
		}
	}
	return nil
}

// LoadBest loads the parameters of the best checkpoint in Dir into the model of p, and returns the record by which
// Checkpoints.Best selected it. If there is none the error wraps checkpoint.ErrNone.
func (l *Learner[M, B]) LoadBest(ctx context.Context, p *Parts[M, B]) (Record, error) {
	if ctx == nil {
		return Record{}, fmt.Errorf("train: the context is nil: %w", core.ErrAttr)
	}
	if err := p.check(); err != nil {
		return Record{}, err
	}
	if l.Dir == "" {
		return Record{}, fmt.Errorf("train: the best checkpoint: the learner has no Dir: %w", checkpoint.ErrNone)
	}
	store, err := checkpoint.Open(l.checkpointDir(), -1, nil)
	if err != nil {
		return Record{}, err
	}
	s, err := store.Best()
	if err != nil {
		return Record{}, err
	}
	var st state
	if err := json.Unmarshal(s.Files[stateFile], &st); err != nil {
		return Record{}, fmt.Errorf("train: the best checkpoint: %w", err)
	}
	w := l.Checkpoints.Best.in(p.Valid != nil)
	d, err := l.direction(w)
	if err != nil {
		return Record{}, err
	}
	best, ok := st.History.Best(w, d)
	if !ok {
		return Record{}, fmt.Errorf("train: the best checkpoint, of step %d, has no %v: %w", st.Step, w, checkpoint.ErrNone)
	}
	return best, loadModel(ctx, p.Model, s)
}

func loadModel(ctx context.Context, m any, s *checkpoint.Snapshot) error {
	file, err := record.Parse(s.Files[modelFile])
	if err != nil {
		return err
	}
	_, err = nn.LoadStateDict(ctx, m, file, nn.LoadOptions{})
	return err
}
