package vendor_test

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// The report has a row for a missing library, with what is lost without it and how to get it.
func ExampleSearch_Find() {
	s := vendor.Search{Only: "/no/such/folder"}
	k := vendor.Library{Key: "driver", Name: "driver", Sonames: []string{"libdriver.so.2", "libdriver.so.1"}, Lost: "there is no device", Install: "the vendor's driver"}
	var row vendor.Row
	s.Find(&k, &row, func(uintptr) (string, error) { return "2.0", nil })
	fmt.Print(vendor.Report{row})
	// Output:
	// driver: library is missing: no libdriver.so.2 or libdriver.so.1
	//   without it: there is no device
	//   to get it: the vendor's driver
}
