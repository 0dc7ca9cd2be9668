package metric_test

import (
	"fmt"

	"github.com/goburn/burn/train/metric"
)

// The example computes the word error rate in percent.
func ExampleWER() {
	m := metric.WER(metric.TextOptions{})
	m.Add("the cat sat", "the cat sat down") // the output and the reference: one of four words is missing
	fmt.Println(m.Value())
	// Output: 25
}
