package data

// Position is the position of a Loader: Batch batches of epoch Epoch have been yielded. Save it with a checkpoint and pass it to
// Seek to continue in the same order. Batches are counted in the loader's own shard.
type Position struct {
	Epoch int `json:"epoch"`
	Batch int `json:"batch"`
}

// Progress tells how many items of the epoch have been yielded, and how many the loader's shard has in total.
type Progress struct{ Done, Total int }
