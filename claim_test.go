package ken_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestNewClaimDefaults(t *testing.T) {
	c, err := ken.NewClaim("payments uses sagas", ken.FromFile("saga.go", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := ken.Claim{Text: "payments uses sagas", Evidence: []ken.Evidence{{Kind: "file", Path: "saga.go"}},
		Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Actor: ken.Actor{Type: "agent"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Many people meet the rule in the error for missing evidence, so the error
// must say what to do without evidence.
func TestNewClaimNeedsEvidence(t *testing.T) {
	_, err := ken.NewClaim("trust me")
	wantField(t, err, "evidence")
	for _, word := range []string{"hypothesis", "model_inference", "low confidence"} {
		if !strings.Contains(ken.Hint(err), word) {
			t.Errorf("hint %q does not mention %q", ken.Hint(err), word)
		}
	}
}

func TestClaimValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*ken.Claim)
		field  string
	}{
		{"as it is", func(c *ken.Claim) {}, ""},
		{"no text", func(c *ken.Claim) { c.Text = "" }, "text"},
		{"blank text", func(c *ken.Claim) { c.Text = " \n\t\u00a0" }, "text"},
		{"text at the limit", func(c *ken.Claim) { c.Text = strings.Repeat("a", ken.MaxTextBytes) }, ""},
		{"text over the limit", func(c *ken.Claim) { c.Text = strings.Repeat("a", ken.MaxTextBytes+1) }, "text"},
		{"text not UTF-8", func(c *ken.Claim) { c.Text = "caf\xe9" }, "text"},
		{"no evidence", func(c *ken.Claim) { c.Evidence = nil }, "evidence"},
		{"bad evidence", func(c *ken.Claim) { c.Evidence = append(c.Evidence, ken.Evidence{Kind: "rumour"}) }, "evidence[1]"},
		{"no kind", func(c *ken.Claim) { c.Kind = "" }, "kind"},
		{"own kind", func(c *ken.Claim) { c.Kind = "release_note2" }, ""},
		{"upper-case kind", func(c *ken.Claim) { c.Kind = "Fact" }, "kind"},
		{"kind that starts with a digit", func(c *ken.Claim) { c.Kind = "2nd" }, "kind"},
		{"kind that starts with an underscore", func(c *ken.Claim) { c.Kind = "_x" }, "kind"},
		{"kind with a space", func(c *ken.Claim) { c.Kind = "a b" }, "kind"},
		{"kind of 64", func(c *ken.Claim) { c.Kind = ken.Kind(strings.Repeat("k", 64)) }, ""},
		{"kind of 65", func(c *ken.Claim) { c.Kind = ken.Kind(strings.Repeat("k", 65)) }, "kind"},
		{"no status", func(c *ken.Claim) { c.Status = "" }, "status"},
		{"unknown status", func(c *ken.Claim) { c.Status = "confirmed" }, "status"},
		{"confidence 0", func(c *ken.Claim) { c.Confidence = 0 }, ""},
		{"confidence below", func(c *ken.Claim) { c.Confidence = -0.01 }, "confidence"},
		{"confidence above", func(c *ken.Claim) { c.Confidence = 1.01 }, "confidence"},
		{"confidence NaN", func(c *ken.Claim) { c.Confidence = math.NaN() }, "confidence"},
		{"importance above", func(c *ken.Claim) { c.Importance = math.Inf(1) }, "importance"},
		{"bad scope", func(c *ken.Claim) { c.Scope.ID = "x" }, "scope.type"},
		{"body", func(c *ken.Claim) { c.Body = json.RawMessage(`{"a":1}`) }, ""},
		{"assigned by a model", func(c *ken.Claim) { c.AssignedBy = ken.AssignedByModel }, ""},
		{"assigned by nobody known", func(c *ken.Claim) { c.AssignedBy = "oracle" }, "assigned_by"},
		{"bad body", func(c *ken.Claim) { c.Body = json.RawMessage(`{`) }, "body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := claimWith(ken.FromFile("a.go", "", ""))
			tt.change(&c)
			wantField(t, c.Validate(), tt.field)
		})
	}
}

// A fault in the heading must not send the reader to the text.
func TestClaimValidateNamesTheHeading(t *testing.T) {
	c := claimWith(ken.FromFile("a.go", "", ""))
	c.Heading = "caf\xe9"
	wantField(t, c.Validate(), "heading")
}

// The error of a piece must be in the message, and errors.As must find it, so
// that an editor can mark the field.
func TestClaimValidateKeepsTheInnerField(t *testing.T) {
	c := claimWith(ken.Evidence{Kind: ken.EvidenceFile})
	err := c.Validate()
	var outer, inner *ken.Error
	if !errors.As(err, &outer) || !errors.As(outer.Err, &inner) || inner.Field != "path" {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "evidence[0]") || !strings.Contains(err.Error(), "path") {
		t.Errorf("%q names neither piece nor field", err)
	}
}

func TestClaimExpired(t *testing.T) {
	c := ken.Claim{ExpiresAt: someDay}
	for at, want := range map[time.Time]bool{someDay.Add(-1): false, someDay: true, someDay.Add(1): true} {
		if c.Expired(at) != want {
			t.Errorf("at %v: %v", at, !want)
		}
	}
	if (&ken.Claim{}).Expired(someDay) {
		t.Error("a claim without an end expired")
	}
}

// fullClaim sets every field, so that the test notices a new field without a
// JSON name.
func fullClaim(t *testing.T) ken.Claim {
	code := 3
	e := ken.Evidence{Kind: ken.EvidenceExitCode, ID: "make", SessionID: "s", MessageID: "m", ToolCallID: "tc", ArtifactID: "a",
		Path: "p.go", Line: 4, Repo: "r", CommitSHA: "c", URL: "u", ContentHash: "sha256:00", ExitCode: &code,
		FetchedAt: someDay, Detail: "d", Trust: ken.TrustOperator}
	c := ken.Claim{ID: "0198a000-0000-7000-8000-000000000001", Key: "k", Owner: "o", Kind: ken.KindDecision,
		Heading: "h", Text: "t", Body: json.RawMessage(`{"n":1}`), Evidence: []ken.Evidence{e},
		Status: ken.StatusVerified, Confidence: 0.25, Importance: 0.75, Scope: ken.Scope{Type: ken.ScopeRepo, ID: "r"},
		Project: "p", Session: "s", Branch: "b", Actor: ken.Actor{Type: "user", ID: "ada"}, Domain: "d",
		Tags: []string{"x"}, Entities: []string{"y"}, Aspect: "z", Constraint: true, RuleCandidate: true, AssignedBy: ken.AssignedByModel, Source: "src", SourceType: "import",
		CreatedAt: someDay, UpdatedAt: someDay.Add(1), ExpiresAt: someDay.Add(2), ArchivedAt: someDay.Add(4), Supersedes: "1", SupersededBy: "2",
		Reinforcements: 5, ReinforcedAt: someDay.Add(3)}
	for _, v := range []reflect.Value{reflect.ValueOf(c), reflect.ValueOf(e)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("fullClaim leaves %s.%s unset", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	return c
}

func TestClaimJSONRoundTrip(t *testing.T) {
	want := fullClaim(t)
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got ken.Claim
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The spelling is a contract with every export and every API client.
func TestClaimJSONNames(t *testing.T) {
	b, err := json.Marshal(fullClaim(t))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := strings.FieldsSeq(`id key owner kind heading text body evidence status confidence importance scope project
		session_id branch_id actor domain tags entities aspect constraint rule_candidate assigned_by source source_type created_at updated_at
		expires_at archived_at supersedes superseded_by reinforcements reinforced_at`)
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("no %s", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("unexpected %s", name)
	}
}

func TestClaimJSONLeavesOutWhatIsUnset(t *testing.T) {
	b, err := json.Marshal(ken.Claim{Kind: ken.KindFact, Text: "t", Status: ken.StatusObserved,
		Evidence: []ken.Evidence{ken.FromDecision("d")}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"fact","text":"t","evidence":[{"kind":"decision","id":"d"}],"status":"observed","confidence":0,"importance":0}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
