package middleware_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
)

// Pain: cross-tenant leaks. A file that is named in a conversation is hashed, so that what
// was found in it stops standing when it changes; for the agents of another owner it is
// not, as what is learned from it would tell what the project's files are.
func TestFilesAreHashedForTheirOwnerAlone(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "plan.go"), []byte("package plan\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := within(t, root)
	for owner, want := range map[string]bool{"": true, ken.DefaultOwner: true, "bob": false} {
		id := "session-" + owner
		c := converse(t, l, serve(t, "I see."), ken.Turn{Owner: owner, Session: id})
		c.msgs = append(c.msgs, map[string]any{"role": "user", "content": "Look at the plan."})
		for _, path := range []string{"plan.go", "none.go"} {
			c.msgs = append(c.msgs, map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": path, "type": "function",
				"function": map[string]string{"name": "Read", "arguments": `{"file_path":"` + path + `"}`}}}},
				map[string]any{"role": "tool", "tool_call_id": path, "content": "package plan"})
		}
		c.ask("What does it say?", false)
		userText(t, l, owner, id)
		tr, err := l.Journal(owner).Read(t.Context(), id)
		must(t, err)
		files := map[string]string{}
		for _, e := range tr.Entries {
			for name, hash := range e.Files {
				files[name] = hash
			}
		}
		if got := len(files) == 2 && files["plan.go"] != "" && files["none.go"] == ""; got != want || !want && len(files) > 0 {
			t.Errorf("for owner %q the journal has %v", owner, files)
		}
	}
	if got := []string{l.RootOf(""), l.RootOf(ken.DefaultOwner), l.RootOf("bob")}; got[0] != l.Root() || got[1] != l.Root() || got[2] != "" {
		t.Errorf("the roots are %q", got)
	}
}
