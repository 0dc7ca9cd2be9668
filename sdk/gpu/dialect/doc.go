// Package dialect prints kernels of package ir as the text of a GPU language: CUDA C++, HIP, Metal's language and WGSL. A dialect is a
// table of spellings with a list of rewrites; it knows no op of the op table.
package dialect

// Dialect is a language.
type Dialect struct {
	Name string
}
