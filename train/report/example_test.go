package report_test

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/train/report"
)

// A report is a listener of train.Learner. The page can be written at any time.
func ExampleReport_Write() {
	r := report.New("")
	var page strings.Builder
	err := r.Write(&page)
	fmt.Println(strings.Contains(page.String(), "<html"), err)
	// Output: true <nil>
}
