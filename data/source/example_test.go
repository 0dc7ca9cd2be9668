package source_test

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/data/source"
)

// ReadArticles reads lines in the format of AG News. source.AGNews reads that data set from a path.
func ExampleReadArticles() {
	articles, err := source.ReadArticles(strings.NewReader(`"3","Oil climbs","Prices rose."`+"\n"), len(source.AGClasses))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(articles[0].Title, articles[0].Label, source.AGClasses[articles[0].Label])
	// Output: Oil climbs 2 Business
}
