package objective

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// DefaultFolder is the folder of objectives, from the root.
const DefaultFolder = ".ken/knowledge/objectives"

// Options configures a Store. The zero value is the default.
type Options struct {
	Folder string           // from the root, with slashes; empty means DefaultFolder
	Now    func() time.Time // nil means time.Now
}

// Store accesses the objectives of a project. Every call looks for changed files and reads them. Store is safe for
// concurrent use. Writes are also safe against other processes that write through a Store.
type Store struct {
	files *projectfile.Folder
	o     Options

	mu    sync.Mutex // guards known
	known map[string]cachedFile
}

// cachedFile is a parsed file with the properties that tell whether it has changed.
type cachedFile struct {
	doc             *document // immutable
	size            int64
	modTime, readAt time.Time
}

const (
	lockName = ".ken/state/.objectives.lock"

	// clockGranularity is the minimum time between two writes that modification times can distinguish: two seconds on
	// the coarsest file systems in use.
	clockGranularity = 2 * time.Second
)

// Open opens the objectives below root. The folder is created with the first objective.
func Open(root string, o Options) (*Store, error) {
	o.Folder = path.Clean(cmp.Or(strings.TrimSuffix(o.Folder, "/"), DefaultFolder))
	if !fs.ValidPath(o.Folder) {
		return nil, invalid("folder", fmt.Sprintf("%q leads out of the project", o.Folder), "Give a folder from the root, such as "+DefaultFolder+".")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	files, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	return &Store{files: files, o: o, known: map[string]cachedFile{}}, nil
}

// Close closes the root folder.
func (s *Store) Close() error { return s.files.Close() }

// List returns the objectives with one of the statuses, or all, ordered by id, and the problems. A broken objective is
// in both, as far as it could be read. The error is that of ctx or of the folder.
func (s *Store) List(ctx context.Context, statuses ...Status) ([]Objective, []Problem, error) {
	docs, problems, err := s.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out []Objective
	for _, d := range docs {
		if len(statuses) == 0 || slices.Contains(statuses, d.Status) {
			out = append(out, d.copy())
		}
	}
	return out, problems, nil
}

// all reads every file. The result is ordered by id, then by path.
func (s *Store) all(ctx context.Context) (docs []*document, problems []Problem, err error) {
	entries, err := s.files.List(s.o.Folder)
	if err != nil {
		return nil, nil, fmt.Errorf("list objectives: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if e.Folder || !yamlFile(e.Name) {
			continue
		}
		p := path.Join(s.o.Folder, e.Name)
		if e.Link {
			problems = append(problems, Problem{p, 0, "a symbolic link; it is not read", "Put the file itself there."})
			continue
		}
		d, err := s.read(p, e)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it was removed since
		case err != nil:
			problems = append(problems, Problem{p, 0, err.Error(), "See that it can be read, and is no larger than a megabyte."})
			continue
		}
		problems = append(problems, d.problems...)
		if d.ID == "" {
			problems = append(problems, Problem{p, 0, "no id, neither in the file nor in its name", "Name the file OBJ-0001.yaml, with the next free number."})
			continue
		}
		docs = append(docs, d)
	}
	slices.SortStableFunc(docs, func(a, b *document) int {
		return cmp.Or(cmp.Compare(numberOf(a.ID), numberOf(b.ID)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path))
	})
	for i := 1; i < len(docs); i++ {
		if docs[i].ID == docs[i-1].ID {
			problems = append(problems, Problem{docs[i].Path, 0, docs[i].ID + " is also " + docs[i-1].Path, "Give one of them the next free number."})
		}
	}
	return docs, problems, nil
}

// read reads a file, unless the cached one is current.
func (s *Store) read(p string, e projectfile.Entry) (*document, error) {
	s.mu.Lock()
	k, ok := s.known[p]
	s.mu.Unlock()
	if ok && k.size == e.Size && k.modTime.Equal(e.ModTime) && k.modTime.Add(clockGranularity).Before(k.readAt) {
		return k.doc, nil
	}
	at := s.o.Now()
	f, err := s.files.Read(p, 2*maxFile)
	if err != nil {
		return nil, err
	}
	k = cachedFile{parse(p, f.Bytes), int64(len(f.Bytes)), f.ModTime, at}
	s.mu.Lock()
	s.known[p] = k
	s.mu.Unlock()
	return k.doc, nil
}

// forget clears the cache, so that all files are read again.
func (s *Store) forget() {
	s.mu.Lock()
	clear(s.known)
	s.mu.Unlock()
}

// copy returns a copy of the objective, which the caller may change.
func (d *document) copy() Objective {
	o := d.Objective
	o.Tags, o.Decisions, o.Sessions, o.Tasks = slices.Clone(o.Tags), slices.Clone(o.Decisions), slices.Clone(o.Sessions), slices.Clone(o.Tasks)
	return o
}

func yamlFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(name))) && !strings.HasPrefix(name, ".")
}

// Read returns the objective with an id ("OBJ-0001", "obj 1", "1") and its problems. Errors: ErrNotFound, with the
// existing ids; ErrInvalid for an id that two files have.
func (s *Store) Read(ctx context.Context, id string) (Objective, []Problem, error) {
	d, err := s.find(ctx, id)
	if err != nil {
		return Objective{}, nil, err
	}
	return d.copy(), slices.Clone(d.problems), nil
}

func (s *Store) find(ctx context.Context, id string) (*document, error) {
	docs, _, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	want := strings.ToUpper(strings.TrimSpace(id))
	bare := strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimPrefix(want, "OBJ"))
	if n := numberOf("OBJ" + bare); n > 0 {
		want = spellID(n)
	}
	var fit []*document
	var ids []string
	for _, d := range docs {
		if d.ID == want || spellID(numberOf(d.ID)) == want {
			fit = append(fit, d)
		}
		ids = append(ids, d.ID)
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return nil, invalid("id", want+" is both "+fit[0].Path+" and "+fit[1].Path, "Give one of them the next free number.")
	}
	e := &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no objective %q", id), Try: "Create one first."}
	if len(ids) > 0 {
		e.Try = "Use one of " + strings.Join(ids[max(0, len(ids)-10):], ", ") + "."
	}
	return nil, e
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}
