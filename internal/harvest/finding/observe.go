package finding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// maxFileBytes is the largest file that is hashed while a turn waits: 4 MiB take
// about three milliseconds. The repository's index skips files of a quarter of
// that.
const maxFileBytes = 4 << 20

// maxMatches is how many of the files that a search found are hashed.
const maxMatches = 8

// Observe returns what session.Options.Annotate asks for: it notes beside a tool's
// result the hashes of the files that the call was about, as they are at this
// moment, under their paths relative to root. They are spelt as package repository
// spells them, so that a claim which rests on one stops standing when the index
// sees the file changed.
//
// A file that is not there has the hash "". Files outside of root, symbolic links
// that lead there, files that are there to hold secrets, larger ones than 4 MiB
// and what can't be read are left out. The function is safe for concurrent use; a
// root that is empty or can't be opened makes one that notes nothing.
func Observe(root string, t Tools) func(ctx context.Context, e *session.Entry, call *ken.ToolCall) {
	if root == "" {
		return func(context.Context, *session.Entry, *ken.ToolCall) {}
	}
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	roots := []string{filepath.ToSlash(root)}
	if resolved, err := filepath.EvalSymlinks(root); err == nil && resolved != root {
		roots = append(roots, filepath.ToSlash(resolved))
	}
	return func(ctx context.Context, e *session.Entry, call *ken.ToolCall) {
		if call == nil || e.Message.Role != "tool" && e.Message.Role != "function" {
			return
		}
		tool, ok := t.Lookup(call.Name)
		if !ok {
			return
		}
		s := subjectOf(tool, call.Arguments)
		names := s.paths
		if s.role == Search {
			names, _ = matches(e.Message.Text, maxMatches)
		}
		if len(names) == 0 || s.role == List {
			return
		}
		dir, err := os.OpenRoot(root)
		if err != nil {
			return
		}
		defer dir.Close() // nothing was written
		for _, name := range names {
			rel, ok := below(name, roots)
			if !ok || ctx.Err() != nil || sensitive(rel) {
				continue
			}
			hash, ok := hashFile(dir, rel)
			if !ok || hash == "" && s.role == Search {
				continue
			}
			if e.Files == nil {
				e.Files = map[string]string{}
			}
			e.Files[rel] = hash
		}
	}
}

// below spells a path from the project's folder, and reports whether it lies in it.
func below(name string, roots []string) (string, bool) {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	for _, r := range roots {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(r, "/")+"/"); ok {
			name = rest
			break
		}
	}
	return name, !absolute(name) && filepath.IsLocal(filepath.FromSlash(name)) && name != "."
}

// hashFile hashes a file of the folder. ok is false for what is no file to speak
// of; a file that is not there has the hash "".
func hashFile(dir *os.Root, rel string) (hash string, ok bool) {
	name := filepath.FromSlash(rel)
	info, err := dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := dir.Lstat(name) // a link that leads nowhere is there
		return "", errors.Is(err, fs.ErrNotExist)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return "", false
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close() // nothing was written
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxFileBytes+1))
	if err != nil || n > maxFileBytes {
		return "", false
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), true
}
