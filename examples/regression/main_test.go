package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The noise of the rows alone is 0.1.
func TestQuick(t *testing.T) {
	rmse, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Less(t, rmse, 0.2)
}
