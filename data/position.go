package data

// Position is where a Loader stands: Batch batches of epoch Epoch have been given. It is saved with a checkpoint and
// given to Seek to go on in the same order. Batches are counted in the loader's own shard.
type Position struct {
	Epoch int `json:"epoch"`
	Batch int `json:"batch"`
}

// Progress is how many items of the epoch have been given, of how many in the loader's shard.
type Progress struct{ Done, Total int }
