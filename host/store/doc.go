// Package store keeps installed plugins: a folder with the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH that package host searches, their
// archives, mirrors and signatures, the keys that a user trusts, and burn.lock, which pins installed plugins by their hashes. It installs
// the plugins that package host then finds and starts; it must not execute them.
//
// However an installation ends, even by a kill or a full disk, it leaves a store that Verify accepts: a plugin is unpacked beside its
// place, synced, checked and renamed into it. Concurrent installations wait for each other.
package store
