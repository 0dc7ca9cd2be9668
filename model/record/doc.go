// Package record saves and loads modules and named tensors: as records, burn's own format, as safetensors, which other tools read, and
// as JSON, for people.
//
//	err := record.SaveModule(ctx, "model.burn", m, record.Options{})
//	report, err := record.LoadModule(ctx, "model.burn", m, nn.LoadOptions{})
//
// Files are replaced at once or not at all: what is written goes to a file beside, is synced and then renamed. Reading
// checks the whole layout before memory is taken; a damaged file is ErrCorrupt and names what is wrong where.
//
// # The record format, version 1
//
// All numbers are little-endian. Checksums are CRC-32C (Castagnoli).
//
//	8 bytes   89 "BURNREC"
//	u32       version, 1
//	u32       n, length of the header, at most 64 MiB
//	n bytes   header: JSON {"metadata": {name: text}, "tensors": [{"name", "dtype", "shape"}]}
//	u32       checksum of all before
//	          for each tensor, in the order of the header: its elements, row-major, little-endian, bool one byte of 0 or 1, in
//	          chunks of 1 MiB, the last shorter, none for no elements; and after each chunk
//	u32       checksum of u64 number of the tensor, u64 number of the chunk in it, and the chunk
//	8 bytes   "BURNEND" 0A
//
// So the place of every chunk follows from the header, a tensor can be read alone and as a stream, a file that was cut off has the wrong
// length, and a chunk that was changed or moved has the wrong checksum. A reader refuses versions that it does not know.
package record
