package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gitLimit is the timeout of a git command.
const gitLimit = 10 * time.Second

// Git prepares a git command in dir that asks for no input, changes nothing, and starts no program that the
// repository's configuration names.
func Git(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "log.showSignature=false"}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook's GIT_DIR would name another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	return cmd
}

// git runs git in dir with in as its standard input.
func git(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	// The folder may belong to another user, as in a container. None of these commands runs programs that a
	// repository names.
	cmd := Git(ctx, dir, append([]string{"-c", "safe.directory=*"}, args...)...)
	cmd.Stdin = in
	return cmd.Output()
}

// inRepository reports whether dir is in a git repository, readable or not.
func inRepository(dir string) bool {
	for at := Real(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// unknown is the result of tracked for a repository that git can't read.
const unknown = "unknown"

// repositories returns the folders in which git must be asked about path in the project in root: root, and every
// folder between root and path with its own repository, such as a submodule. Both are real paths.
func repositories(root, path string) []string {
	dirs := []string{root}
	if !Inside(root, path) {
		return dirs
	}
	for at := path; at != root; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			dirs = append(dirs, at)
		}
	}
	return dirs
}

// tracked returns a hash of what the project's git repository and its submodules track at path and below; "" if
// nothing. If that can't be determined, it returns unknown.
func tracked(root, path string) string {
	if !Inside(root, path) {
		return ""
	}
	seen := viewOf(root, path)
	if have, ok := listed.Load(seen); ok && seen.index != "" {
		return have.(string)
	}
	sum, some := sha256.New(), false
	for _, dir := range repositories(root, path) {
		if !inRepository(dir) {
			continue
		}
		if _, err := exec.LookPath("git"); err != nil {
			return unknown
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return unknown
		}
		out, err := git(context.Background(), dir, nil, "ls-files", "-s", "-z", "--", ":(literal)"+filepath.ToSlash(rel))
		if err != nil {
			return unknown
		}
		some = some || len(out) > 0
		sum.Write(out)
	}
	hash := ""
	if some {
		hash = hex.EncodeToString(sum.Sum(nil))
	}
	listed.Store(seen, hash)
	return hash
}

// listed caches the results of tracked, by gitView.
var listed sync.Map

// gitView identifies a query about a path and the state of git's index at that time. index is "" if the state
// can't be determined, as in a submodule.
type gitView struct{ root, path, index string }

func viewOf(root, path string) gitView {
	s := gitView{root: root, path: path}
	if len(repositories(root, path)) > 1 {
		return s
	}
	for at := root; ; at = filepath.Dir(at) {
		dir := filepath.Join(at, ".git")
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			if index, err := os.Stat(filepath.Join(dir, "index")); err == nil {
				s.index = fmt.Sprint(dir, index.Size(), index.ModTime().UnixNano())
			}
			return s
		} else if err == nil || at == filepath.Dir(at) {
			return s
		}
	}
}

// Brought reports whether a file or folder came with the project in root: it is in the project's folder, and the
// repository tracks it or that can't be determined.
func Brought(root, path string) bool {
	root, path = Real(root), Real(path)
	return Inside(root, path) && tracked(root, path) != ""
}

// versions are the places where git may have another version of a file than the user's current one: the last
// commit, the commits of a reset, merge, rebase or fetch, and the index with both sides of a conflict.
var versions = []string{"HEAD:./", "ORIG_HEAD:./", "FETCH_HEAD:./", "MERGE_HEAD:./", "REBASE_HEAD:./", "CHERRY_PICK_HEAD:./", ":./", ":1:./", ":2:./", ":3:./"}

// Committed returns the versions of a file in the project's git repository and in submodules that contain it. ok
// is false if they can't be determined, or if git converts the file on checkout, so that lines can't be compared.
func Committed(ctx context.Context, root, path string) (found [][]byte, ok bool) {
	root, path = Real(root), Real(path) // a link may lead to a file under another name
	for _, dir := range repositories(root, path) {
		if !inRepository(dir) {
			continue
		}
		more, ok := committed(ctx, dir, path)
		if !ok {
			return nil, false
		}
		found = append(found, more...)
	}
	return found, true
}

// committed is Committed for the repository in dir.
func committed(ctx context.Context, dir, path string) (found [][]byte, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, false
	}
	rel = filepath.ToSlash(rel)
	attr, err := git(ctx, dir, nil, "check-attr", "-z", "ident", "working-tree-encoding", "filter", "--", rel)
	if err != nil {
		return nil, false
	}
	for i, f := range strings.Split(string(attr), "\x00") {
		if i%3 == 2 && f != "unspecified" && f != "unset" {
			return nil, false
		}
	}
	var ask strings.Builder
	for _, v := range versions {
		ask.WriteString(v + rel + "\n")
	}
	out, err := git(ctx, dir, strings.NewReader(ask.String()), "cat-file", "--batch")
	if err != nil {
		return nil, false
	}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		if out = rest; bytes.HasSuffix(head, []byte(" missing")) || bytes.HasSuffix(head, []byte(" ambiguous")) {
			continue
		}
		fields := strings.Fields(string(head))
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil || n < 0 || n >= len(out) {
			return nil, false
		}
		found, out = append(found, out[:n]), out[n+1:]
	}
	return found, true
}
