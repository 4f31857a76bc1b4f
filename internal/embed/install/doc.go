// Package install puts embedders that are published as folders of files into the user's data
// folder, for all projects of that user. Each file of a model is pinned by its size and its
// SHA-256 in the list of this package, so it does not matter where a file comes from: a hub, a
// mirror of it, or a folder.
//
// A model becomes visible when it is whole: it is put together in a folder beside its place and
// renamed. A download that was interrupted goes on where it stopped, in any later call. Calls in
// several processes wait for each other, and all but the first find the model there.
package install
