package console

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// census is what takes a look at each session, job and file of an owner.
type census struct {
	Sessions map[session.State]int
	Jobs     map[jobs.State]int
	Files    []fileSize // of the owner's folder, by name
	Bytes    int64      // all of them
	Unread   []string   // what could not be looked at
}

// fileSize is a file, or a folder with all that is in it.
type fileSize struct {
	Name  string
	Bytes int64
}

// censusLasts is after how long a census is taken anew.
const censusLasts = 3 * time.Second

// census is the visitor's owner's; nil while the first one is being taken.
func (v *visit) census() *census {
	owner := v.owner()
	return v.con.health.censuses.get(v, owner, newerThan[census](v.con, censusLasts), func(ctx context.Context, _ *census) *census { return v.con.takeCensus(ctx, owner) })
}

// takeCensus counts. What can't be read is said, and counts as nothing.
func (c *Console) takeCensus(ctx context.Context, owner string) *census {
	out := &census{Sessions: map[session.State]int{}, Jobs: map[jobs.State]int{}}
	unread := func(err error) {
		if err != nil && ctx.Err() == nil {
			out.Unread = append(out.Unread, err.Error())
		}
	}
	infos, err := c.l.Journal(owner).List(ctx)
	unread(err)
	for i := range infos {
		out.Sessions[infos[i].State]++
	}
	list, err := c.l.Jobs(owner).List(ctx)
	unread(err)
	for i := range list {
		out.Jobs[list[i].State]++
	}
	cfg := c.l.Config()
	out.Files, out.Bytes, err = folderSizes(filepath.Join(cfg.State(c.l.Root()), bolt.FolderName(owner)))
	unread(err)
	return out
}

// folderSizes is what lies in a folder and how large it is, by name. A file that goes
// away meanwhile, as those of an index do, counts as nothing.
func folderSizes(dir string) (list []fileSize, total int64, err error) {
	at := map[string]int{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name], list = i, append(list, fileSize{Name: name})
		}
		list[i].Bytes += info.Size()
		total += info.Size()
		return nil
	})
	return list, total, err
}
