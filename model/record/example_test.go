package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example writes the weights of a model and reads them back by name.
func Example() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := record.SaveModule(ctx, path, nn.NewLinear(dev, 2, 1, nn.LinearConfig{}), record.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	report, err := record.LoadModule(ctx, path, nn.NewLinear(dev, 2, 1, nn.LinearConfig{}), nn.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Loaded)
	// Output: [weight bias]
}
