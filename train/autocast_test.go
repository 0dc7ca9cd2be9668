package train_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/train"
)

// Training in bf16 learns what training in f32 does, with other bits, and parameters stay f32.
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

	l.Autocast = dtype.F16
	_, err = l.Run(context.Background())
	require.ErrorIs(t, err, core.ErrUnsupported)
}
