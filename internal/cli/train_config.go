package cli

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/tomlfile"
	"github.com/goburn/burn/optim/schedule"
)

// trainConfig holds the settings of a training run. Each task uses some of the sections.
type trainConfig struct {
	Epochs      int     `toml:"epochs" doc:"number of passes over the data"`
	Batch       int     `toml:"batch" doc:"items in a batch"`
	Seed        int     `toml:"seed" doc:"seed of weights, order and dropout; equal seeds make equal runs"`
	Rate        float64 `toml:"lr" doc:"greatest learning rate of the schedule"`
	Schedule    string  `toml:"schedule" doc:"constant, cosine (down to lr/100) or one-cycle"`
	WeightDecay float64 `toml:"weight_decay" doc:"weight decay of AdamW"`
	Clip        float64 `toml:"clip" doc:"greatest norm of all gradients together; 0: no limit"`
	Accumulate  int     `toml:"accumulate" doc:"batches per update, which uses their mean gradient"`
	Checkpoint  int     `toml:"checkpoint_every" doc:"updates between checkpoints within an epoch; 0: at its end only"`
	Keep        int     `toml:"checkpoint_keep" doc:"checkpoints to keep, in addition to the best"`
	Patience    int     `toml:"patience" doc:"epochs without a better validation loss after which training stops; 0: never"`
	NonFinite   int     `toml:"nan_patience" doc:"consecutive batches with a loss of NaN or Inf after which training fails; 0: never"`
	Export      string  `toml:"export" doc:"weights to test and export: best (least validation loss), last, or auto: best with patience, else last"`
	Precision   string  `toml:"precision" doc:"type of products: f32, bf16 or f16; weights and sums stay f32; f16 scales the loss"`
	Memory      string  `toml:"memory" doc:"results kept for the backward pass: all, balanced (less memory, more time), or a budget such as 512MiB"`
	ReadEvery   int     `toml:"read_every" doc:"batches between two reads of the metrics, which wait for the device"`

	Image *imageConfig `toml:"image,omitempty"`
	Text  *textModel   `toml:"text,omitempty"`
	Table *tableConfig `toml:"table,omitempty"`
}

type imageConfig struct {
	Channels []int   `toml:"channels" doc:"channels of the two convolutions"`
	Hidden   int     `toml:"hidden" doc:"features between the two linear layers"`
	Dropout  float64 `toml:"dropout" doc:"probability of dropout after each layer, in training"`
	Pool     string  `toml:"pool" doc:"pooling to 8x8 before the linear layers: avg or max"`
	Shift    int     `toml:"shift" doc:"greatest shift of training images, in pixels"`
	Mirror   bool    `toml:"mirror" doc:"whether half of the training images are mirrored"`
}

type textModel struct {
	Layers   int     `toml:"layers" doc:"layers of the transformer"`
	Size     int     `toml:"size" doc:"features of the transformer"`
	Heads    int     `toml:"heads" doc:"heads of attention"`
	Sequence int     `toml:"sequence" doc:"characters of the model's context"`
	Dropout  float64 `toml:"dropout" doc:"probability of dropout, in training"`
	Sample   int     `toml:"sample" doc:"characters of the sample at the end"`
}

type tableConfig struct {
	Target string `toml:"target" doc:"column to predict; all other columns of numbers are inputs"`
	Hidden []int  `toml:"hidden" doc:"features of the hidden layers"`
}

// read overrides c by the file. Unknown names are an error.
func (c *trainConfig) read(path string) error {
	b, err := tomlfile.Read(path, tomlfile.Settings.Bytes)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	had := [3]bool{c.Image != nil, c.Text != nil, c.Table != nil}
	meta, err := tomlfile.Decode(tomlfile.Settings, b, c)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return fmt.Errorf("%s: no setting is named %s; --print-config shows all%s", path, extra[0], nearest.Hint(extra[0].String(), slices.Collect(maps.Keys(settingDocs(c)))))
	}
	for i, is := range []bool{c.Image != nil, c.Text != nil, c.Table != nil} {
		if is && !had[i] {
			return fmt.Errorf("%s: section [%s] is of another task", path, []string{"image", "text", "table"}[i])
		}
	}
	return nil
}

