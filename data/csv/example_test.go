package csv_test

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/data/csv"
)

func ExampleRead() {
	type house struct {
		Rooms int
		Price float64
		Town  string
	}
	houses, err := csv.Read[house](strings.NewReader("Town,Rooms,Price\nUlm,3,210.5\nBern,5,640\n"), csv.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(houses.Len(), houses[1])
	// Output: 2 {5 640 Bern}
}
