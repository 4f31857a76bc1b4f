package consoletest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

//go:embed all:testdata/project
var projectFiles embed.FS

const projectRoot = "testdata/project"

// staleFile is a file that claims rest on and that changed afterwards.
const staleFile = "retry/backoff.go"

// hostileFile is a file's name that means something in HTML. embed refuses it, so it is
// not below testdata.
const hostileFile = `docs/<img src=x onerror=window.pwned=1>.md`

// files writes the project's files and its configuration.
func (f *furnisher) files() error {
	err := fs.WalkDir(projectFiles, projectRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := projectFiles.ReadFile(path)
		if err != nil {
			return err
		}
		// A go.mod of its own would keep the folder out of this module, and of embed.
		name := strings.TrimPrefix(strings.TrimSuffix(path, ".txt"), projectRoot+"/")
		return f.write(name, b)
	})
	if err != nil {
		return err
	}
	if err := f.write(hostileFile, []byte("# <script>window.pwned=1</script>\n\nA page whose name is a picture.\n")); err != nil {
		return err
	}
	return f.write(".ken/config.yaml", []byte(f.config()))
}

func (f *furnisher) write(name string, b []byte) error {
	path := filepath.Join(f.project.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// config lets the three keys in. What is found must not depend on the machine's load, so
// that the deadline is long.
func (f *furnisher) config() string {
	var b strings.Builder
	b.WriteString("retrieval:\n  deadline: 30s\ngateway:\n  keys:\n")
	k := f.project.Keys
	key := func(name, secret, owner, rights string) {
		fmt.Fprintf(&b, "    - {name: %s, hash: %q, owner: %s, project: payments, rights: [%s]}\n", name, access.HashKey(secret), owner, rights)
	}
	key("operator", k.Operator, ken.DefaultOwner, "chat, read, write, operate")
	key("reader", k.Reader, ken.DefaultOwner, "read")
	key("other", k.Other, Bob, "chat, read, write, operate")
	return b.String()
}

// fileEvidence points at a file of the project as it is now.
func (f *furnisher) fileEvidence(path string, line int) (ken.Evidence, error) {
	b, err := os.ReadFile(filepath.Join(f.project.Dir, filepath.FromSlash(path)))
	if err != nil {
		return ken.Evidence{}, err
	}
	e := ken.FromFile(path, Repo, commit)
	sum := sha256.Sum256(b)
	e.Line, e.ContentHash, e.FetchedAt = line, "sha256:"+hex.EncodeToString(sum[:]), f.clock.Now()
	return e, nil
}

// edit changes a file that claims rest on.
func (f *furnisher) edit(path, old, now string) error {
	name := filepath.Join(f.project.Dir, filepath.FromSlash(path))
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), old) {
		return fmt.Errorf("%s does not say %q", path, old)
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(string(b), old, now)), 0o644)
}
