//go:build !unix

package bolt_test

// childFullDisk has no use where the size of files can't be limited.
func childFullDisk() {}

// childFullChange is likewise.
func childFullChange() {}
