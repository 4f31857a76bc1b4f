package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Bounds of a skill's folder. They are larger than any real skill.
const (
	MaxFiles       = 500
	MaxFolderBytes = 32 << 20
)

// list returns the files below a skill's folder. Links are not followed, and names
// that start with a dot are left out.
func list(dir, self string) ([]File, error) {
	var files []File
	var total int64
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == dir:
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == self {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files = append(files, File{Path: filepath.ToSlash(rel), Size: info.Size()})
		if total += info.Size(); len(files) > MaxFiles || total > MaxFolderBytes {
			return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%s has more than %d files or %d bytes", dir, MaxFiles, MaxFolderBytes),
				Try: "Give the playbook a folder of its own, with what it needs and nothing else."}
		}
		return nil
	})
	if err != nil {
		if e := (*ken.Error)(nil); errors.As(err, &e) {
			return nil, err
		}
		return nil, unreadable(dir, err)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// link matches a Markdown link; its group is the target without a title.
var link = lazyregexp.New(`\]\(\s*<?([^)\s>]+)>?[^)]*\)`)

// missing returns the relative links of a text to files that are not in the
// folder, each once, in their order.
func missing(body string, files []File) (out []string) {
	there := map[string]bool{}
	for _, f := range files {
		there[f.Path] = true
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			there[dir] = true
		}
	}
	for _, m := range link.FindAllStringSubmatch(body, -1) {
		u, err := url.Parse(m[1])
		if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.HasPrefix(u.Path, "/") {
			continue
		}
		name := path.Clean(u.Path)
		if there[name] || name == "." || strings.EqualFold(name, fileName) || slices.Contains(out, name) {
			continue
		}
		out = append(out, name)
	}
	return out
}
