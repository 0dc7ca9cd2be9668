package train_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/train"
)

// Training in bf16 learns as well as training in f32, with different bits, and parameters stay f32.
func TestAutocast(t *testing.T) {
	full, _ := run(t, context.Background(), newLearner("", 5))
	l := newLearner("", 5)
	l.Autocast = dtype.BF16
	r, err := l.Run(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.Equal(t, dtype.F32, r.Model.In.Weight.DType())
	require.NotEqual(t, full, bits(t, r.Model))
	_, losses := r.History.Series(train.Valid, "loss")
	require.Less(t, losses[4], 0.7*losses[0])
	_, accuracy := r.History.Series(train.Valid, "accuracy")
	require.Greater(t, accuracy[4], 85.0)

	l.Autocast = dtype.F64
	_, err = l.Run(context.Background())
	require.ErrorIs(t, err, core.ErrUnsupported)
}

// newScaled is newLearner in f16, with a factor that overflows at first and grows soon.
func newScaled(dir string, epochs int) *learner {
	l := newLearner(dir, epochs)
	l.Autocast = dtype.F16
	l.Scaling = optim.ScalerConfig{Initial: 1 << 24, Interval: 3}
	return l
}

// A run in f16 that resumes from a checkpoint keeps the scale factor and the count of skipped steps.
func TestScalingResumes(t *testing.T) { resumeIsEqual(t, newScaled) }

// Training in f16 skips the steps whose scaled gradients overflow, reports it, and learns as well.
func TestScaling(t *testing.T) {
	for name, change := range map[string]func(l *learner){
		"plain":       func(*learner) {},
		"clipped":     func(l *learner) { l.Clip = &optim.Clip{Norm: 10} },
		"accumulated": func(l *learner) { l.Accumulate = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			l := newScaled("", 5)
			change(l)
			var scales, skipped []float64
			l.Listeners = append(l.Listeners, train.ListenerFunc(func(e train.Event) {
				if s, ok := e.(train.Stepped); ok && s.Split == train.Train {
					for _, x := range s.Readings {
						switch {
						case math.IsNaN(x.Value): // before the first update
						case x.Name == train.LossScale:
							scales = append(scales, x.Value)
						case x.Name == train.SkippedSteps:
							skipped = append(skipped, x.Value)
						}
					}
				}
			}))
			r, err := l.Run(context.Background())
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			require.Equal(t, dtype.F32, r.Model.In.Weight.DType())
			_, losses := r.History.Series(train.Valid, "loss")
			require.Less(t, losses[4], 0.8*losses[0])
			require.Greater(t, slices.Max(skipped), 0.0)
			require.True(t, slices.IsSorted(skipped))
			require.Less(t, slices.Min(scales), float64(1<<24))
			require.Contains(t, scales, 2*slices.Min(scales), "it grows again")
		})
	}
}
