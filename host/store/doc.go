// Package store keeps installed plugins: a folder with the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH that package host
// searches, the archives they come in, the mirrors they come from, the signatures of their makers, the keys a user trusts,
// and burn.lock, which holds what was installed to its hashes.
//
// Whatever ends an installation, a kill or a full disk too, leaves a store that Verify accepts: a plugin is unpacked beside
// its place, synced, checked and renamed into it. Installations at once wait for each other.
package store
