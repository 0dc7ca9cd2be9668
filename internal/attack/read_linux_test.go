package attack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	// memory is the limit of a reader in bytes: far above the need of any of the files.
	memory = 1 << 30
	// longest is the time limit for one file. A reader that exceeds it hangs.
	longest = time.Minute
	// longestError limits the length of an error text.
	longestError = 1 << 14
)

// TestMutations reads mutated files of every format, in one process per format under a memory limit. Every read must return, with any
// content.
func TestMutations(t *testing.T) {
	count := size(150, 2000)
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			seeds := formats[name].seeds(t, t.TempDir())
			require.NotEmpty(t, seeds)
			for i, seed := range seeds {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("seed-%03d", i)), seed, 0o600))
				path := filepath.Join(t.TempDir(), "file")
				require.NoError(t, os.WriteFile(path, seed, 0o600))
				if err := formats[name].read(seed, path); err != nil && !slices.Contains([]string{"commands", "replies"}, name) {
					t.Fatalf("seed %d is refused: %v", i, err)
				}
			}
			failures := 0
			for next := 0; next < count && failures < 5; {
				out, err := reader(name, dir, next, count).CombinedOutput()
				if err == nil {
					break
				}
				at := progress(t, dir)
				input := mutation(name, seeds, at)
				keep := filepath.Join(os.TempDir(), fmt.Sprintf("attack-%s-%d", name, at))
				require.NoError(t, os.WriteFile(keep, input, 0o600))
				t.Errorf("mutation %d (%d bytes, kept in %s): %v\n%.4000s", at, len(input), keep, err, out)
				next, failures = at+1, failures+1
			}
		})
	}
}

// reader returns the command that reads the mutations from to to-1.
func reader(name, dir string, from, to int) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperReader$", "-test.timeout=15m")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", envFormat, name), fmt.Sprintf("BURN_ATTACK_RANGE=%d %d %s", from, to, dir))
	return cmd
}

const progressFile = "progress"

func progress(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, progressFile))
	require.NoError(t, err)
	require.Len(t, b, 8)
	return int(binary.LittleEndian.Uint64(b))
}

// TestHelperReader is the process that reads mutations. Before each, it records the number of the mutation.
func TestHelperReader(t *testing.T) {
	name := os.Getenv(envFormat)
	if name == "" {
		t.Skip("only runs as a helper of TestMutations")
	}
	part := strings.SplitN(os.Getenv("BURN_ATTACK_RANGE"), " ", 3)
	from, err := strconv.Atoi(part[0])
	require.NoError(t, err)
	to, err := strconv.Atoi(part[1])
	require.NoError(t, err)
	dir := part[2]
	paths, err := filepath.Glob(filepath.Join(dir, "seed-*"))
	require.NoError(t, err)
	var seeds [][]byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		seeds = append(seeds, b)
	}
	note, err := os.OpenFile(filepath.Join(dir, progressFile), os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory}))
	debug.SetMemoryLimit(memory / 2)
	path := filepath.Join(t.TempDir(), "file")
	read := formats[name].read
	for n := from; n < to; n++ {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		_, err := note.WriteAt(b[:], 0)
		require.NoError(t, err)
		input := mutation(name, seeds, n)
		require.NoError(t, os.WriteFile(path, input, 0o600))
		watch := time.AfterFunc(longest, func() { panic(fmt.Sprintf("mutation %d is read for %v", n, longest)) })
		err = read(input, path)
		watch.Stop()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			require.Less(t, len(err.Error()), longestError, "the text of the error of mutation %d", n)
		}
	}
}
