package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/data/text"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// The keys of the metadata in a record of burn train text, beside the task.
const (
	textShapeKey      = "text"       // textModel as JSON
	textVocabularyKey = "vocabulary" // text.Vocabulary as JSON
)

func aboutText(c *textModel, vocabulary []byte) (map[string]string, error) {
	shape, err := json.Marshal(c)
	return map[string]string{textShapeKey: string(shape), textVocabularyKey: string(vocabulary)}, err
}

// textWriter writes text with a model.
type textWriter struct {
	net      *charNet
	alphabet *text.Pieces
	window   int // characters that the model sees
	sampler  *sampler
}

// start returns the ids that a text without a prompt continues: a line break, or the first character of the alphabet.
func start(alphabet *text.Pieces) []int64 {
	if ids := alphabet.Encode("\n"); len(ids) > 0 {
		return ids
	}
	return []int64{0}
}

// write continues ids by count characters, or up to a stop text, and passes them to emit as they are generated. The stop text is
// not emitted. Until the window is full, each character costs one position of the model; after that it costs the whole window, as
// all positions move.
func (w *textWriter) write(ctx context.Context, ids []int64, count int, stops []string, emit func(string) error) error {
	ids = append([]int64(nil), ids...)
	var cache nn.EncoderCache
	defer cache.Reset()
	out := stopper{stops: stops, emit: emit}
	for range count {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		scores, err := w.next(ctx, &cache, ids)
		if err != nil {
			return err
		}
		id := int64(w.sampler.draw(scores))
		piece, err := w.alphabet.Vocabulary().Piece(id)
		if err != nil {
			return err
		}
		ids = append(ids[max(0, len(ids)-w.window):], id)
		if done, err := out.add(piece); done || err != nil {
			return err
		}
	}
	return out.end()
}

// next returns the scores [characters] of the character that follows ids. The cache contains the positions of a prefix of ids, at first none.
func (w *textWriter) next(ctx context.Context, cache *nn.EncoderCache, ids []int64) (scores []float32, err error) {
	terr := tensor.Try(func() {
		tensor.NoGrad(w.net.Head.Weight.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
			c, seen := cache, ids
			if len(ids) > w.window {
				cache.Reset()
				c, seen = nil, ids[len(ids)-w.window:]
			} else {
				seen = ids[cache.Len():]
			}
			scores, err = tensor.DataAs[float32](ctx, w.net.after(c, tensor.From(d, seen, 1, len(seen))).Select(1, -1))
			return nil
		})
	})
	return scores, errors.Join(terr, err)
}

// stopper passes a text on, piece by piece, up to the first stop text. It holds back text that may be the beginning of a stop text.
type stopper struct {
	stops []string
	emit  func(string) error
	held  string
}

func (s *stopper) add(piece string) (done bool, err error) {
	s.held += piece
	for _, stop := range s.stops {
		if before, _, found := strings.Cut(s.held, stop); found {
			s.held = ""
			return true, s.pass(before)
		}
	}
	keep := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.held)); n > keep; n-- {
			if strings.HasSuffix(s.held, stop[:n]) {
				keep = n
			}
		}
	}
	ready := s.held[:len(s.held)-keep]
	s.held = s.held[len(ready):]
	return false, s.pass(ready)
}

// end passes on the text held back.
func (s *stopper) end() error { return s.pass(s.held) }

func (s *stopper) pass(text string) error {
	if text == "" {
		return nil
	}
	return s.emit(text)
}

// textFile is the description of a model of burn train text that its file contains.
type textFile struct {
	path     string
	shape    textModel
	alphabet *text.Pieces
}

// openTextFile reads the description in a record: path is the file, or the folder of a run.
func openTextFile(path string) (*textFile, error) {
	refuse := func(format string, args ...any) error {
		return &exitError{exitModel, fmt.Errorf("%s: %w; want model.burn as burn train text writes it, or the folder of the run", path, fmt.Errorf(format, args...))}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		inside := filepath.Join(path, "model.burn")
		if _, err := os.Stat(inside); err != nil {
			return nil, refuse("a folder without model.burn")
		}
		path = inside
	}
	r, err := record.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usage("%s: no such file; burn train text creates a model", path)
	case err != nil && errors.Is(err, record.ErrCorrupt):
		if what := foreign(path); what != "" {
			return nil, refuse("%s", what)
		}
		if filepath.Ext(path) == ".onnx" {
			return nil, refuse("an ONNX model, which burn run takes")
		}
		return nil, refuse("no record of burn, or a damaged one: %w", err)
	case err != nil:
		return nil, &exitError{exitModel, err}
	}
	defer r.Close()
	meta := r.Metadata()
	if task := meta["task"]; task != "text" {
		if task == "" {
			return nil, refuse("a record that names no task")
		}
		return nil, refuse("a model of burn train %s", task)
	}
	if meta[textShapeKey] == "" || meta[textVocabularyKey] == "" {
		return nil, refuse("the record lacks its layers and characters: it is of an earlier version; burn train text --resume rewrites it")
	}
	f := &textFile{path: path}
	if err := json.Unmarshal([]byte(meta[textShapeKey]), &f.shape); err != nil {
		return nil, refuse("its layers: %w", err)
	}
	var v text.Vocabulary
	if err := v.UnmarshalJSON([]byte(meta[textVocabularyKey])); err != nil {
		return nil, refuse("its characters: %w", err)
	}
	f.alphabet = text.Chars(&v)
	if err := f.check(r); err != nil {
		return nil, refuse("%w", err)
	}
	return f, nil
}

// check compares the description in the record with its tensors, before memory is allocated for them.
func (f *textFile) check(r *record.Reader) error {
	c := trainConfig{Epochs: 1, Batch: 1, Accumulate: 1, ReadEvery: 1, Rate: 1, Schedule: "constant", Keep: 1, Export: "auto", Precision: "f32", Memory: "all", Text: &f.shape}
	if err := c.check(); err != nil {
		return err
	}
	dims := map[string][]int{}
	layers := map[string]bool{}
	for _, i := range r.Infos() {
		dims[i.Name] = i.Shape
		if rest, ok := strings.CutPrefix(i.Name, "encoder.layers."); ok {
			n, _, _ := strings.Cut(rest, ".")
			layers[n] = true
		}
	}
	for name, want := range map[string][]int{"embed.weight": {f.alphabet.Size(), f.shape.Size}, "places.weight": {f.shape.Sequence, f.shape.Size}} {
		if got := dims[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%s is %v, and the record says %v", name, got, want)
		}
	}
	if len(layers) != f.shape.Layers {
		return fmt.Errorf("%d layers, and the record says %d", len(layers), f.shape.Layers)
	}
	return nil
}

// load loads the model onto a device.
func (f *textFile) load(ctx context.Context, dev *tensor.Device) (net *charNet, err error) {
	if terr := tensor.Try(func() { net = newCharNet(dev, &f.shape, f.alphabet.Size()) }); terr != nil {
		return nil, terr
	}
	if _, err := record.LoadModule(ctx, f.path, net, nn.LoadOptions{}); err != nil {
		if errors.Is(err, record.ErrCorrupt) {
			return nil, &exitError{exitModel, err}
		}
		return nil, err
	}
	nn.Eval(net)
	return net, nil
}