func (c *trainConfig) check() error {
	switch {
	case c.Epochs < 1 || c.Batch < 1 || c.Accumulate < 1 || c.ReadEvery < 1:
		return fmt.Errorf("epochs %d, batch %d, accumulate %d, read_every %d: want 1 or more", c.Epochs, c.Batch, c.Accumulate, c.ReadEvery)
	case !(c.Rate > 0) || c.WeightDecay < 0 || c.Clip < 0:
		return fmt.Errorf("lr %v, weight_decay %v, clip %v: want lr above 0, the others 0 or more", c.Rate, c.WeightDecay, c.Clip)
	case c.Checkpoint < 0 || c.Keep < 1 || c.Patience < 0 || c.NonFinite < 0:
		return fmt.Errorf("checkpoint_every %d, checkpoint_keep %d, patience %d, nan_patience %d: want 0 or more, and 1 or more checkpoints", c.Checkpoint, c.Keep, c.Patience, c.NonFinite)
	}
	if c.Export != "auto" && c.Export != "best" && c.Export != "last" {
		return fmt.Errorf("export %q, want auto, best or last%s", c.Export, nearest.Hint(c.Export, []string{"auto", "best", "last"}))
	}
	if _, ok := precisions[c.Precision]; !ok {
		return fmt.Errorf("precision %q, want f32, bf16 or f16%s", c.Precision, nearest.Hint(c.Precision, slices.Collect(maps.Keys(precisions))))
	}
	if _, err := c.rates(1); err != nil {
		return err
	}
	if _, err := c.checkpointing(); err != nil {
		return err
	}
	if i := c.Image; i != nil && (len(i.Channels) != 2 || min(i.Channels[0], i.Channels[1], i.Hidden) < 1 || i.Shift < 0 || i.Shift > 8 || !share(i.Dropout) || i.Pool != "avg" && i.Pool != "max") {
		return fmt.Errorf("image: want two channels and hidden of 1 or more, shift of 0 to 8, dropout in [0, 1), pool avg or max, got %+v", *i)
	}
	if t := c.Text; t != nil && (min(t.Layers, t.Size, t.Heads, t.Sequence) < 1 || t.Size%t.Heads != 0 || t.Sample < 0 || !share(t.Dropout)) {
		return fmt.Errorf("text: want layers, size, heads and sequence of 1 or more, a size that heads divide, dropout in [0, 1), got %+v", *t)
	}
	if t := c.Table; t != nil {
		for _, n := range t.Hidden {
			if n < 1 {
				return fmt.Errorf("table: hidden %v, want 1 or more each", t.Hidden)
			}
		}
	}
	return nil
}

// precisions maps names to the types that products are computed in; the zero value means the type of the parameters.
var precisions = map[string]dtype.DType{"f32": dtype.Invalid, "bf16": dtype.BF16, "f16": dtype.F16}

func share(p float64) bool { return p >= 0 && p < 1 }

// rates returns the learning rate schedule for this number of updates.
func (c *trainConfig) rates(steps int) (schedule.Scheduler, error) {
	switch c.Schedule {
	case "constant":
		return schedule.Constant(c.Rate), nil
	case "cosine":
		return schedule.Cosine(c.Rate, c.Rate/100, max(steps, 1)), nil
	case "one-cycle":
		return schedule.OneCycle(c.Rate, max(steps, 1), schedule.OneCycleConfig{}), nil
	}
	return nil, fmt.Errorf("schedule %q, want constant, cosine or one-cycle%s", c.Schedule, nearest.Hint(c.Schedule, []string{"constant", "cosine", "one-cycle"}))
}

func (c *trainConfig) checkpointing() (autodiff.Checkpointing, error) {
	switch c.Memory {
	case "all":
		return autodiff.KeepAll, nil
	case "balanced":
		return autodiff.Balanced, nil
	}
	digits := strings.TrimRight(c.Memory, "KMGiB")
	n, err := strconv.ParseFloat(digits, 64)
	unit, ok := map[string]float64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[c.Memory[len(digits):]]
	if err != nil || !ok || !(n > 0) {
		return autodiff.KeepAll, fmt.Errorf("memory %q, want all, balanced or bytes such as 512MiB", c.Memory)
	}
	return autodiff.Budget(int64(n * unit)), nil
}

// text returns c as TOML, with comments.
func (c *trainConfig) text() []byte {
	var plain bytes.Buffer
	e := toml.NewEncoder(&plain)
	e.Indent = ""
	if err := e.Encode(c); err != nil {
		panic(fmt.Sprintf("cli: %v", err)) // numbers and texts can always be written
	}
	docs := settingDocs(c)
	var out bytes.Buffer
	section := ""
	for line := range strings.Lines(plain.String()) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]") + "."
		}
		key, _, _ := strings.Cut(line, " =")
		if doc := docs[section+key]; doc != "" {
			line = fmt.Sprintf("%-28s # %s", line, doc)
		}
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}
