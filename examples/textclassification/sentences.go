package main

import (
	"slices"
	"strings"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
)

// sentences returns texts about two animals; the first animal acts and determines the class.
func sentences(n int) data.Memory[source.Article] {
	rng := data.Random(1)
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	texts := make(data.Memory[source.Article], n)
	for i := range texts {
		pair, label := []string{"cat", "dog"}, rng.IntN(2)
		if label == 1 {
			slices.Reverse(pair)
		}
		texts[i] = source.Article{Label: label, Text: strings.Join([]string{"the", pick("old", "young", "small"), pair[0],
			pick("chased", "saw", "found"), "the", pick("old", "young", "small"), pair[1], pick("today", "twice")}, " ")}
	}
	return texts
}
