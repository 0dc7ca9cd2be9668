package nn

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// RecurrentConfig holds the settings of Rnn, Gru and Lstm.
type RecurrentConfig struct {
	Layers        int // stacked layers; 0 means 1
	Bidirectional bool
	Dropout       float64 // between layers, in training
	TimeFirst     bool    // x is [T, B, in] instead of [B, T, in]
	NoBias        bool
	Relu          bool // for Rnn: relu instead of tanh
	Init          Init // by default uniform within ±1/√hidden
}

// RecurrentWeights are the parameters of a recurrent layer with PyTorch's names and layouts: weight_ih_l0[gates·hidden, in],
// weight_hh_l0[gates·hidden, hidden], bias_ih_l0 and bias_hh_l0, then _l1 and so on, with _reverse for the reverse direction. The
// gates are i, f, g, o in Lstm and r, z, n in Gru.
type RecurrentWeights map[string]*Param

// Recurrent holds the settings and parameters that the recurrent layers share.
type Recurrent struct {
	mode
	RecurrentWeights
	In, Hidden, Layers       int
	Bidirectional, TimeFirst bool
	Dropout                  float64
}

func newRecurrent(name string, d *tensor.Device, gates, in, hidden int, c RecurrentConfig) Recurrent {
	positive(name, in, hidden)
	r := Recurrent{RecurrentWeights: RecurrentWeights{}, In: in, Hidden: hidden, Layers: or(c.Layers, 1), Bidirectional: c.Bidirectional,
		TimeFirst: c.TimeFirst, Dropout: fraction(name, c.Dropout)}
	init := c.Init.or(fanIn(hidden))
	for l := range r.Layers {
		from := in
		if l > 0 {
			from = hidden * r.directions()
		}
		for way := range r.directions() {
			end := suffix(l, way)
			r.RecurrentWeights["weight_ih"+end] = NewParam(init.New(d, from, gates*hidden, gates*hidden, from))
			r.RecurrentWeights["weight_hh"+end] = NewParam(init.New(d, hidden, gates*hidden, gates*hidden, hidden))
			if !c.NoBias {
				r.RecurrentWeights["bias_ih"+end] = NewParam(init.New(d, hidden, gates*hidden, gates*hidden))
				r.RecurrentWeights["bias_hh"+end] = NewParam(init.New(d, hidden, gates*hidden, gates*hidden))
			}
		}
	}
	return r
}

func suffix(layer, way int) string {
	if way == 1 {
		return fmt.Sprintf("_l%d_reverse", layer)
	}
	return fmt.Sprintf("_l%d", layer)
}

func (r *Recurrent) directions() int {
	if r.Bidirectional {
		return 2
	}
	return 1
}

// gathered returns a layer's parameter of both directions as one tensor [ways, ...], with its gates in the given order; nil if
// the layer has none.
func (r *Recurrent) gathered(m *temps, name string, layer int, gates []int) *tensor.Tensor {
	var ways []*tensor.Tensor
	for way := range r.directions() {
		p := r.RecurrentWeights[name+suffix(layer, way)].get()
		if p == nil {
			return nil
		}
		var parts []*tensor.Tensor
		for _, g := range gates {
			parts = append(parts, m.of(p.Narrow(0, g*r.Hidden, r.Hidden)))
		}
		if len(parts) > 1 {
			p = m.of(tensor.Concat(0, parts...))
		}
		ways = append(ways, p)
	}
	if len(ways) == 1 {
		return m.of(ways[0].Unsqueeze(0))
	}
	return m.of(tensor.Stack(0, ways...))
}

// biases returns the biases of a layer, or zeros if it has none.
func (r *Recurrent) biases(m *temps, like *tensor.Tensor, layer int, gates []int) (ih, hh *tensor.Tensor) {
	if ih = r.gathered(m, "bias_ih", layer, gates); ih == nil {
		ih = m.of(like.Device().Zeros(like.DType(), r.directions(), max(1, len(gates))*r.Hidden))
		return ih, ih
	}
	return ih, r.gathered(m, "bias_hh", layer, gates)
}

// cell computes a layer on x[T, B, in] from its states [ways, B, hidden] and returns [T, ways, B, hidden] and the last states.
type cell func(m *temps, layer int, x *tensor.Tensor, states []*tensor.Tensor) (y *tensor.Tensor, last []*tensor.Tensor)

// run computes the layers on x. initial holds the states [layers·ways, B, hidden], or nil for zeros; last has the same shapes.
func (r *Recurrent) run(name string, x *tensor.Tensor, initial []*tensor.Tensor, f cell) (y *tensor.Tensor, last []*tensor.Tensor) {
	if x.Rank() != 3 || x.Shape()[2] != r.In {
		fail("%s: %v, want three dimensions, the last of %d: %w", name, x.Desc(), r.In, core.ErrShape)
	}
	m := keeping(append([]*tensor.Tensor{x}, initial...)...)
	for _, p := range r.RecurrentWeights {
		m.kept = append(m.kept, p.Value())
	}
	y = x
	if !r.TimeFirst {
		y = m.of(x.Transpose(0, 1))
	}
	steps, batch, ways := y.Shape()[0], y.Shape()[1], r.directions()
	lasts := make([][]*tensor.Tensor, len(initial))
	for layer := range r.Layers {
		states := make([]*tensor.Tensor, len(initial))
		for i, s := range initial {
			if s == nil {
				states[i] = m.of(x.Device().Zeros(x.DType(), ways, batch, r.Hidden))
			} else {
				states[i] = m.of(s.Narrow(0, layer*ways, ways))
			}
		}
		if layer > 0 && r.Dropout > 0 && !r.inference {
			y = m.of(y.Dropout(r.Dropout))
		}
		h, ends := f(m, layer, y, states)
		if m.of(h); ways > 1 {
			h = m.of(h.Permute(0, 2, 1, 3))
		}
		y = m.of(h.Reshape(steps, batch, ways*r.Hidden))
		for i, e := range ends {
			lasts[i] = append(lasts[i], m.of(e))
		}
	}
	if !r.TimeFirst {
		y = m.of(y.Transpose(0, 1))
	}
	for _, l := range lasts {
		s := l[0]
		if len(l) > 1 {
			s = m.of(tensor.Concat(0, l...))
		}
		last = append(last, m.own(s))
	}
	return m.done(y), last
}

