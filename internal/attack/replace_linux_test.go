package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client"
)

// TestReplacement repeatedly starts a plugin while its file is replaced by a malicious one, by renaming and by overwriting. The malicious
// file never runs, because only content with the hash in the manifest is executed.
func TestReplacement(t *testing.T) {
	tries := size(25, 500)
	self, err := os.Executable()
	require.NoError(t, err)
	evilProgram, err := os.ReadFile(self)
	require.NoError(t, err)
	trueProgram, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	mark := filepath.Join(t.TempDir(), "ran")
	t.Setenv(envEvil, mark)
	evilScript := fmt.Appendf(nil, "#!/bin/sh\n: >'%s'\n", mark)
	for name, c := range map[string]struct{ good, evil []byte }{
		"script": {[]byte("#!/bin/sh\nexit 0\n"), evilScript},
		"elf":    {trueProgram, evilProgram},
		"mixed":  {trueProgram, evilScript},
	} {
		for _, way := range []string{"rename", "write"} {
			t.Run(name+" by "+way, func(t *testing.T) {
				dir, side := t.TempDir(), t.TempDir()
				path := filepath.Join(dir, "burn-backend-npu")
				put := func(content []byte) {
					if way == "write" {
						_ = os.WriteFile(path, content, 0o755) // fails while the file is executed
						return
					}
					next := filepath.Join(side, "next")
					_ = os.WriteFile(next, content, 0o755)
					_ = os.Rename(next, path)
				}
				start := func() error {
					_, err := host.Open(t.Context(), "process:npu", host.Options{Dirs: []string{dir}, Containment: host.ContainOff, StartTimeout: 2 * time.Minute})
					return err
				}
				put(c.evil)
				_ = start()
				require.FileExists(t, mark, "without a hash, the malicious file must run and leave its mark")
				require.NoError(t, os.Remove(mark))

				sum := sha256.Sum256(c.good)
				manifest := fmt.Sprintf("name = \"npu\"\nsha256 = %q\n", hex.EncodeToString(sum[:]))
				require.NoError(t, os.WriteFile(path+".toml", []byte(manifest), 0o644))
				put(c.good)
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					for {
						select {
						case <-stop:
							return
						default:
							put(c.evil)
							put(c.good)
						}
					}
				}()
				ran, refused := 0, 0
				for range tries {
					err := start()
					require.Error(t, err, "neither file is a plugin")
					var e *client.StartError
					if errors.As(err, &e) && e.Cause == client.CauseNotPlugin {
						ran++
					} else {
						refused++
					}
				}
				close(stop)
				<-stopped
				require.NoFileExists(t, mark, "the malicious file ran")
				t.Logf("%d times the good one ran, %d times the start was refused", ran, refused)
			})
		}
	}
}
