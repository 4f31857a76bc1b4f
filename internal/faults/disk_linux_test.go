package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// sector is the number of bytes that the disk writes atomically.
const sector = 512

// disk is a file system in memory. It records which data of each file has been synced: cut
// loses an arbitrary part of the rest. Creating, renaming and removing files is durable at
// once. It is safe for concurrent use.
type disk struct {
	dir    string
	server *fuse.Server

	mu   sync.Mutex // guards the rest, and the bytes of all files
	rng  *rand.Rand
	root *folder
	full bool                 // every write that needs space fails
	next map[string]injection // by operation: the failure of the next one
	hits map[string]int       // how often each injection has taken effect
}

// injection is a failure of one operation.
type injection struct {
	name string
	err  syscall.Errno
	part bool // a part of the write is done first
	drop bool // the data that is not synced yet is never written
}

// mount returns an empty disk. It skips the test where FUSE can't be used.
func mount(t testing.TB, rng *rand.Rand) *disk {
	t.Helper()
	d := &disk{dir: filepath.Join(t.TempDir(), "disk"), rng: rng, root: &folder{}, next: map[string]injection{}, hits: map[string]int{}}
	d.root.disk = d
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.start(); err != nil {
		t.Skipf("no file system that fails: FUSE can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := d.server.Unmount(); err != nil {
			t.Errorf("unmount the disk: %v", err)
		}
	})
	return d
}

func (d *disk) start() error {
	server, err := fs.Mount(d.dir, d.root, &fs.Options{MountOptions: fuse.MountOptions{
		FsName: "faults", Name: "faults", DirectMount: true, DisableXAttrs: true, MaxWrite: 1 << 20}})
	if err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	d.server = server
	return nil
}

// cut simulates a power cut. It loses an arbitrary part of each file's writes that were not
// synced, in whole sectors. No process may use the disk during the call.
func (d *disk) cut() error {
	if err := d.server.Unmount(); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	d.mu.Lock()
	d.root = d.root.copyOf(func(f *file) []byte { return f.afterCut(d.rng) })
	d.full, d.next = false, map[string]injection{}
	d.mu.Unlock()
	return d.start()
}

// copyTo copies all regular files to a folder, with the writes that are not synced.
func (d *disk) copyTo(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.writeTo(dir)
}

// inject makes the next operation of a kind ("write", "sync" or "read") fail.
func (d *disk) inject(op string, i injection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next[op] = i
}

// fill makes the disk full, or ends that.
func (d *disk) fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// heal removes all injections that have not taken effect yet, and ends fill.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.next = false, map[string]injection{}
}

// taken removes and returns the injection for an operation; the zero value if there is none. The
// caller holds d.mu.
func (d *disk) taken(op string) injection {
	i, ok := d.next[op]
	if ok {
		delete(d.next, op)
		d.hits[i.name]++
	}
	return i
}

// folder is a directory of the disk.
type folder struct {
	fs.Inode
	disk *disk
	// restored are the children that a new mount begins with; OnAdd adds them.
	restored map[string]fs.InodeEmbedder
}

var (
	_ fs.NodeOnAdder   = (*folder)(nil)
	_ fs.NodeCreater   = (*folder)(nil)
	_ fs.NodeMkdirer   = (*folder)(nil)
	_ fs.NodeMknoder   = (*folder)(nil)
	_ fs.NodeUnlinker  = (*folder)(nil)
	_ fs.NodeRmdirer   = (*folder)(nil)
	_ fs.NodeRenamer   = (*folder)(nil)
	_ fs.NodeFsyncer   = (*folder)(nil)
	_ fs.NodeSetattrer = (*folder)(nil)
)

func (n *folder) OnAdd(ctx context.Context) {
	for name, child := range n.restored {
		mode := uint32(syscall.S_IFREG)
		if _, ok := child.(*folder); ok {
			mode = syscall.S_IFDIR
		}
		n.AddChild(name, n.NewPersistentInode(ctx, child, fs.StableAttr{Mode: mode}), true)
	}
	n.restored = nil
}

// copyOf returns the folder with all that is in it, for a new mount. Sockets are left out.
func (n *folder) copyOf(content func(*file) []byte) *folder {
	out := &folder{disk: n.disk, restored: map[string]fs.InodeEmbedder{}}
	for name, child := range n.Children() {
		switch c := child.Operations().(type) {
		case *folder:
			out.restored[name] = c.copyOf(content)
		case *file:
			b := content(c)
			out.restored[name] = &file{disk: n.disk, mode: c.mode, data: b, durable: append([]byte(nil), b...)}
		}
	}
	return out
}

func (n *folder) writeTo(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, child := range n.Children() {
		var err error
		switch c := child.Operations().(type) {
		case *folder:
			err = c.writeTo(filepath.Join(dir, name))
		case *file:
			err = os.WriteFile(filepath.Join(dir, name), c.data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *folder) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.full {
		n.disk.hits["full disk"]++
		return nil, nil, 0, syscall.ENOSPC
	}
	f := &file{disk: n.disk, mode: mode & 0o777}
	out.Mode = f.mode
	return n.NewPersistentInode(ctx, f, fs.StableAttr{Mode: syscall.S_IFREG}), nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *folder) Mkdir(ctx context.Context, _ string, _ uint32, _ *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.NewPersistentInode(ctx, &folder{disk: n.disk}, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
}

// Mknod creates the file of a Unix socket.
func (n *folder) Mknod(ctx context.Context, _ string, mode, _ uint32, _ *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.NewPersistentInode(ctx, &special{}, fs.StableAttr{Mode: mode & syscall.S_IFMT}), 0
}

func (*folder) Unlink(context.Context, string) syscall.Errno { return 0 }

func (n *folder) Rmdir(_ context.Context, name string) syscall.Errno {
	if child := n.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return 0
}

func (*folder) Rename(context.Context, string, fs.InodeEmbedder, string, uint32) syscall.Errno {
	return 0
}

func (*folder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }

func (*folder) Setattr(_ context.Context, _ fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	out.Mode = 0o755
	return 0
}

// special is a socket.
type special struct{ fs.Inode }

var _ fs.NodeSetattrer = (*special)(nil)

func (*special) Setattr(context.Context, fs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return 0
}
