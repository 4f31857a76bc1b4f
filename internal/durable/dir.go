// Package durable makes changes of a folder survive a power cut.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// Dir makes the names in a folder durable: until then a power cut may take back that a
// file was made, renamed or removed. On Windows, where a folder can't be synced, it does
// nothing.
func Dir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
