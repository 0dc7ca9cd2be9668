package train_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/train"
)

// killed is the error of a lost backend whose process was killed.
type killed struct{ error }

func (k killed) Unwrap() error { return k.error }
func (killed) Transient() bool { return true }

// TestLostInTheSameWay checks that a backend that is lost twice in the same way at the same step is not tried again, and that
// other losses are retried as often as configured.
func TestLostInTheSameWay(t *testing.T) {
	for name, c := range map[string]struct {
		loss  func(try int) error
		tries int
		text  string
	}{
		"the same":  {func(try int) error { return fmt.Errorf("process %d: exit status 7: %w", 100+try, core.ErrBackendLost) }, 2, "lost twice in the same way at step 2"},
		"differing": {func(try int) error { return fmt.Errorf("fault %s: %w", string(rune('a'+try)), core.ErrBackendLost) }, 5, "fault"},
		"killed":    {func(int) error { return killed{fmt.Errorf("signal: killed: %w", core.ErrBackendLost)} }, 5, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLearner(t.TempDir(), 1)
			l.Restarts, l.Backoff, l.Checkpoints.Every = 4, time.Microsecond, 1
			tries, done := 0, 0
			begin := l.Open
			l.Open = func(ctx context.Context) (*train.Parts[*model, batch], error) {
				done = 0
				if tries > 0 {
					done = 2 // a checkpoint follows each step
				}
				return begin(ctx)
			}
			l.TrainStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
				if done == 2 {
					tries++
					return train.Output{}, c.loss(tries)
				}
				done++
				return step(ctx, m, b)
			}
			_, err := l.Run(context.Background())
			require.ErrorIs(t, err, core.ErrBackendLost)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.tries, tries)
		})
	}
}
