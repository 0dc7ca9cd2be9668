package lost

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type outside bool

func (outside) Error() string     { return "killed" }
func (o outside) Transient() bool { return bool(o) }

func TestTransient(t *testing.T) {
	require.True(t, Transient(fmt.Errorf("start: %w", outside(true))))
	require.False(t, Transient(fmt.Errorf("start: %w", outside(false))))
	require.False(t, Transient(errors.New("exit status 2")))
	require.False(t, Transient(nil))
}

func TestWay(t *testing.T) {
	require.Equal(t, Way(errors.New("process 312 at 0xc0de: exit status 2")), Way(errors.New("process 9 at 0x1: exit status 2")))
	require.NotEqual(t, Way(errors.New("signal: killed")), Way(errors.New("exit status 2")))
}