func (r *Recurrent) options() tensor.RecurrentOptions {
	if r.Bidirectional {
		return tensor.RecurrentOptions{Direction: "bidirectional"}
	}
	return tensor.RecurrentOptions{}
}

// Rnn is the simple recurrent layer, h = tanh(W·x + U·h + b).
type Rnn struct {
	Recurrent
	Relu bool
}

// NewRnn returns a layer from in features to hidden.
func NewRnn(d *tensor.Device, in, hidden int, c RecurrentConfig) *Rnn {
	return &Rnn{newRecurrent("rnn", d, 1, in, hidden, c), c.Relu}
}

// Forward returns the states of the last layer [B, T, ways·hidden] ([T, B, ways·hidden] with TimeFirst), and the last state of each layer
// and direction [layers·ways, B, hidden]. h0 is the initial state [layers·ways, B, hidden], or nil for zeros.
func (l *Rnn) Forward(x, h0 *tensor.Tensor) (y, h *tensor.Tensor) {
	y, last := l.run("rnn", x, []*tensor.Tensor{h0}, func(m *temps, layer int, x *tensor.Tensor, s []*tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
		o := l.options()
		o.Relu = l.Relu
		bi, bh := l.biases(m, x, layer, nil)
		in := []*tensor.Tensor{x, l.gathered(m, "weight_ih", layer, nil), l.gathered(m, "weight_hh", layer, nil), m.of(bi.Add(bh)), s[0]}
		out := l.trained("rnn", in, 1, func(in []*tensor.Tensor) []*tensor.Tensor {
			y, h := in[0].RNN(in[1], in[2], in[3], in[4], o)
			return []*tensor.Tensor{y, h}
		}, rnnBack(l.Relu))
		return out[0], out[1:]
	})
	return y, last[0]
}

// Gru is the layer of gated recurrent units (Cho and others 2014), with the reset gate after the product, as in PyTorch.
type Gru struct{ Recurrent }

// NewGru returns a layer from in features to hidden.
func NewGru(d *tensor.Device, in, hidden int, c RecurrentConfig) *Gru {
	return &Gru{newRecurrent("gru", d, 3, in, hidden, c)}
}

// gruGates maps the contract's gates z, r and h to PyTorch's r, z, n.
var gruGates = []int{1, 0, 2}

// Forward is like Rnn.Forward.
func (l *Gru) Forward(x, h0 *tensor.Tensor) (y, h *tensor.Tensor) {
	y, last := l.run("gru", x, []*tensor.Tensor{h0}, func(m *temps, layer int, x *tensor.Tensor, s []*tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
		o := l.options()
		o.ResetAfter = true
		bi, bh := l.biases(m, x, layer, gruGates)
		in := []*tensor.Tensor{x, l.gathered(m, "weight_ih", layer, gruGates), l.gathered(m, "weight_hh", layer, gruGates), bi, bh, s[0]}
		out := l.trained("gru", in, 1, func(in []*tensor.Tensor) []*tensor.Tensor {
			y, h := in[0].GRU(in[1], in[2], in[3], in[4], in[5], o)
			return []*tensor.Tensor{y, h}
		}, gruBack)
		return out[0], out[1:]
	})
	return y, last[0]
}

// Lstm is the layer of long short-term memory (Hochreiter and Schmidhuber 1997).
type Lstm struct{ Recurrent }

// LstmState is the hidden state and the cell state, each [layers·ways, B, hidden], or nil for zeros.
type LstmState struct{ H, C *tensor.Tensor }

// NewLstm returns a layer from in features to hidden.
func NewLstm(d *tensor.Device, in, hidden int, c RecurrentConfig) *Lstm {
	return &Lstm{newRecurrent("lstm", d, 4, in, hidden, c)}
}

// lstmGates maps the contract's gates i, o, f and c to PyTorch's i, f, g, o.
var lstmGates = []int{0, 3, 1, 2}

// Forward is like Rnn.Forward, with a cell state in addition to the hidden state.
func (l *Lstm) Forward(x *tensor.Tensor, first LstmState) (y *tensor.Tensor, last LstmState) {
	y, ends := l.run("lstm", x, []*tensor.Tensor{first.H, first.C}, func(m *temps, layer int, x *tensor.Tensor, s []*tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
		bi, bh := l.biases(m, x, layer, lstmGates)
		in := []*tensor.Tensor{x, l.gathered(m, "weight_ih", layer, lstmGates), l.gathered(m, "weight_hh", layer, lstmGates), m.of(bi.Add(bh)), s[0], s[1]}
		out := l.trained("lstm", in, 2, func(in []*tensor.Tensor) []*tensor.Tensor {
			y, h, c := in[0].LSTM(in[1], in[2], in[3], in[4], in[5], l.options())
			return []*tensor.Tensor{y, h, c}
		}, lstmBack)
		return out[0], out[1:]
	})
	return y, LstmState{ends[0], ends[1]}
}
