package manifest_test

import (
	"fmt"

	"github.com/goburn/burn/host/manifest"
)

func ExampleCompareVersions() {
	fmt.Println(manifest.CompareVersions("1.10.0", "1.9.3"), manifest.CompareVersions("1.0.0-rc.1", "1.0.0"))
	// Output: 1 -1
}
