// Package patch reads the patches that agents write: unified diffs, the envelope
// of apply_patch, and blocks to search and replace. It applies nothing; it says
// which files a patch touches and which lines come and go.
package patch
