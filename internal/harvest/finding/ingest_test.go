package finding

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

const manual = "The queue drains every night at two. When a merchant's endpoint refuses connections for three days, deliveries to it stop and the merchant gets a letter."

func ingest(s *script, chars int) []ken.Claim { return Ingest(&s.Transcript, Tools{}, chars) }

func TestIngest(t *testing.T) {
	s := newScript().call("Read", `{"file_path":"docs/runbook.md"}`, manual)
	cs := ingest(s, 0)
	if len(cs) != 1 {
		t.Fatalf("%d claims", len(cs))
	}
	c := cs[0]
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	sup := c.Support(nil)
	if c.Text != manual || sup.Trust != ken.TrustExternal || len(c.Tags) != 1 || c.Tags[0] != "ingest" || c.Domain != "ingest" || c.SourceType != "tool:Read" || c.Entities[0] != "docs/runbook.md" {
		t.Errorf("%s %+v", sup.Trust, c)
	}
}

func TestIngestTakesNoEchoesFailuresOrNoise(t *testing.T) {
	injected := func(text string) *script {
		s := newScript()
		s.Injected = []session.Injection{{ID: "1", Text: text}}
		return s
	}
	for name, s := range map[string]*script{
		"what was injected":             injected(manual).call("memory_like", `{}`, manual).call("Read", `{"file_path":"docs/a.md"}`, manual),
		"with words around it":          injected(manual).call("Bash", `{"command":"ken ask queue"}`, "1. [Verified] "+manual+" (runbook, 2026)"),
		"in another case":               injected(manual).call("Bash", `{"command":"ken ask queue"}`, strings.ToUpper(manual)),
		"only as a part of it":          injected("Before. "+manual+" After.").call("Read", `{"file_path":"a.md"}`, manual),
		"a failure":                     newScript().call("Read", `{"file_path":"a.md"}`, "Error: ENOENT: no such file or directory, open '/home/ada/src/a.md'"),
		"an acknowledgement":            newScript().call("Bash", `{"command":"make"}`, "done"),
		"what the agent itself wrote":   newScript().call("Write", `{"file_path":"a.md","content":"x"}`, "File created successfully at: /home/ada/src/paylane/docs/a.md"),
		"a file that holds secrets":     newScript().call("Read", `{"file_path":".env"}`, strings.Repeat("SETTING=value of it\n", 10)),
		"nothing but a model's thought": newScript().call("Read", `{"file_path":"a.md"}`, "<think>"+manual+"</think>"),
	} {
		if cs := ingest(s, 0); len(cs) != 0 {
			t.Errorf("%s: %q", name, cs[0].Text)
		}
	}
	// What was injected of something else is no reason.
	if cs := ingest(injected("The API listens on port 8080 on all machines of the cluster.").call("Read", `{"file_path":"a.md"}`, manual), 0); len(cs) != 1 {
		t.Errorf("%d claims", len(cs))
	}
}

func TestIngestIsBounded(t *testing.T) {
	s := newScript()
	for i := range 3 * MaxIngested {
		s.call("Read", `{"file_path":"a.md"}`, strings.Repeat(string(rune('a'+i%26)), 50+i)+" "+manual+strings.Repeat(" words", 2000)+" the end")
	}
	cs := ingest(s, 500)
	if len(cs) != MaxIngested {
		t.Errorf("%d claims", len(cs))
	}
	for _, c := range cs {
		if n := utf8.RuneCountInString(c.Text); n > 500 || !strings.Contains(c.Text, "…") || !strings.HasSuffix(c.Text, "the end") {
			t.Errorf("%d characters, ends with %q", n, c.Text[len(c.Text)-20:])
		}
	}
}

// The same output is one claim, in this session and in the next.
func TestIngestKeyIsTheContent(t *testing.T) {
	s := newScript().call("Read", `{"file_path":"a.md"}`, manual).call("Bash", `{"command":"cat a.md && true"}`, manual)
	cs := ingest(s, 0)
	if len(cs) != 1 {
		t.Fatalf("%d claims", len(cs))
	}
	next := newScript().call("Read", `{"file_path":"b.md"}`, manual)
	next.Info.ID = "s2"
	if got := ingest(next, 0); got[0].Key != cs[0].Key {
		t.Errorf("%s and %s", got[0].Key, cs[0].Key)
	}
	next.Info.Project = "other"
	if got := ingest(next, 0); got[0].Key == cs[0].Key {
		t.Error("two projects share a claim")
	}
}

func TestIngestedSecretsAreRedacted(t *testing.T) {
	url := "postgres://paylane:v3ry-L0ng" + "-pw@localhost:5432/paylane"
	s := newScript().bash("docker inspect db && true", strings.Repeat("line of it\n", 5)+"DATABASE_URL="+url)
	cs := ingest(s, 0)
	if len(cs) != 1 || strings.Contains(cs[0].Text, "v3ry") || !strings.Contains(cs[0].Text, "[redacted:") {
		t.Fatalf("%+v", cs)
	}
	if _, err := store.Prepare(cs[0], ken.DefaultOwner, store.Env{Now: func() time.Time { return someDay }, NewID: func() string { return "0190a5b4-6c3e-7f2a-8d1b-2c3d4e5f6a7b" }}); err != nil {
		t.Error(err)
	}
	id, err := open(t).WriteClaim(context.Background(), cs[0])
	if err != nil || id == "" {
		t.Error(id, err)
	}
}
