package codegraph

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/repository"
)

// extracted is what came of reading a file.
type extracted struct {
	unit   *unit // nil when the content is what it was
	stat   stat
	failed bool // it could not be read
}

// extract reads a file and what it says.
func (b *builder) extract(t task) extracted {
	f := File{Path: t.file.Path}
	extractor := b.o.extractor(f.Path)
	if extractor == nil {
		return b.compacted(f, stat{}, false)
	}
	s := stat{t.file.Size, t.file.ModTime.UnixNano(), b.o.Now().UnixNano()}
	if t.file.Size > unreadBytes {
		f.Problems = []Problem{{Text: fmt.Sprintf("is too large to be read: %d MB", t.file.Size>>20)}}
		return b.compacted(f, s, true)
	}
	limit, head := b.o.MaxFileBytes, b.headOnly(t.file, nil)
	if head {
		limit = headBytes
	}
	c, err := b.tree.Read(f.Path, limit)
	if err != nil {
		return extracted{failed: true}
	}
	s.size, s.modTime = c.Size, c.ModTime.UnixNano()
	if t.old >= 0 {
		if u := b.v.unit(t.old); u.hash == c.Hash && !b.o.reread(f.Path) && u.has(headOnly) == b.headOnly(t.file, u) && u.stat != (stat{}) {
			return extracted{stat: s}
		}
	}
	head = head || c.Size > int64(len(c.Bytes)) // it has grown
	src, problem := text(c.Bytes)
	if head {
		src = wholeLines(src)
	}
	if problem != "" {
		f.Problems = []Problem{{Text: problem}}
	} else {
		f = safely(extractor, f.Path, src)
	}
	f.Hash = c.Hash
	f.Generated = f.Generated || t.file.Skip == repository.ReasonGenerated
	if head {
		f.Problems = nil // where it was cut off
	}
	return b.compacted(f, s, head || f.Generated && !b.o.Generated)
}

// compacted is the unit of a file; only others wait for it meanwhile.
func (b *builder) compacted(f File, s stat, head bool) extracted {
	if head {
		f.Decls, f.Uses = nil, nil
	}
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	u := b.g.compact(&f)
	u.stat = s
	if head {
		u.flags |= headOnly
	}
	return extracted{unit: u}
}

// safely runs an extractor. One that panics has a fault; that must not end a server.
func safely(e Extractor, path string, src []byte) (f File) {
	defer func() {
		if r := recover(); r != nil {
			f = File{Path: path, Problems: []Problem{{Text: line200(fmt.Sprint("the extractor failed: ", r))}}}
		}
	}()
	f = e(path, src)
	f.Path = path
	return f
}

// text turns a file's content into UTF-8, or says why it is no text.
func text(b []byte) (src []byte, problem string) {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if rest, ok := bytes.CutPrefix(b, []byte(mark)); ok {
			units := make([]uint16, len(rest)/2)
			for i := range units {
				units[i] = order.Uint16(rest[2*i:])
			}
			return []byte(string(utf16.Decode(units))), ""
		}
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, "is no text: it has bytes of value zero"
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	return b, ""
}

// wholeLines is a text without its last line, when that may have been cut off.
func wholeLines(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 && len(b) > headBytes/2 {
		return b[:i+1]
	}
	return b
}
