package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxEvidenceFile bounds the files that are hashed while an agent waits: 16 MiB take
// some ten milliseconds.
const maxEvidenceFile = 16 << 20

// file is a file of the project with the hash of its whole content, as the
// repository's index computes it. Symbolic links are followed within the project only.
func (c *Call) file(name, field string) (ken.Evidence, error) {
	root := c.r.layer.Root()
	rel := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if rest, ok := strings.CutPrefix(rel, filepath.ToSlash(root)+"/"); ok {
		rel = rest
	}
	if !filepath.IsLocal(filepath.FromSlash(rel)) || rel == "." || strings.Contains(rel, "\x00") {
		return ken.Evidence{}, invalid(field+".path", clipped(name)+" is not a file of the project",
			"Give a path relative to the project's root, or use agent_assertion.")
	}
	unreadable := func(why string) error {
		return invalid(field+".path", "Ken can't read "+clipped(rel)+": "+why, "Check the path, which is relative to the project's root, or use agent_assertion.")
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return ken.Evidence{}, unreadable("the project's folder can't be opened")
	}
	defer dir.Close() // nothing was written
	info, err := dir.Stat(filepath.FromSlash(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ken.Evidence{}, unreadable("there is no such file")
	case err != nil:
		return ken.Evidence{}, unreadable("it leads out of the project, or may not be read")
	case !info.Mode().IsRegular():
		return ken.Evidence{}, unreadable("it is no file")
	case info.Size() > maxEvidenceFile:
		return ken.Evidence{}, unreadable("it is too large")
	}
	f, err := dir.Open(filepath.FromSlash(rel))
	if err != nil {
		return ken.Evidence{}, unreadable("it may not be read")
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, maxEvidenceFile+1)); err != nil || n > maxEvidenceFile {
		return ken.Evidence{}, unreadable("it can't be read whole")
	}
	e := ken.FromFile(rel, "", "")
	e.ContentHash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return e, nil
}

var commitHash = lazyregexp.New(`^[0-9a-fA-F]{7,64}$`)

// commit is a commit of the project's repository, if git knows it.
func (c *Call) commit(ctx context.Context, hash, field string) (e ken.Evidence, why string, err error) {
	if hash = strings.TrimSpace(hash); !commitHash.MatchString(hash) {
		return e, "", invalid(field+".commit", clipped(hash)+" is not the hash of a commit", "Give at least 7 hexadecimal digits, as git log shows them.")
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-C", c.r.layer.Root(),
		"log", "-1", "--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-patch", "--encoding=UTF-8", "--format=%H%x00%s", hash, "--")
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
	out, err := cmd.Output()
	if err != nil {
		return e, "git does not know commit " + clipped(hash) + " in the project", nil
	}
	full, subject, _ := strings.Cut(strings.TrimSpace(string(out)), "\x00")
	return ken.FromGitHistory("", full, bounded(subject, 200)), "", nil
}
