package consoletest

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

// Bob is the owner whose knowledge nobody else may see. The other owner is ken.DefaultOwner.
const Bob = "bob"

// Words that occur often in one owner's knowledge, and nowhere else. If a page of the other
// owner contains one, it leaks knowledge.
const (
	OwnWord = "quillfeather"
	BobWord = "mossgarnet"
)

// Repo is the id of the project's own repository scope.
const Repo = "example.com/payments"

// Keys are the gateway keys of a project in clear text; the project's configuration has the
// hashes. They are derived from Options.Seed, so they are only suitable for tests.
type Keys struct {
	Operator  string `json:"operator"`  // all rights for the default owner
	Developer string `json:"developer"` // may ask models, read and write
	Reader    string `json:"reader"`    // may read
	Other     string `json:"other"`     // all rights for Bob
}

// Markers are OwnWord and BobWord, for tests in other languages.
type Markers struct {
	Own   string `json:"own"`
	Other string `json:"other"`
}

// Hostile holds the names of hostile things that have pages of their own.
type Hostile struct {
	Agent   string `json:"agent"`
	Entity  string `json:"entity"`
	File    string `json:"file"`
	Project string `json:"project"`
}

// Project describes what Furnish created, by names that tests use. Ids of claims are
// complete.
type Project struct {
	Dir     string  `json:"dir"`
	Keys    Keys    `json:"keys"`
	Markers Markers `json:"markers"`
	Hostile Hostile `json:"hostile"`

	Claims   map[string]string `json:"claims"`   // by name in the story
	Turns    map[string]string `json:"turns"`    // by name in the story
	Sessions map[string]string `json:"sessions"` // ids by name

	// Learned lists the ids of the claims that the harvest of each session wrote, by the
	// session's name. The store creates these ids, so they differ between runs.
	Learned map[string][]string `json:"learned"`

	Patterns   []string `json:"patterns"` // ids of the story's twelve candidates, most reinforced first
	Entities   []string `json:"entities"` // names, the one with the most dependencies first
	Agents     []string `json:"agents"`
	Decisions  []string `json:"decisions"`
	Objectives []string `json:"objectives"`
	Files      []string `json:"files"`  // files used as evidence; the first has changed since
	Sweeps     []string `json:"sweeps"` // names of the reports, oldest first
	Others     []string `json:"others"` // ids of Bob's claims
}

func newProject(dir string, o Options) Project {
	return Project{Dir: dir, Markers: Markers{OwnWord, BobWord}, Hostile: Hostile{hostileAgent, hostileEntity, hostileFile, hostileProject},
		Keys:   Keys{Operator: secret(o.Seed, "operator"), Developer: secret(o.Seed, "developer"), Reader: secret(o.Seed, "reader"), Other: secret(o.Seed, "other")},
		Claims: map[string]string{}, Turns: map[string]string{}, Sessions: map[string]string{}, Learned: map[string][]string{},
		Patterns: []string{}, Others: []string{}, Agents: []string{builder, reviewer},
		Entities: []string{"payments", "ledger", "bank", hostileEntity}, Decisions: []string{"ADR-0001", "ADR-0002", "ADR-0003", "ADR-0004", "ADR-0005", "ADR-0006"},
		Objectives: []string{"OBJ-0001", "OBJ-0002", "OBJ-0003"}, Files: []string{staleFile, "retry/retry.go", "ledger/post.go"}, Sweeps: []string{"keyword", "hybrid"}}
}

// secret returns a key in the format of access.NewKey.
func secret(seed uint64, name string) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("furnish "+name), seed))
	return access.KeyPrefix + hex.EncodeToString(sum[:])
}

// repo is the scope of most claims of the story.
var repo = ken.Scope{Type: ken.ScopeRepo, ID: Repo}

//go:embed all:testdata/project
var projectFiles embed.FS

const projectRoot = "testdata/project"

// staleFile is a file that claims have as evidence and that changed afterwards.
const staleFile = "retry/backoff.go"

// hostileFile is a file name with HTML in it. go:embed rejects such a name, so the file is
// not in testdata.
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
		// The embedded files end in .txt: a go.mod would exclude the folder from this module,
		// and from go:embed.
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

// config returns a configuration with the keys. Its deadline is long, so that results do not
// depend on the machine's load.
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
	key("developer", k.Developer, ken.DefaultOwner, "chat, read, write")
	return b.String()
}

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

// edit changes a file that claims have as evidence.
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
