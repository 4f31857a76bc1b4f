package extract_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

var update = flag.Bool("update", false, "write the expected drafts anew")

// line is a message of a session in testdata.
type line struct {
	Role, Name, Text string
	At               time.Time
	Call             string
	Files            map[string]string
	Calls            []struct{ ID, Name, Arguments string }
}

func transcript(t testing.TB, path string) *session.Transcript {
	t.Helper()
	var lines []line
	readJSON(t, path, &lines)
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: strings.TrimSuffix(filepath.Base(path), ".json")}}}
	for i, l := range lines {
		m := ken.Message{Role: l.Role, Name: l.Name, Text: l.Text, ToolCallID: l.Call}
		for _, c := range l.Calls {
			m.ToolCalls = append(m.ToolCalls, ken.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: l.At, Message: m, Files: l.Files})
	}
	return tr
}

// written is a draft as a reviewer reads it.
func written(d draft.Draft) string {
	var b strings.Builder
	b.WriteString(d.Summary + "\n\n")
	for _, s := range d.Statements {
		fmt.Fprintf(&b, "%s %.2f m%d %s\n", s.Sort, s.Confidence, s.Seq, s.Text)
		if len(s.Entities) > 0 {
			fmt.Fprintf(&b, "    about %s\n", strings.Join(s.Entities, ", "))
		}
		if !strings.HasSuffix(s.Text, s.Quote) {
			fmt.Fprintf(&b, "    quote %s\n", s.Quote)
		}
	}
	var reasons []string
	for r, n := range d.Dropped {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, n))
	}
	slices.Sort(reasons)
	fmt.Fprintf(&b, "\ndropped: %s\n", strings.Join(reasons, ", "))
	return b.String()
}

// A session with tools, a chat of two people and a chat with an assistant. The
// expected drafts are reviewed as behaviour: go test -run Golden -update.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := written(extract.Draft(transcript(t, path), extract.Options{}))
			golden := strings.TrimSuffix(path, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
