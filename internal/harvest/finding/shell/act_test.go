package shell

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestActs(t *testing.T) {
	for line, want := range map[string]Act{
		"cat store/log.go":                             {Verb: Reads, Paths: []string{"store/log.go"}},
		"cd store && sed -n '1,200p' log.go":           {Verb: Reads, Paths: []string{"store/log.go"}},
		"cd /src && nl -ba a.go | sed -n '10,20p'":     {Verb: Reads, Paths: []string{"/src/a.go"}},
		"head -n 40 README.md":                         {Verb: Reads, Paths: []string{"README.md"}},
		"tail -50 app.log":                             {Verb: Reads, Paths: []string{"app.log"}},
		`bash -lc "cat 'a b.txt'"`:                     {Verb: Reads, Paths: []string{"a b.txt"}},
		"rg -n 'func Open' store | head -20":           {Verb: Searches, Pattern: "func Open", Paths: []string{"store"}},
		"grep -rn --include '*.go' TODO .":             {Verb: Searches, Pattern: "TODO", Paths: []string{"."}},
		"git grep -n ErrNotFound":                      {Verb: Searches, Pattern: "ErrNotFound", Paths: []string{}},
		"grep -e a -e b f 2>/dev/null":                 {Verb: Searches, Pattern: "b", Paths: []string{"f"}},
		"ls -la cmd":                                   {Verb: Lists, Paths: []string{"cmd"}},
		"ls":                                           {Verb: Lists},
		"cat > a/b.txt <<'EOF'\nhello\nEOF":            {Verb: Writes, Paths: []string{"a/b.txt"}, Text: "hello\n", Known: true},
		"cat >> a.txt <<EOF\nmore\nEOF\n":              {Verb: Writes, Paths: []string{"a.txt"}, Text: "more\n"},
		"tee a.txt <<EOF\nx\nEOF":                      {Verb: Writes, Paths: []string{"a.txt"}, Text: "x\n", Known: true},
		"sed -i 's/a/b/' x.go":                         {Verb: Writes, Paths: []string{"x.go"}},
		"rm -rf old new":                               {Verb: Deletes, Paths: []string{"old", "new"}},
		"git rm old.go":                                {Verb: Deletes, Paths: []string{"old.go"}},
		"mv a.go b.go":                                 {Verb: Moves, Paths: []string{"a.go", "b.go"}},
		"git mv a.go b.go":                             {Verb: Moves, Paths: []string{"a.go", "b.go"}},
		"apply_patch <<'P'\n*** Begin Patch\n***\nP":   {Verb: Patches, Text: "*** Begin Patch\n***\n"},
		"apply_patch '*** Begin Patch\n*** End Patch'": {Verb: Patches, Text: "*** Begin Patch\n*** End Patch"},
	} {
		got, ok := Acts(line)
		if !ok {
			t.Errorf("%q: nothing", line)
			continue
		}
		if len(got.Paths) == 0 && len(want.Paths) == 0 {
			got.Paths, want.Paths = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// A line that does more than one thing is a command like any other.
func TestOtherLinesAreNoActs(t *testing.T) {
	for _, line := range []string{
		"", "go test ./...", "cat a.go && make", "cat a.go b.go", "cat *.go", "cat a.go | grep x", "cat a > b", "make | tee log.txt", "tee x",
		"sed 's/a/b/' x.go", "rg", "mv a", "rm", "for f in a b; do cat $f; done", "cat a.go; rm a.go", "rg x | xargs sed -i s/a/b/", "ls a b",
		"git status", "cat a.go | sed 's/x/y/'",
	} {
		if a, ok := Acts(line); ok {
			t.Errorf("%q: %+v", line, a)
		}
	}
}

func TestJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"go test ./...":           {"bash", "-lc", "go test ./..."},
		"go vet 'a b' 'it'\\''s'": {"go", "vet", "a b", "it's"},
		"x ''":                    {"x", ""},
		"":                        nil,
	} {
		if got := Join(args); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
