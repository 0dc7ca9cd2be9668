package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The standard deviation of the noise in the data is 0.1.
func TestQuick(t *testing.T) {
	rmse, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Less(t, rmse, 0.2)
}
