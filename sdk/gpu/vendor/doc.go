// Package vendor finds the libraries that vendors of hardware install, loads them and calls their functions, without cgo and without their
// headers. The bindings of the cuda and rocm plugins share it. A Search goes through the folders in Places and uses the first library that
// works. A Report lists the path of each library that was found, and for each missing one what is lost without it and what to install.
//
// The package knows no vendor, chooses no kernels and prints nothing. Libraries are only loaded on Linux; on other systems all of them are
// missing.
package vendor
