// Package record saves and loads modules of package nn and named tensors: as records, burn's own format, as safetensors, which other tools
// read, or as JSON, for people. It must not know particular layers.
//
//	err := record.SaveModule(ctx, "model.burn", m, record.Options{})
//	report, err := record.LoadModule(ctx, "model.burn", m, nn.LoadOptions{})
//
// Files are replaced atomically: data is written to a temporary file beside the target, synced and renamed. Reading checks the whole layout
// before memory is allocated; the error for a damaged file is ErrCorrupt and names the position and the damage.
//
// # The record format, version 1
//
// All numbers are little-endian. Checksums are CRC-32C (Castagnoli).
//
//	8 bytes   89 "BURNREC"
//	u32       version, 1
//	u32       n, length of the header, at most 64 MiB
//	n bytes   header: JSON {"metadata": {name: text}, "tensors": [{"name", "dtype", "shape"}]}
//	u32       checksum of all preceding bytes
//	          for each tensor, in the order of the header: its elements, row-major, little-endian, bool one byte of 0 or 1, in
//	          chunks of 1 MiB, the last shorter, none for no elements; and after each chunk
//	u32       checksum of u64 number of the tensor, u64 number of the chunk in it, and the chunk
//	8 bytes   "BURNEND" 0A
//
// The offset of every chunk follows from the header, so one tensor can be read alone or as a stream. A truncated file has the wrong length,
// and a changed or moved chunk has the wrong checksum. A reader refuses versions that it does not know; every version has the four fields
// up to the first checksum, so that a reader can tell a later version from a damaged version number.
package record
