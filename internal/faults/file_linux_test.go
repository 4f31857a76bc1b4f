package faults

import (
	"context"
	"math/rand/v2"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// file is a regular file of the disk. The disk's lock guards its fields.
type file struct {
	fs.Inode
	disk    *disk
	mode    uint32
	data    []byte   // the content that reads return
	durable []byte   // the content that has been synced
	pending []change // the changes since the last sync, in order
}

// change is a write, or a change of the size if data is nil.
type change struct {
	at   int
	data []byte
}

var (
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
)

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if i := f.disk.taken("read"); i.err != 0 {
		return nil, i.err
	}
	from := min(int(off), len(f.data))
	to := min(from+len(dest), len(f.data))
	return fuse.ReadResultData(append([]byte(nil), f.data[from:to]...)), 0
}

func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.full && int(off)+len(data) > len(f.data) {
		f.disk.hits["full disk"]++
		return 0, syscall.ENOSPC
	}
	i := f.disk.taken("write")
	if i.part {
		half := data[:f.disk.rng.IntN(len(data)+1)]
		f.change(change{int(off), half})
		if i.err == 0 { // a short write: the caller has to go on
			return uint32(len(half)), 0
		}
	}
	if i.err != 0 {
		return 0, i.err
	}
	f.change(change{int(off), data})
	return uint32(len(data)), 0
}

func (f *file) change(c change) {
	if len(c.data) == 0 {
		return
	}
	c.data = append([]byte(nil), c.data...)
	f.data = c.applied(f.data)
	f.pending = append(f.pending, c)
}

func (c *change) applied(b []byte) []byte {
	if c.data == nil {
		return resized(b, c.at)
	}
	if end := c.at + len(c.data); end > len(b) {
		b = resized(b, end)
	}
	copy(b[c.at:], c.data)
	return b
}

func resized(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n]
	}
	return append(b, make([]byte, n-len(b))...)
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	i := f.disk.taken("sync")
	if i.drop { // as Linux does: the pages count as clean, and are not written again
		f.pending = nil
	}
	if i.err != 0 {
		return i.err
	}
	for _, c := range f.pending {
		f.durable = c.applied(f.durable)
	}
	f.pending = nil
	return 0
}

// afterCut returns the content after a power cut: the synced content with a random part of the
// later writes, in whole sectors.
func (f *file) afterCut(rng *rand.Rand) []byte {
	b := f.durable
	keep := rng.Float64() // from nearly nothing to nearly everything
	for _, c := range f.pending {
		if c.data == nil {
			if rng.Float64() < keep {
				b = c.applied(b)
			}
			continue
		}
		for from := 0; from < len(c.data); {
			to := min(len(c.data), (c.at+from)/sector*sector+sector-c.at)
			if rng.Float64() < keep {
				part := change{c.at + from, c.data[from:to]}
				b = part.applied(b)
			}
			from = to
		}
	}
	return b
}

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode, out.Size = f.mode, uint64(len(f.data))
	out.Blocks = (out.Size + sector - 1) / sector
	return 0
}

func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if size, ok := in.GetSize(); ok && int(size) != len(f.data) {
		if f.disk.full && int(size) > len(f.data) {
			f.disk.hits["full disk"]++
			return syscall.ENOSPC
		}
		f.data = resized(f.data, int(size))
		f.pending = append(f.pending, change{at: int(size)})
	}
	if mode, ok := in.GetMode(); ok {
		f.mode = mode & 0o777
	}
	out.Mode, out.Size = f.mode, uint64(len(f.data))
	return 0
}
