package onnxtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
	"github.com/stretchr/testify/require"
)

// Every trained model of the test data produces the outputs of ONNX Runtime; the model with custom operators is refused.
func TestModels(t *testing.T) {
	data := os.Getenv("BURN_TESTDATA")
	if data == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder that holds models/")
	}
	if testing.Short() {
		t.Skip("-short is set: this test runs sixteen models")
	}
	cases, err := Find(filepath.Join(data, "models"))
	require.NoError(t, err)
	dev := cpu(t)
	leaked := func(l verify.Leak) { t.Errorf("alive after the last model: %+v", l) }
	open := func(context.Context) (*core.Place, error) {
		return verify.Device(device(keep{dev.Backend}), verify.OnLeak(leaked)), nil
	}
	_, err = RunAll(t.Context(), open, cases, Options{Tolerance: &Tolerance{Rel: 1e-3, Abs: 1e-4}}, 1, func(r Result) {
		want := Passed
		if r.Case.Name == "unsupported_custom_ops" {
			want = Skipped
			require.Equal(t, "no operator com.microsoft.extensions.DecodeImage, com.microsoft.extensions.EncodeImage", r.Group)
		} else {
			require.NotZero(t, r.Sets, r.Case.Name)
		}
		require.Equal(t, want, r.Status, "%s: %s", r.Case.Name, r.Reason)
	})
	require.NoError(t, err)
}
