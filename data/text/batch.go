package text

import (
	"fmt"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
)

// Padded is a batch of texts of different lengths.
type Padded struct {
	IDs     *tensor.Tensor // i64 [N, L], texts followed by padding
	KeyMask *tensor.Tensor // bool [N, L], true for tokens and false for padding, for nn.AttendOptions.KeyMask
	Lengths []int          // length of each text, after truncation
}

// Release releases the tensors.
func (p *Padded) Release() { p.IDs.Release(); p.KeyMask.Release() }

// Pad appends the id pad to texts up to the length of the longest text. If the limit most is positive, texts are first truncated to that
// number of tokens.
func Pad(dev *tensor.Device, texts [][]int64, pad int64, most int) (*Padded, error) {
	p := &Padded{Lengths: make([]int, len(texts))}
	long := 0
	for i, t := range texts {
		p.Lengths[i] = len(t)
		if most > 0 {
			p.Lengths[i] = min(len(t), most)
		}
		long = max(long, p.Lengths[i])
	}
	ids, mask := make([]int64, len(texts)*long), make([]bool, len(texts)*long)
	for i, t := range texts {
		row := ids[i*long : (i+1)*long]
		n := copy(row, t[:p.Lengths[i]])
		for k := range n {
			mask[i*long+k] = true
		}
		for k := n; k < long; k++ {
			row[k] = pad
		}
	}
	err := tensor.Try(func() {
		p.IDs = tensor.From(dev, ids, len(texts), long)
		p.KeyMask = tensor.From(dev, mask, len(texts), long)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Stream is a dataset of runs of a fixed number of tokens from one long text. Each item is a run, the input of a language model, and the
// run that starts one token later, its target.
type Stream struct {
	ids          []int64
	length, step int
}

// Next is an item of a Stream. Both slices are parts of the text and must not be changed.
type Next struct{ Input, Target []int64 }

var _ data.Dataset[Next] = (*Stream)(nil)

// NewStream returns the dataset of runs that start at tokens 0, step, 2·step, ...; it keeps ids.
func NewStream(ids []int64, length, step int) (*Stream, error) {
	if length < 1 || step < 1 {
		return nil, fmt.Errorf("text: stream of length %d and step %d, want 1 or more", length, step)
	}
	return &Stream{ids, length, step}, nil
}

// Len returns the number of whole runs.
func (s *Stream) Len() int {
	if n := len(s.ids) - 1 - s.length; n >= 0 {
		return n/s.step + 1
	}
	return 0
}

// Get returns run i.
func (s *Stream) Get(i int) (Next, error) {
	if err := data.Check(i, s.Len()); err != nil {
		return Next{}, err
	}
	at := i * s.step
	end := at + s.length
	return Next{s.ids[at:end:end], s.ids[at+1 : end+1 : end+1]}, nil
}
