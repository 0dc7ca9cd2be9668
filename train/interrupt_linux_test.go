package train_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train"
)

// TestInterrupt sends signals to a process that trains: after the first it writes a checkpoint and exits normally, after the
// second it dies at once.
func TestInterrupt(t *testing.T) {
	if dir := os.Getenv("BURN_TEST_INTERRUPT"); dir != "" {
		trainUntilInterrupted(t, dir)
		return
	}
	for name, signals := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestInterrupt$", "-test.v")
			cmd.Env = append(os.Environ(), "BURN_TEST_INTERRUPT="+dir)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			await := func(want string) {
				for lines.Scan() {
					if lines.Text() == want {
						return
					}
				}
				t.Fatalf("the process ended before %q", want)
			}
			await("step 3")
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			if signals == 2 {
				await("canceled") // the step is still blocked
				require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			} else {
				await("ended interrupted")
			}
			for lines.Scan() {
			}
			err = cmd.Wait()
			saved, globErr := filepath.Glob(filepath.Join(dir, "checkpoint", "step-*"))
			require.NoError(t, globErr)
			if signals == 1 {
				require.NoError(t, err)
				require.Len(t, saved, 1)
				return
			}
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%v", err)
			require.Equal(t, syscall.SIGINT, exit.Sys().(syscall.WaitStatus).Signal())
			require.Empty(t, saved)
		})
	}
}

func trainUntilInterrupted(t *testing.T, dir string) {
	ctx, stop := train.Interrupt(context.Background())
	defer stop()
	l := newLearner(dir, 1000)
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if s, ok := e.(train.Stepped); ok && s.Split == train.Train && s.Step == 3 {
			fmt.Println("\nstep 3")
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) // until the signal has its default action again
			fmt.Println("canceled")
			time.Sleep(300 * time.Millisecond)
		}
	})}
	r, err := l.Run(ctx)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	fmt.Printf("ended %s\n", r.Reason)
}
