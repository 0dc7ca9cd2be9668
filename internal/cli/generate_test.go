package cli

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

// trainedDir trains a model on a repetitive text with burn train text and returns the output folder.
func trainedDir(t *testing.T) string {
	t.Helper()
	file, dir := filepath.Join(t.TempDir(), "text.txt"), filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("abcdefgh\n", 800)), 0o600))
	settings := trainSettings(t, "epochs = 2\nbatch = 16\n[text]\nlayers = 2\nsize = 32\nheads = 2\nsequence = 16\ndropout = 0.1\nsample = 20\n")
	r := call(t, "train", "text", "--data", file, "--config", settings, "--out", dir, "--lr", "0.01")
	require.Equal(t, exitOK, r.code, r.err)
	return dir
}

// byHand generates a text as the help describes, as an independent reference: it has no cache but computes the whole window for each
// character, and sorts and truncates the probabilities in the simplest way.
func byHand(t *testing.T, dir, prompt string, count int, seed uint64, temperature, topP float64, topK int) string {
	t.Helper()
	f, err := openTextFile(dir)
	require.NoError(t, err)
	b, err := core.Open("cpu", core.Config{})
	require.NoError(t, err)
	defer b.Close()
	dev, err := tensor.On(t.Context(), &core.Place{Backend: b, Spec: "cpu"})
	require.NoError(t, err)
	defer dev.Close()
	net, err := f.load(t.Context(), dev)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(seed, 0))
	ids := f.alphabet.Encode(prompt)
	for range count {
		seen := ids[max(0, len(ids)-f.shape.Sequence):]
		all, err := tensor.DataAs[float32](t.Context(), net.Forward(tensor.From(dev, seen, 1, len(seen))))
		require.NoError(t, err)
		type choice struct {
			id int
			p  float64
		}
		var choices []choice
		for id, s := range all[len(all)-f.alphabet.Size():] {
			choices = append(choices, choice{id, math.Exp(float64(s) / temperature)})
		}
		slices.SortFunc(choices, func(a, b choice) int {
			if a.p > b.p {
				return -1
			}
			return 1
		})
		if topK > 0 {
			choices = choices[:topK]
		}
		total := func() (sum float64) {
			for _, c := range choices {
				sum += c.p
			}
			return sum
		}
		whole, n := total(), 0
		for sum := 0.0; sum < topP*whole && n < len(choices); n++ {
			sum += choices[n].p
		}
		choices = choices[:n]
		u := random.Float64() * total()
		for _, c := range choices {
			if u -= c.p; u < 0 {
				ids = append(ids, int64(c.id))
				break
			}
		}
	}
	out, err := f.alphabet.Decode(ids)
	require.NoError(t, err)
	return out
}

func TestGenerate(t *testing.T) {
	dir := trainedDir(t)
	t.Run("texts", func(t *testing.T) { generateTexts(t, dir) })
	t.Run("interrupted", func(t *testing.T) { generateInterrupted(t, dir) })
	t.Run("usage", func(t *testing.T) { generateUsage(t, dir) })
}

// The command generates the same text as byHand: its cache does not change the text, neither within the window of 16 characters nor beyond
// it.
func generateTexts(t *testing.T, dir string) {
	r := call(t, "generate", dir, "--prompt", "abc", "--length", "60", "--seed", "5", "--temperature", "3", "--top-k", "6", "--top-p", "0.95")
	require.Equal(t, exitOK, r.code, r.err)
	require.Equal(t, byHand(t, dir, "abc", 60, 5, 3, 0.95, 6)+"\n", r.out)
	again := call(t, "generate", filepath.Join(dir, "model.burn"), "--prompt", "abc", "--length", "60", "--seed", "5", "--temperature", "3", "--top-k", "6", "--top-p", "0.95")
	require.Equal(t, r.out, again.out)
	other := call(t, "generate", dir, "--prompt", "abc", "--length", "60", "--seed", "6", "--temperature", "3")
	require.NotEqual(t, r.out, other.out)
	require.Len(t, other.out, 3+60+1)

	long := strings.Repeat("abcdefgh\n", 4) // longer than the window
	r = call(t, "generate", dir, "--prompt", long, "--length", "9", "--temperature", "0")
	require.Equal(t, exitOK, r.code, r.err)
	require.Equal(t, long+"abcdefgh\n\n", r.out)
	r = call(t, "generate", dir, "--prompt", "ab", "--temperature", "0", "--stop", "gh", "--stop", `zz\n`)
	require.Equal(t, "abcdef\n", r.out)
}

