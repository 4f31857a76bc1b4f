package decision

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/projectfile"
)

// scan reads the folders once.
type scan struct {
	r        *Registry
	ctx      context.Context
	old, now map[string]*page
	written  []string
	at       time.Time // from before the first reading
	stale    []string  // files to read, in the order in which they were found
	problems []Problem
	full     bool
}

// all lists the folders, and then reads the files that are not as they were, several at
// once: reading and parsing is what takes the time.
func (s *scan) all() error {
	for _, f := range s.r.o.Folders {
		if err := s.folder(f, 0); err != nil {
			return err
		}
	}
	read := make([]*page, len(s.stale))
	failed := make([]error, len(s.stale))
	atOnce(len(s.stale), func(i int) {
		if failed[i] = s.ctx.Err(); failed[i] == nil {
			failed[i] = caught.Run(func() (err error) {
				read[i], err = s.read(s.stale[i])
				return err
			})
		}
	})
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for i, p := range s.stale {
		if s.now[p] = read[i]; failed[i] != nil {
			delete(s.now, p)
			s.unread(p, failed[i])
		}
	}
	return nil
}

// atOnce calls do for 0 to n-1, on as many goroutines as can run.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func (s *scan) folder(dir string, depth int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := s.r.files.List(dir)
	if err != nil {
		s.unread(dir, err)
		return nil
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name)
		switch {
		case e.Link:
			if markdown(e.Name) {
				s.problems = append(s.problems, Problem{Path: p, Text: "a symbolic link; it is not read", Try: "Put the file itself there."})
			}
		case e.Folder:
			if depth < maxDepth && e.Name != "node_modules" && e.Name != ".git" {
				if err := s.folder(p, depth+1); err != nil {
					return err
				}
			}
		case !markdown(e.Name) || s.has(p):
		case len(s.now) >= s.r.o.MaxFiles:
			if !s.full {
				s.problems = append(s.problems, Problem{Path: dir, Text: fmt.Sprintf("more than %d files; the rest is not read", s.r.o.MaxFiles), Try: "Name the folders of the decisions more closely."})
			}
			s.full = true
		default:
			s.file(p, e)
		}
	}
	return nil
}

// has reports whether a file was found already: folders may lie within others.
func (s *scan) has(p string) bool {
	_, ok := s.now[p]
	return ok
}

// file takes a file as it was, or leaves it to be read.
func (s *scan) file(p string, e projectfile.Entry) {
	was := s.old[p]
	if was != nil && was.size == e.Size && was.modTime.Equal(e.ModTime) && was.modTime.Add(clockGranularity).Before(was.readAt) && !slices.Contains(s.written, p) {
		s.now[p] = was
		return
	}
	s.now[p] = nil // its place
	s.stale = append(s.stale, p)
}

func (s *scan) read(p string) (*page, error) {
	f, err := s.r.files.Read(p, maxFile)
	if err != nil {
		return nil, err
	}
	var n *page
	if was := s.old[p]; was != nil && was.doc.Hash == f.Hash {
		again := *was
		n = &again
	} else {
		d := parse(p, f.Bytes)
		d.ModTime = f.ModTime
		n = pageOf(d)
	}
	n.size, n.modTime, n.readAt = int64(len(f.Bytes)), f.ModTime, s.at
	return n, nil
}

func (s *scan) unread(p string, err error) {
	text, try := err.Error(), "See that it can be read."
	if errors.Is(err, projectfile.ErrTooLarge) {
		text, try = fmt.Sprintf("more than %d bytes; it is not read", maxFile), "Put what is no decision into files of its own."
	}
	s.problems = append(s.problems, Problem{Path: p, Text: text, Try: try})
}
