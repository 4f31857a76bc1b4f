package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// List names the owners whose stores lie in dir, whether they are open or not, by
// the names of their folders. A folder that is not there holds none.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	var owners []string
	for _, e := range entries {
		owner, err := url.PathUnescape(e.Name())
		if err != nil || FolderName(owner) != e.Name() { // not a folder of ours
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, e.Name(), dbFile)); err == nil {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}
