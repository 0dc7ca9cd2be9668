package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/goburn/burn/data/text"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/tensor"
	"github.com/spf13/cobra"
)

// generateFlags are the flags of burn generate.
type generateFlags struct {
	prompt      string
	length      int
	stops       []string
	temperature float64
	topK        int
	topP        float64
	seed        int64
	verbose     bool
}

func (a *app) generateCommand() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate MODEL",
		Short: "Generate text with a model of burn train text",
		Long: `Generate text with a model of burn train text, and print each character as it is drawn. MODEL is model.burn, or the folder of the
run. The prompt is printed too; without one, a text begins after a line break.

Each character is drawn with the probability that the model computes. --temperature changes the probabilities: values below 1 favour likely
characters, values above 1 favour unlikely ones, and 0 always selects the most likely one. --top-k and then --top-p keep only the most
likely characters. Equal seeds generate equal texts on the same device; without --seed each text differs.

The context of the model has the length of its training. Within it, earlier results are kept and each character costs
one step; beyond it, each character costs the whole context. An interrupt ends the text.

` + exitHelp,
		Example: `  burn train text --data shakespeare.txt
  burn generate runs/text --prompt "ROMEO:" --length 300 --temperature 0.8 --seed 7
  burn generate runs/text/model.burn --top-k 10 --top-p 0.9 --stop "\n\n"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if !cmd.Flags().Changed("seed") {
				f.seed = int64(rand.Uint32())
			}
			if f.prompt == "-" {
				b, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxPrompt+1))
				if err != nil {
					return fmt.Errorf("--prompt: %w", err)
				}
				if len(b) > maxPrompt {
					return usage("--prompt: standard input has more than %d bytes", maxPrompt)
				}
				f.prompt = string(b)
			}
			return a.generate(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.prompt, "prompt", "", "`TEXT` to continue; - reads it from standard input")
	fl.IntVar(&f.length, "length", 500, "at most `N` characters")
	fl.StringArrayVar(&f.stops, "stop", nil, "`TEXT` that ends the text and is not printed, with \\n for a line break; may be repeated")
	fl.Float64Var(&f.temperature, "temperature", 1, "`VALUE` by which scores are divided; 0 selects the most likely character")
	fl.IntVar(&f.topK, "top-k", 0, "draw only from the `K` most likely characters; 0 for all")
	fl.Float64Var(&f.topP, "top-p", 1, "draw only from the most likely characters whose probabilities add up to `P`")
	fl.Int64Var(&f.seed, "seed", 0, "seed `N` of the random numbers (default: a new one each time)")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "report device, seed and speed on stderr")
	a.deviceFlags(cmd)
	return cmd
}

// maxPrompt is the greatest size of a prompt on standard input, in bytes.
const maxPrompt = 1 << 20

func (f *generateFlags) check() error {
	switch {
	case f.length < 1 || f.length > 1<<30:
		return usage("--length: want 1 to %d, got %d", 1<<30, f.length)
	case !(f.temperature >= 0) || math.IsInf(f.temperature, 0):
		return usage("--temperature: want 0 or more, got %v", f.temperature)
	case f.topK < 0:
		return usage("--top-k: want 0 for all, or more, got %d", f.topK)
	case !(f.topP > 0 && f.topP <= 1):
		return usage("--top-p: want above 0 and up to 1, got %v", f.topP)
	}
	for i, s := range f.stops {
		if f.stops[i] = strings.ReplaceAll(s, `\n`, "\n"); s == "" {
			return usage("--stop: want a text, got nothing")
		}
	}
	return nil
}

// encode returns the ids of a prompt. Characters that the model does not know are an error.
func encode(alphabet *text.Pieces, prompt string) ([]int64, error) {
	var unknown []string
	seen := map[string]bool{}
	for _, c := range text.CutChars(prompt) {
		if _, ok := alphabet.Vocabulary().ID(c); !ok && !seen[c] {
			seen[c] = true
			unknown = append(unknown, fmt.Sprintf("%q", c))
		}
	}
	if len(unknown) > 0 {
		rest := ""
		if n := len(unknown); n > 8 {
			unknown, rest = unknown[:8], fmt.Sprintf(" and %d more", n-8)
		}
		return nil, usage("--prompt: the model was trained without %s%s; it knows %s", strings.Join(unknown, " "), rest, known(alphabet))
	}
	return alphabet.Encode(prompt), nil
}

// known lists the characters of an alphabet.
func known(alphabet *text.Pieces) string {
	var b strings.Builder
	for id := range min(alphabet.Size(), 120) {
		piece, _ := alphabet.Vocabulary().Piece(int64(id))
		b.WriteString(piece)
	}
	more := ""
	if n := alphabet.Size() - 120; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%q%s", b.String(), more)
}

func (a *app) generate(ctx context.Context, path string, f generateFlags) (err error) {
	file, err := openTextFile(path)
	if err != nil {
		return err
	}
	ids := start(file.alphabet)
	if f.prompt != "" {
		if ids, err = encode(file.alphabet, f.prompt); err != nil {
			return err
		}
	}
	d, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dev, err := tensor.On(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	net, err := file.load(ctx, dev)
	if err != nil {
		return lost(d, fmt.Errorf("%s: %w", path, err))
	}
	s := newSampler(f.seed)
	s.temperature, s.topK, s.topP = f.temperature, f.topK, f.topP
	w := &textWriter{net: net, alphabet: file.alphabet, window: file.shape.Sequence, sampler: s}
	show := func(text string) error {
		_, err := io.WriteString(a.out, text)
		return err
	}
	if terminal(a.out) { // the output of a model may contain control characters
		raw := show
		show = func(text string) error { return raw(plain.Lines(text)) }
	}
	if err := show(f.prompt); err != nil {
		return err
	}
	began, written := time.Now(), 0
	err = w.write(ctx, ids, f.length, f.stops, func(text string) error {
		written += len([]rune(text))
		return show(text)
	})
	if nerr := show("\n"); err == nil {
		err = nerr
	}
	if f.verbose {
		took := time.Since(began)
		plain.Fprintf(a.err, "%s on %s: %s in %v, %.0f a second, seed %d\n", path, d.Spec, count(written, "character"), round(took), float64(written)/took.Seconds(), f.seed)
	}
	return lost(d, err)
}
