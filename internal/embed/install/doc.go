// Package install downloads embedders, published as folders of files, into the user's data
// folder, for all projects of that user. The list in this package pins the size and SHA-256 of
// each file, so a file may come from any source: a hub, a mirror of it, or a folder.
//
// A model becomes visible when it is complete: its files are collected in a folder next to its
// final one, which is then renamed. Later calls resume a download that was interrupted. Calls in
// several processes wait for each other; all but the first find the model installed.
package install
