package finding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// noted observes one result.
func noted(root, tool, arguments, result string) map[string]string {
	e := session.Entry{Seq: 2, Message: ken.Message{Role: "tool", ToolCallID: "c", Text: result}}
	Observe(root, Tools{})(context.Background(), &e, &ken.ToolCall{ID: "c", Name: tool, Arguments: arguments})
	return e.Files
}

func TestObserve(t *testing.T) {
	root := t.TempDir()
	put(t, root, "store/log.go", "package store")
	put(t, root, "a b.txt", "x")
	put(t, root, "empty", "")
	put(t, root, ".env", "A=b")
	put(t, root, "big.bin", string(make([]byte, maxFileBytes+1)))
	elsewhere := t.TempDir()
	put(t, elsewhere, "secret.txt", "s")
	for name, target := range map[string]string{"out.txt": filepath.Join(elsewhere, "secret.txt"), "in.txt": "a b.txt", "nowhere.txt": "nothing", "outdir": elsewhere} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	log, text, none := hashOf("package store"), hashOf("x"), hashOf("")
	for _, tt := range []struct {
		name, tool, arguments, result string
		want                          map[string]string
	}{
		{"relative", "read_file", `{"path":"store/log.go"}`, "", map[string]string{"store/log.go": log}},
		{"absolute", "Read", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(root, "store", "log.go")), "", map[string]string{"store/log.go": log}},
		{"roundabout", "read_file", `{"path":"./store/../a b.txt"}`, "", map[string]string{"a b.txt": text}},
		{"empty file", "read_file", `{"path":"empty"}`, "", map[string]string{"empty": none}},
		{"not there", "read_file", `{"path":"store/gone.go"}`, "", map[string]string{"store/gone.go": ""}},
		{"several", "read_multiple_files", `{"paths":["store/log.go","a b.txt","../x"]}`, "", map[string]string{"store/log.go": log, "a b.txt": text}},
		{"patch", "apply_patch", "*** Begin Patch\n*** Update File: store/log.go\n*** Delete File: old.go\n*** End Patch", "", map[string]string{"store/log.go": log, "old.go": ""}},
		{"move", "move_file", `{"source":"was.txt","destination":"a b.txt"}`, "", map[string]string{"was.txt": "", "a b.txt": text}},
		{"shell", "shell", fmt.Sprintf(`{"command":["bash","-lc","sed -n '1,9p' log.go"],"workdir":%q}`, filepath.Join(root, "store")), "", map[string]string{"store/log.go": log}},
		{"search", "Grep", `{"pattern":"x"}`, "Found 2 files\nstore/log.go\nstore/gone.go", map[string]string{"store/log.go": log}},
		{"link inside", "read_file", `{"path":"in.txt"}`, "", map[string]string{"in.txt": text}},
		{"link that leads out", "read_file", `{"path":"out.txt"}`, "", nil},
		{"link of a folder that leads out", "read_file", `{"path":"outdir/secret.txt"}`, "", nil},
		{"link that leads nowhere", "read_file", `{"path":"nowhere.txt"}`, "", nil},
		{"outside", "read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(elsewhere, "secret.txt")), "", nil},
		{"above", "read_file", `{"path":"../secret.txt"}`, "", nil},
		{"folder", "read_file", `{"path":"store"}`, "", nil},
		{"the root", "read_file", `{"path":"."}`, "", nil},
		{"list", "list_dir", `{"path":"store"}`, "", nil},
		{"too large", "read_file", `{"path":"big.bin"}`, "", nil},
		{"secret", "read_file", `{"path":".env"}`, "", nil},
		{"command", "Bash", `{"command":"go test ./..."}`, "", nil},
		{"unknown tool", "paint", `{"path":"a b.txt"}`, "", nil},
		{"no arguments", "read_file", ``, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, noted(root, tt.tool, tt.arguments, tt.result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObserveNotesNothingElsewhere(t *testing.T) {
	root := t.TempDir()
	put(t, root, "a.go", "package a")
	call := &ken.ToolCall{ID: "c", Name: "Read", Arguments: `{"file_path":"a.go"}`}
	gone, stop := context.WithCancel(context.Background())
	stop()
	for name, do := range map[string]func(e *session.Entry){
		"no root": func(e *session.Entry) { Observe("", Tools{})(context.Background(), e, call) },
		"missing root": func(e *session.Entry) {
			Observe(filepath.Join(root, "nothing"), Tools{})(context.Background(), e, call)
		},
		"no call":   func(e *session.Entry) { Observe(root, Tools{})(context.Background(), e, nil) },
		"cancelled": func(e *session.Entry) { Observe(root, Tools{})(gone, e, call) },
		"no result": func(e *session.Entry) {
			e.Message.Role = "assistant"
			Observe(root, Tools{})(context.Background(), e, call)
		},
	} {
		e := session.Entry{Message: ken.Message{Role: "tool", ToolCallID: "c"}}
		if do(&e); e.Files != nil {
			t.Errorf("%s: %v", name, e.Files)
		}
	}
}

// The index and the observer must spell a hash and a path alike, or no finding
// would ever be seen to be out of date.
func TestObserveAgreesWithTheIndex(t *testing.T) {
	root := t.TempDir()
	put(t, root, "store/log.go", logGo)
	sink := &hashes{}
	if _, err := repository.Index(context.Background(), root, sink, repository.Options{NoHistory: true}); err != nil {
		t.Fatal(err)
	}
	got := noted(root, "Read", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(root, "store/log.go")), "")
	if want := sink.known["store/log.go"]; want == "" || got["store/log.go"] != want {
		t.Errorf("noted %v, indexed %v", got, sink.known)
	}
}

// hashes is a sink that remembers hashes alone.
type hashes struct{ known map[string]string }

func (h *hashes) DocumentHashes(context.Context) (map[string]store.Known, error) { return nil, nil }
func (h *hashes) PutDocuments(_ context.Context, docs []store.Document) error {
	h.known = map[string]string{}
	for _, d := range docs {
		h.known[d.Path] = d.Hash
	}
	return nil
}
func (h *hashes) TouchDocuments(context.Context, map[string]store.Known) error { return nil }
func (h *hashes) RemoveDocuments(context.Context, []string) error              { return nil }

func BenchmarkObserve(b *testing.B) {
	root := b.TempDir()
	put(b, root, "a.go", string(make([]byte, 64<<10)))
	observe := Observe(root, Tools{})
	call := &ken.ToolCall{ID: "c", Name: "Read", Arguments: `{"file_path":"a.go"}`}
	for b.Loop() {
		e := session.Entry{Message: ken.Message{Role: "tool", ToolCallID: "c"}}
		if observe(context.Background(), &e, call); len(e.Files) != 1 {
			b.Fatal("nothing noted")
		}
	}
}
