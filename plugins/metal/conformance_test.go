//go:build linux

package metal

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/processor"
)

var quiet = core.Config{Options: map[string]string{"cache": "off"}}

// include returns the folder of the header that declares Metal's library.
func include(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "sdk", "gpu", "dialect", "testdata", "include"))
	require.NoError(t, err)
	return dir
}

// onProcessor returns Metal on the processor. Without clang++ it skips the test, or fails it if BURN_METAL_REQUIRED is set.
func onProcessor(t testing.TB, o processor.Options) *processor.API {
	t.Helper()
	o.Include = include(t)
	if o.Folder == "" {
		o.Folder = os.Getenv("BURN_METAL_FOLDER")
	}
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	o.Compiler = append(o.Compiler, strings.Fields(os.Getenv("BURN_METAL_CXXFLAGS"))...)
	api, err := processor.New(o)
	if err != nil && os.Getenv("BURN_METAL_REQUIRED") == "" {
		t.Skipf("needs clang++, run make metal: %v", err)
	}
	require.NoError(t, err)
	return api
}

// tried reports whether a text contains the product that shows whether simdgroup matrices work: that kernel has to run.
func tried(text string) bool { return strings.HasSuffix(text, matrixText) }

// unit is the number of texts that one call of the compiler compiles.
const unit = 48

// precompile compiles all texts that the driver writes for the suite, many with one call of the compiler. It finds them by a run of the suite in
// which kernels do nothing.
func precompile(t *testing.T, api *processor.API, o conformance.Options, compiler []string) {
	var mu sync.Mutex
	texts := map[string]bool{}
	collector := onProcessor(t, processor.Options{Folder: os.Getenv("BURN_METAL_FOLDER"), Compiler: compiler, Collect: func(text string) bool {
		mu.Lock()
		defer mu.Unlock()
		texts[text] = true
		return !tried(text)
	}})
	began := time.Now()
	o.Shrink, o.Expect = -1, nil
	report, err := conformance.Check(context.Background(), func() (core.Backend, error) { return Over(collector, nil)(quiet) }, o)
	require.NoError(t, err)
	require.NotEmpty(t, report.Results)
	collected := time.Now()
	missing := slices.Collect(maps.Keys(texts))
	missing = slices.DeleteFunc(missing, api.Has)
	slices.Sort(missing)
	var all sync.WaitGroup
	slots := make(chan struct{}, 2)
	for part := range slices.Chunk(missing, unit) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := api.Precompile(part); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	t.Logf("%d texts, found in %.1fs, of which %d were compiled in %.1fs", len(texts), collected.Sub(began).Seconds(), len(missing), time.Since(collected).Seconds())
}

// TestConformance runs a sample of the suite through the driver, with every kernel executed on the processor from its text in Metal's
// language: every BURN_METAL_SAMPLE-th case of the profiles in BURN_METAL_PROFILES whose name matches BURN_METAL_RUN.
func TestConformance(t *testing.T) {
	api := onProcessor(t, processor.Options{})
	o := conformance.Options{Sample: 500, Run: os.Getenv("BURN_METAL_RUN")}
	if n, err := strconv.Atoi(os.Getenv("BURN_METAL_SAMPLE")); err == nil {
		o.Sample = n
	}
	profiles := strings.Fields(os.Getenv("BURN_METAL_PROFILES"))
	if len(profiles) == 0 {
		profiles = []string{string(conformance.Core)}
	}
	for _, p := range profiles {
		t.Run(p, func(t *testing.T) {
			o := o
			o.Profile = conformance.Profile(p)
			precompile(t, api, o, nil)
			before, _ := api.Stats()
			began := time.Now()
			conformance.Run(t, func() (core.Backend, error) { return Over(api, nil)(quiet) }, o)
			after, launches := api.Stats()
			require.Positive(t, launches)
			t.Logf("%d launches of %d texts in %.1fs, of which %d were not found before", launches, after.Texts, time.Since(began).Seconds(), after.Compiles-before.Compiles)
		})
	}
}
