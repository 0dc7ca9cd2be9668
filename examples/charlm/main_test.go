package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The text of -quick repeats one sentence, so that everything after its first word is predictable.
func TestQuick(t *testing.T) {
	loss, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Less(t, loss, 2.5)
}
