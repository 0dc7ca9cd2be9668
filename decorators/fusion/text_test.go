package fusion_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
)

// saved returns the saved text of two programs, one of which has the changing number as an operand.
func saved(t testing.TB) []byte {
	r := over(t, reference())
	rounds(t, r, 8)
	var b bytes.Buffer
	require.NoError(t, r.report.Save(&b))
	return b.Bytes()
}

// rounds runs a loop whose number changes and one whose number does not.
func rounds(t testing.TB, r *rig, n int) {
	for i := range n {
		w, x := r.write(1, 2), r.write(3, 4)
		next, sum := r.step(w, x, float64(i))
		require.Equal(t, []float32{7}, r.read(sum))
		v := r.read(next)
		for k, want := range []float32{1 - float32(i)*(1*3+3), 2 - float32(i)*(2*4+4)} {
			require.InDelta(t, want, v[k], 1e-4)
		}
		y := r.do(op.Exp, 1, ds{next})
		y = r.do(op.Sum, 1, ds{y}, op.Ints("axes", 0), op.Flag("keep_dims", false))
		r.read(y)
		r.free(sum, y)
	}
}

func TestSavedProgramsRunAtFirstSight(t *testing.T) {
	text := saved(t)
	r := over(t, reference()) // opens a device before Load
	require.NoError(t, r.report.Load(bytes.NewReader(text)))
	b := fusion.Wrap(reference(), fusion.With(r.report), fusion.Idle(time.Hour))
	t.Cleanup(func() { _ = b.Close() })
	r.open(b)
	rounds(t, r, 3)
	s := r.stats()
	require.EqualValues(t, 6, s.Hits, "%+v", s)
	require.Zero(t, s.Misses)
	require.EqualValues(t, 2, s.Compiled)
	var again bytes.Buffer
	require.NoError(t, r.report.Save(&again))
	require.Equal(t, strings.Count(string(text), "\n"), strings.Count(again.String(), "\n"))
}

func TestLoadRefuses(t *testing.T) {
	text := string(saved(t))
	var r fusion.Report
	for name, s := range map[string]string{
		"empty":         "",
		"no head":       "{}",
		"other version": strings.Replace(text, `"version":1`, `"version":2`, 1),
		"cut":           text[:len(text)-20],
		"not a program": text + `{"program":{"nodes":[],"outputs":[]}}`,
		"nothing":       text + `{}`,
		"other shape":   strings.Replace(text, `"shape":[2]`, `"shape":[3]`, 1),
		"not a source":  strings.Replace(text, `"apart":[`, `"apart":[0,`, 1),
		"given twice":   strings.Replace(text, `"given":[`, `"given":[99999,`, 1),
	} {
		err := r.Load(strings.NewReader(s))
		require.ErrorIs(t, err, core.ErrProtocol, name)
	}
	require.NoError(t, r.Load(strings.NewReader(strings.Replace(text, `"op":"exp"`, `"op":"from_the_future"`, 1))), "a program with an unknown op must be left out without an error")
}

// A text with random damage is refused, or the loaded programs do not change results.
func TestDamagedTexts(t *testing.T) {
	text := saved(t)
	_, first := windows(t)
	g := rand.New(rand.NewPCG(first, 1))
	loaded := 0
	for range 3000 {
		damaged := bytes.Clone(text)
		for range 1 + g.IntN(3) {
			i := g.IntN(len(damaged))
			switch g.IntN(3) {
			case 0:
				damaged[i] = byte('0' + g.IntN(10))
			case 1:
				damaged = append(damaged[:i], damaged[min(len(damaged), i+g.IntN(12)):]...)
			default:
				damaged = append(damaged[:i:i], append([]byte(fmt.Sprint(g.Uint32())), damaged[i:]...)...)
			}
		}
		r := &rig{t: t, report: &fusion.Report{}}
		if r.report.Load(bytes.NewReader(damaged)) != nil {
			continue
		}
		loaded++
		b := fusion.Wrap(reference(), fusion.With(r.report), fusion.Idle(time.Hour))
		r.open(b)
		rounds(t, r, 2)
		require.NoError(t, b.Close())
	}
	require.Positive(t, loaded)
}

// FuzzLoad checks that any text is refused, or that its programs do not change results.
func FuzzLoad(f *testing.F) {
	f.Add(saved(f))
	f.Add([]byte(`{"format":"burn fusion","version":1}{"program":{"nodes":[{"op":"full","version":1}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		loaded := &fusion.Report{}
		if loaded.Load(bytes.NewReader(text)) != nil {
			return
		}
		rounds(t, over(t, reference(), fusion.With(loaded)), 2)
	})
}
