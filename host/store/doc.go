// Package store keeps installed plugins: a folder with the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH that package host searches,
// the archives they come in, the mirrors they come from, the signatures of their makers, the keys a user trusts, and burn.lock,
// which pins installed plugins by their hashes.
//
// However an installation ends, even by a kill or a full disk, it leaves a store that Verify accepts: a plugin is unpacked beside
// its place, synced, checked and renamed into it. Concurrent installations wait for each other.
package store
