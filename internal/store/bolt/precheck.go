package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// precheck holds a bbolt file's length against what its meta pages say, before
// bbolt maps it: reading past the end of a mapped file kills the process, and
// bbolt reads some pages in goroutines of its own, out of any recover's reach.
//
// A page starts with a header of 16 bytes; a meta page goes on with magic 4,
// version 4, page size 4, flags 4, root 16, freelist 8, pages 8, transaction 8,
// in the machine's byte order. There are two, and the later transaction counts.
func precheck(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() == 0 {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), indexDir)); err == nil {
			return errors.New("the file is empty, but there is an index of what it held")
		}
		return nil
	}
	pageSize, pages, found := uint32(0), uint64(0), false
	var newest uint64
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		b := make([]byte, 80)
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		const magic = 0xED0CDAED
		if binary.NativeEndian.Uint32(b[16:]) != magic {
			continue
		}
		if tx := binary.NativeEndian.Uint64(b[64:]); !found || tx > newest {
			found, newest = true, tx
			pageSize, pages = binary.NativeEndian.Uint32(b[24:]), binary.NativeEndian.Uint64(b[56:])
		}
	}
	switch {
	case !found:
		return errors.New("it is not a bbolt file")
	case pages > uint64(fi.Size())/uint64(max(pageSize, 1)):
		return fmt.Errorf("the file is cut short: %d bytes, and it says %d pages of %d", fi.Size(), pages, pageSize)
	}
	return nil
}
