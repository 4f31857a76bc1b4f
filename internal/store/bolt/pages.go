package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// These constants describe a page as bbolt writes it: a header, then for each key an element, then the
// keys and values that the elements point to.
const (
	pageHeader  = 16 // id 8, flags 2, number of elements 2, number of pages that follow 4
	pageElement = 16

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10

	bucketElement = 0x01 // the flag of a leaf's element whose value is a bucket
	bucketHeader  = 16   // root page 8, sequence 8; with root 0 a page follows
)

// pageCheck reads the pages of a file and believes no number in them. The check of bbolt does: it
// ends the process, or reads without end, when a damaged page says that a key is longer than the file.
type pageCheck struct {
	file    io.ReaderAt
	size    int    // bytes of a page
	pages   uint64 // of the file that are in use or free
	seen    map[uint64]bool
	problem func(format string, args ...any)
}

// checkPages checks the structure of a store's file as tx sees it. Each problem is one call of problem.
func checkPages(tx *bbolt.Tx, path string, problem func(format string, args ...any)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size := tx.DB().Info().PageSize
	c := &pageCheck{f, size, uint64(tx.Size()) / uint64(size), map[uint64]bool{}, problem}
	c.tree(uint64(tx.Cursor().Bucket().Root()), nil, nil)
	for id := uint64(0); id < c.pages; id++ {
		info, err := tx.Page(int(id))
		switch {
		case err != nil: // the list of free pages is not read when the file is only read
			return nil
		case info.Type == "free" && c.seen[id]:
			problem("page %d is in use, and in the list of free pages", id)
		case info.Type != "free" && !c.seen[id]:
			if p := c.read(id); p != nil && flagsOf(p)&(metaPage|freelistPage) == 0 {
				problem("page %d is neither in use nor free", id)
			}
		}
	}
	return nil
}

func flagsOf(page []byte) uint16 { return binary.NativeEndian.Uint16(page[8:]) }

// read returns a page with those that follow it; nil after reporting that it can't be one.
func (c *pageCheck) read(id uint64) []byte {
	if id >= c.pages {
		c.problem("page %d is behind the end of the file", id)
		return nil
	}
	at := int64(id) * int64(c.size)
	head := make([]byte, pageHeader)
	if _, err := c.file.ReadAt(head, at); err != nil {
		c.problem("page %d can't be read: %v", id, err)
		return nil
	}
	n := 1 + uint64(binary.NativeEndian.Uint32(head[12:]))
	if own := binary.NativeEndian.Uint64(head); own != id || n > c.pages-id {
		c.problem("page %d is damaged: it says that it is page %d and has %d pages", id, own, n)
		return nil
	}
	for i := id; i < id+n; i++ {
		if c.seen[i] {
			c.problem("page %d is used twice", i)
			return nil
		}
		c.seen[i] = true
	}
	page := make([]byte, int(n)*c.size)
	if _, err := c.file.ReadAt(page, at); err != nil {
		c.problem("page %d can't be read: %v", id, err)
		return nil
	}
	return page
}

// tree checks a page and all below it. Its keys are in order, at least low and less than high; nil
// is no limit.
func (c *pageCheck) tree(id uint64, low, high []byte) {
	page := c.read(id)
	if page == nil {
		return
	}
	if f := flagsOf(page); f != branchPage && f != leafPage {
		c.problem("page %d is neither a branch nor a leaf: its flags are %#x", id, f)
		return
	}
	c.elements(page, fmt.Sprintf("page %d", id), low, high)
}

// elements checks the keys of a page, and what they lead to.
func (c *pageCheck) elements(page []byte, name string, low, high []byte) {
	type child struct {
		id  uint64
		key []byte
	}
	var children []child
	branch := flagsOf(page) == branchPage
	for i := range int(binary.NativeEndian.Uint16(page[10:])) {
		at := pageHeader + i*pageElement
		if at+pageElement > len(page) {
			c.problem("%s is damaged: it has no room for its elements", name)
			return
		}
		e := page[at : at+pageElement]
		number := func(i int) uint64 { return uint64(binary.NativeEndian.Uint32(e[i:])) }
		pos, keyLen, valueLen := number(4), number(8), number(12)
		if branch {
			pos, keyLen, valueLen = number(0), number(4), 0
		}
		from := uint64(at) + pos
		if from+keyLen+valueLen > uint64(len(page)) {
			c.problem("%s is damaged: element %d is behind its end", name, i)
			return
		}
		key, value := page[from:from+keyLen], page[from+keyLen:from+keyLen+valueLen]
		if order := bytes.Compare(key, low); i == 0 && order < 0 || i > 0 && order <= 0 || high != nil && bytes.Compare(key, high) >= 0 {
			c.problem("%s is damaged: the key of element %d is out of order", name, i)
			return
		}
		low = key
		switch {
		case branch:
			children = append(children, child{binary.NativeEndian.Uint64(e[8:]), key})
		case number(0)&bucketElement == 0:
		case len(value) < bucketHeader:
			c.problem("%s is damaged: the bucket of element %d is too short", name, i)
		default:
			c.bucket(value, fmt.Sprintf("bucket %q of %s", key, name))
		}
	}
	for i, next := range children {
		end := high
		if i+1 < len(children) {
			end = children[i+1].key
		}
		c.tree(next.id, next.key, end)
	}
}

// bucket checks a bucket by the value that describes it.
func (c *pageCheck) bucket(value []byte, name string) {
	root, inline := binary.NativeEndian.Uint64(value), value[bucketHeader:]
	switch {
	case root != 0:
		c.tree(root, nil, nil)
	case len(inline) < pageHeader || flagsOf(inline) != leafPage:
		c.problem("%s is damaged: it has no page", name)
	default:
		c.elements(inline, name, nil, nil)
	}
}
