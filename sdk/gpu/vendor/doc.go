// Package vendor finds the libraries that vendors of hardware install, loads them and calls their functions, without cgo and without their
// headers: what the bindings of the cuda and rocm plugins share. A Search goes through the folders that Places names and takes the first
// library that works; a Report says what was found where, what is lost without the rest, and what to install.
//
// The package knows no vendor, chooses no kernels and prints nothing. Libraries are loaded on Linux alone; elsewhere all are missing.
package vendor
