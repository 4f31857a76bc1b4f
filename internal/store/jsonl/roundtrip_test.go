package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/store/memory"
)

// generator makes valid claims of every shape from one seed.
type generator struct{ *rand.Rand }

func (g generator) text() string {
	alphabet := []rune("abc XYZ 0_-\"\\/<>&\n\t\u2028é連接قب🚀\u0001")
	out := make([]rune, 1+g.IntN(12))
	for i := range out {
		out[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(out)
}

// maybe is "" half of the time.
func (g generator) maybe() string {
	if g.IntN(2) == 0 {
		return ""
	}
	return g.text()
}

func (g generator) time() time.Time {
	if g.IntN(3) == 0 {
		return time.Time{}
	}
	return time.Unix(g.Int64N(4e9), g.Int64N(1e9)).UTC()
}

func (g generator) list() (out []string) {
	for range g.IntN(3) {
		out = append(out, g.maybe())
	}
	return out
}

func (g generator) evidence() (out []ken.Evidence) {
	for range 1 + g.IntN(3) {
		kinds := ken.EvidenceKinds()
		e := ken.Evidence{Kind: kinds[g.IntN(len(kinds))], ID: g.maybe(), SessionID: g.maybe(), MessageID: g.maybe(),
			ToolCallID: g.text(), ArtifactID: g.maybe(), Path: g.text(), Line: g.IntN(3), Repo: g.maybe(), CommitSHA: g.maybe(),
			URL: g.text(), ContentHash: g.maybe(), FetchedAt: g.time(), Detail: g.maybe(), Trust: ken.Trust(g.IntN(4))}
		if g.IntN(2) == 0 {
			code := g.IntN(3) - 1
			e.ExitCode = &code
		}
		out = append(out, e)
	}
	return out
}

func (g generator) claim() ken.Claim {
	statuses := ken.Statuses()
	c := ken.Claim{ID: g.maybe(), Key: g.maybe(), Owner: g.maybe(), Kind: "own_kind", Heading: g.maybe(), Text: "t" + g.text(),
		Evidence: g.evidence(), Status: statuses[g.IntN(len(statuses))], Confidence: g.Float64(), Importance: g.Float64(),
		Project: g.maybe(), Session: g.maybe(), Branch: g.maybe(), Actor: ken.Actor{Type: g.maybe(), ID: g.maybe()},
		Domain: g.maybe(), Tags: g.list(), Entities: g.list(), Aspect: g.maybe(), Constraint: g.IntN(2) == 0, RuleCandidate: g.IntN(2) == 0,
		AssignedBy: []ken.Assigner{"", ken.AssignedByRules, ken.AssignedByModel, ken.AssignedByOperator}[g.IntN(4)],
		Source:     g.maybe(), SourceType: g.maybe(), CreatedAt: g.time(), UpdatedAt: g.time(), ExpiresAt: g.time(), ArchivedAt: g.time(),
		Supersedes: g.maybe(), SupersededBy: g.maybe(), Reinforcements: g.IntN(3), ReinforcedAt: g.time()}
	if g.IntN(2) == 0 {
		c.Scope = ken.Scope{Type: ken.ScopeRun, ID: g.text()}
	}
	if g.IntN(2) == 0 {
		c.Body = json.RawMessage(`{"a":[1,"<b>"],"c":1.50}`)
	}
	return c
}

func (g generator) history() (out []ken.ClaimEvent) {
	for range g.IntN(3) {
		out = append(out, ken.ClaimEvent{Seq: g.Uint64N(9), At: g.time(), Type: ken.EventTransitioned, From: ken.StatusObserved,
			To: ken.StatusVerified, Reason: g.maybe(), Evidence: g.evidence(), Other: g.maybe(),
			Actor: ken.Actor{ID: g.maybe()}, Erased: g.IntN(2) == 0})
	}
	return out
}

func TestWriteThenReadGivesTheSame(t *testing.T) {
	number := seed.Of(t)
	g := generator{rand.New(rand.NewPCG(number, 0))}
	for range 500 {
		c, history := g.claim(), g.history()
		var b bytes.Buffer
		if err := jsonl.Write(&b, c, history); err != nil {
			t.Fatalf("number %d: %v", number, err)
		}
		if strings.Count(b.String(), "\n") != 1 {
			t.Fatalf("number %d: %d lines: %q", number, strings.Count(b.String(), "\n"), b.String())
		}
		n := 0
		for l := range jsonl.Read(&b, "f") {
			n++
			if l.Err != nil {
				t.Fatalf("number %d: %v", number, l.Err)
			}
			if diff := cmp.Diff(c, l.Claim); diff != "" {
				t.Fatalf("number %d: claim (-want +got):\n%s", number, diff)
			}
			if diff := cmp.Diff(history, l.History); diff != "" {
				t.Fatalf("number %d: history (-want +got):\n%s", number, diff)
			}
		}
		if n != 1 {
			t.Fatalf("number %d: %d lines read", number, n)
		}
	}
}

// A new field must also be read: a field that Write writes and Read doesn't
// know would be refused, or end up in the body.
func TestReadKnowsEveryFieldThatIsWritten(t *testing.T) {
	code := 1
	e := ken.Evidence{Kind: "file", ID: "a", SessionID: "a", MessageID: "a", ToolCallID: "a", ArtifactID: "a", Path: "a", Line: 1,
		Repo: "a", CommitSHA: "a", URL: "a", ContentHash: "a", ExitCode: &code, FetchedAt: time.Unix(1, 0), Detail: "a", Trust: ken.TrustAgent}
	c := ken.Claim{ID: "a", Key: "a", Owner: "a", Kind: "a", Heading: "a", Text: "a", Evidence: []ken.Evidence{e}, Status: "observed", Confidence: 1, Importance: 1,
		Scope: ken.Scope{Type: "run", ID: "a"}, Project: "a", Session: "a", Branch: "a", Actor: ken.Actor{Type: "a", ID: "a"}, Domain: "a",
		Tags: []string{"a"}, Entities: []string{"a"}, Aspect: "a", Constraint: true, RuleCandidate: true, AssignedBy: ken.AssignedByRules, Source: "a", SourceType: "a", CreatedAt: time.Unix(1, 0),
		UpdatedAt: time.Unix(1, 0), ExpiresAt: time.Unix(1, 0), ArchivedAt: time.Unix(1, 0), Supersedes: "a", SupersededBy: "a", Reinforcements: 1, ReinforcedAt: time.Unix(1, 0)}
	ev := ken.ClaimEvent{Seq: 1, At: time.Unix(1, 0), Type: "a", From: "a", To: "a", Reason: "a", Evidence: c.Evidence, Other: "a",
		Actor: c.Actor, Erased: true}
	for _, v := range []any{e, c, ev} {
		requireAllSet(t, v, "Body")
	}
	var b bytes.Buffer
	if err := jsonl.Write(&b, c, []ken.ClaimEvent{ev}); err != nil {
		t.Fatal(err)
	}
	for l := range jsonl.Read(&b, "f") {
		if l.Err != nil || l.Claim.Body != nil {
			t.Errorf("error %v, body %s", l.Err, l.Claim.Body)
		}
	}
}

// Export, then import elsewhere, loses nothing.
func TestExportThenImportIntoAnotherStore(t *testing.T) {
	ctx := t.Context()
	from := memory.New(memory.Options{})
	write := func(c ken.Claim) string {
		t.Helper()
		id, err := from.WriteClaim(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	proof := []ken.Evidence{{Kind: ken.EvidenceTestResult, ID: "TestSaga", Trust: ken.TrustOperator}}
	old := write(ken.Claim{Text: "payments uses sagas", Key: "adr-7", Evidence: proof, Body: json.RawMessage(`{"drivers":["latency"]}`)})
	write(ken.Claim{Text: "payments uses sagas everywhere", Key: "adr-7", Evidence: proof})
	next := write(ken.Claim{Text: "payments uses two-phase commit", Evidence: proof, Reinforcements: 3, ReinforcedAt: time.Unix(9, 0).UTC()})
	write(ken.Claim{Text: "over and done", Evidence: proof, ExpiresAt: time.Unix(99, 0).UTC()})
	if err := from.Transition(ctx, ken.Transition{ID: old, To: ken.StatusDisputed, Reason: "the new service", Actor: ken.Actor{Type: "user", ID: "ada"},
		Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}); err != nil {
		t.Fatal(err)
	}
	if err := from.Supersede(ctx, old, next); err != nil {
		t.Fatal(err)
	}
	if err := from.Archive(ctx, old, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}

	var file bytes.Buffer
	export(t, from, &file)
	to := memory.New(memory.Options{})
	for range 2 { // the second time changes nothing
		for l := range jsonl.Read(bytes.NewReader(file.Bytes()), "export.jsonl") {
			if l.Err != nil {
				t.Fatalf("line %d: %v", l.N, l.Err)
			}
			if _, err := to.Import(ctx, l.Claim, l.History); err != nil {
				t.Fatalf("line %d: %v", l.N, err)
			}
		}
	}
	want, got := all(t, from), all(t, to)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3 {
		t.Errorf("%d claims (-want +got):\n%s", len(got), diff)
	}
	for _, c := range want {
		was, is := historyOf(t, from, c.ID), historyOf(t, to, c.ID)
		if len(is) != len(was)+1 || !cmp.Equal(was, is[:len(was)]) {
			t.Errorf("%s (-want +got):\n%s", c.Text, cmp.Diff(was, is))
		}
	}
}

func all(t *testing.T, s ken.Store) []ken.Claim {
	t.Helper()
	found, err := s.Query(context.Background(), ken.Query{Limit: 1000,
		Filter: ken.Filter{Statuses: ken.Statuses(), Now: time.Unix(1, 0)}}) // expired ones too
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func historyOf(t *testing.T, s ken.Store, id string) []ken.ClaimEvent {
	t.Helper()
	events, err := s.History(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func export(t *testing.T, s ken.Store, w io.Writer) {
	t.Helper()
	for _, c := range all(t, s) {
		if err := jsonl.Write(w, c, historyOf(t, s, c.ID)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	c := ken.Claim{Text: "a", Evidence: []ken.Evidence{ken.FromDecision("d")}}
	full := errors.New("disk full")
	if err := jsonl.Write(writerFunc(func([]byte) (int, error) { return 0, full }), c, nil); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	c.Body = json.RawMessage(`"` + strings.Repeat("x", jsonl.MaxLine) + `"`)
	if err := jsonl.Write(io.Discard, c, nil); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a line that Read would refuse: %v", err)
	}
	c.Body = json.RawMessage(`{`)
	if err := jsonl.Write(io.Discard, c, nil); err == nil {
		t.Error("a body that is not JSON was written")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func ExampleRead() {
	file := strings.NewReader(`{"text":"payments uses sagas","tags":["saga"]}
{"text":"checkout retries twice","expire_at":"2027-01-01"}
{"text":"refunds are manual","team":"billing"}`)
	for l := range jsonl.Read(file, "notes.jsonl") {
		if l.Err != nil {
			fmt.Printf("line %d: %v\n", l.N, l.Err)
			continue
		}
		fmt.Printf("line %d: %s (%s) body %q\n", l.N, l.Claim.Text, l.Claim.Evidence[0].ArtifactID, l.Claim.Body)
	}
	// Output:
	// line 1: payments uses sagas (import:notes.jsonl:1) body ""
	// line 2: expire_at: unknown field
	// line 3: refunds are manual (import:notes.jsonl:3) body "{\"team\":\"billing\"}"
}

func ExampleWrite() {
	var b strings.Builder
	c := ken.Claim{Key: "adr-7", Kind: ken.KindDecision, Text: "payments uses sagas", Status: ken.StatusVerified, Confidence: 1,
		Evidence: []ken.Evidence{ken.FromFile("docs/adr/7.md", "", "")}}
	if err := jsonl.Write(&b, c, nil); err != nil {
		panic(err)
	}
	fmt.Print(b.String())
	// Output:
	// {"key":"adr-7","kind":"decision","text":"payments uses sagas","evidence":[{"kind":"file","path":"docs/adr/7.md"}],"status":"verified","confidence":1,"importance":0}
}