func TestSampler(t *testing.T) {
	scores := []float32{1, 3, 2, 3, float32(math.NaN())}
	count := func(s *sampler) map[int]int {
		n := map[int]int{}
		for range 20000 {
			n[s.draw(scores)]++
		}
		return n
	}
	s := newSampler(1)
	e := math.Exp
	sum := e(1) + e(3) + e(2) + e(3)
	for id, got := range count(s) {
		require.InDelta(t, e(float64(scores[id]))/sum, float64(got)/20000, 0.015, "%d", id)
	}
	s.topK = 3
	require.NotContains(t, count(s), 0)
	s.topK, s.topP = 0, 0.5 // the two choices with score 3 have the probabilities 0.42 each
	require.ElementsMatch(t, []int{1, 3}, keysOf(count(s)))
	s.topP = 0.3
	require.ElementsMatch(t, []int{1}, keysOf(count(s)))
	s.topP, s.temperature = 1, 0
	require.Equal(t, map[int]int{1: 20000}, count(s))
	require.Equal(t, 0, newSampler(1).draw([]float32{float32(math.NaN()), float32(math.NaN())}))
}

func keysOf(m map[int]int) (keys []int) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// A stopper holds text back while it may be the beginning of a stop text.
func TestStopper(t *testing.T) {
	var got []string
	s := stopper{stops: []string{"ABC", "\n\n"}, emit: func(text string) error { got = append(got, text); return nil }}
	for i, piece := range strings.Split("xABAB\nyAB", "") {
		done, err := s.add(piece)
		require.NoError(t, err)
		require.False(t, done, i)
	}
	require.Equal(t, []string{"x", "AB", "AB", "\ny"}, got)
	done, err := s.add("C")
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, s.end())
	require.Equal(t, "xABAB\ny", strings.Join(got, ""))
}

// The command writes each character as soon as it is generated, and an interrupt ends the text.
func generateInterrupted(t *testing.T, dir string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := &canceled{at: "e", cancel: cancel}
	var errs bytes.Buffer
	code := run(ctx, func(string) string { return "" }, []string{"generate", dir, "--prompt", "abc", "--length", "1000000", "--temperature", "0"},
		strings.NewReader(""), out, &errs)
	require.Equal(t, exitCanceled, code, errs.String())
	require.Equal(t, "abcde\n", out.all.String())
}

func generateUsage(t *testing.T, dir string) {
	other := filepath.Join(t.TempDir(), "other.burn")
	require.NoError(t, record.Save(t.Context(), other, nil, record.Options{Metadata: map[string]string{"task": "mnist"}}))
	old := filepath.Join(t.TempDir(), "old.burn")
	require.NoError(t, record.Save(t.Context(), old, nil, record.Options{Metadata: map[string]string{"task": "text"}}))
	huge := filepath.Join(t.TempDir(), "huge.burn")
	about, err := aboutText(&textModel{Layers: 1 << 30, Size: 1 << 20, Heads: 1, Sequence: 1 << 30}, []byte(`{"pieces":["YQ=="],"unknown":-1}`))
	require.NoError(t, err)
	about["task"] = "text"
	require.NoError(t, record.Save(t.Context(), huge, nil, record.Options{Metadata: about}))
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"nosuch"}, 2, "nosuch: no such file"},
		{[]string{t.TempDir()}, 3, "a folder without model.burn; want model.burn as burn train text writes it"},
		{[]string{digits + "digits.onnx"}, 3, "an ONNX model, which burn run takes"},
		{[]string{digits + "labels.txt"}, 3, "a text file"},
		{[]string{other}, 3, "a model of burn train mnist"},
		{[]string{old}, 3, "of an earlier version"},
		{[]string{huge}, 3, "and the record says"},
		{[]string{dir, "--prompt", "abcß!"}, 2, `--prompt: the model was trained without "ß" "!"; it knows "\nabcdefgh"`},
		{[]string{dir, "--length", "0"}, 2, "--length: want 1"},
		{[]string{dir, "--top-p", "0"}, 2, "--top-p: want above 0"},
		{[]string{dir, "--temperature", "-1"}, 2, "--temperature: want 0"},
		{[]string{dir, "--stop", ""}, 2, "--stop: want a text"},
	} {
		r := call(t, append([]string{"generate"}, c.args...)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.text)
		require.Empty(t, r.out)
	}
}
