// Package patch parses the patches that agents write: unified diffs, the
// envelope of apply_patch, and search-and-replace blocks. It does not apply
// them. It reports which files a patch touches, and which lines it removes and
// adds.
package patch
