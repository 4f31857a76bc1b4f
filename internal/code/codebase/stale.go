package codebase

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// clockGranularity is how far apart two writes must be for the time of a file to tell
// them apart.
const clockGranularity = 2 * time.Second

// maxAsked bounds what is remembered of files that Update was asked about.
const maxAsked = 4096

// asked is what a file was like when Update last looked at it.
type asked struct {
	size    int64 // -1 for a folder
	modTime time.Time
	at      time.Time
}

// Stale picks those of some files and folders, by path from the root with slashes, that
// are not what the graph knows: they were changed, made or deleted since. It reads no
// file, follows no link and leads nowhere out of the root; what is neither file nor
// folder is left out. It takes some microseconds a path.
func (c *Codebase) Stale(paths ...string) (out []string) {
	if len(paths) == 0 {
		return nil
	}
	root, err := os.OpenRoot(c.o.Root)
	if err != nil {
		return nil
	}
	defer root.Close() // it was only looked at
	v := c.View()
	for _, p := range paths {
		now, ok := look(root, p)
		switch {
		case !ok:
		case now == nil:
			if v.Holds(p) {
				out = append(out, p)
			}
		case c.wasAsked(p, now):
		case now.size < 0:
			out = append(out, p)
		default:
			s, ok := v.Stamp(p)
			if !ok || s.Size != now.size || !s.ModTime.Equal(now.modTime) || !s.ModTime.Add(clockGranularity).Before(s.ReadAt) {
				out = append(out, p)
			}
		}
	}
	return out
}

// look says what is at a path: nil for nothing, and false for what is no business of the
// graph.
func look(root *os.Root, p string) (*asked, bool) {
	if !fs.ValidPath(p) || p == "." {
		return nil, false
	}
	info, err := root.Lstat(filepath.FromSlash(p))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true
	case err != nil:
		return nil, false
	case info.IsDir():
		return &asked{size: -1, modTime: info.ModTime()}, true
	case !info.Mode().IsRegular():
		return nil, false
	}
	return &asked{size: info.Size(), modTime: info.ModTime()}, true
}

// wasAsked reports whether Update has looked at a path as it is now: what it left out
// then, it would leave out again.
func (c *Codebase) wasAsked(p string, now *asked) bool {
	c.asking.Lock()
	defer c.asking.Unlock()
	was, ok := c.asked[p]
	return ok && was.size == now.size && was.modTime.Equal(now.modTime) && was.modTime.Add(clockGranularity).Before(was.at)
}

// glance says what is at the paths before they are read.
func (c *Codebase) glance(paths []string) map[string]asked {
	root, err := os.OpenRoot(c.o.Root)
	if err != nil {
		return nil
	}
	defer root.Close() // it was only looked at
	out := make(map[string]asked, len(paths))
	at := c.o.Now()
	for _, p := range paths {
		if now, ok := look(root, p); ok && now != nil {
			now.at = at
			out[p] = *now
		}
	}
	return out
}

// note remembers what was looked at.
func (c *Codebase) note(seen map[string]asked) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.asked == nil || len(c.asked)+len(seen) > maxAsked {
		c.asked = make(map[string]asked, len(seen))
	}
	for p, s := range seen {
		c.asked[p] = s
	}
}
