//go:build 386 || arm || mips || mipsle

package dtype

// The contract has lengths, indices and integer attributes of 64 bits, and Go code holds them as int. Where int has 32 bits, a seed, the
// end of a slice or a size would be truncated silently, with wrong results. So burn does not build there: the compiler prints the
// identifier in the next line as the reason. RATIONALE.md says more.
const _ = burn_needs_a_64_bit_platform_such_as_amd64_or_arm64_since_its_sizes_and_attributes_have_64_bits
