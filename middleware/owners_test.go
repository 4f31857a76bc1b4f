package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/sharedview"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// sharing has team share with everybody.
func sharing(c *config.Config) { c.Knowledge.Shares = []string{"team"} }

// marked returns claims of one owner by name: one of each kind and state, each with a
// unique word. Those with names that begin with "open" may be shared.
func marked(t *testing.T, l *middleware.Layer, owner string) map[string]string {
	t.Helper()
	person := ken.FromHumanAssertion("ada", time.Now(), "")
	claims := map[string]func(*ken.Claim){
		"openfact":     nil,
		"openhot":      func(c *ken.Claim) { c.Kind = ken.KindHot },
		"openpattern":  func(c *ken.Claim) { c.Kind = ken.KindPattern },
		"openrule":     func(c *ken.Claim) { c.Constraint = true },
		"openplaybook": func(c *ken.Claim) { c.Kind = ken.KindPlaybook },
		"opendecision": func(c *ken.Claim) { c.Kind = ken.KindDecision },
		"openchecked":  func(c *ken.Claim) { c.Status = ken.StatusVerified },
		"said":         func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromUserStatement("s", "m")} },
		"proven": func(c *ken.Claim) {
			c.Evidence = []ken.Evidence{ken.FromTestResult("a", ""), ken.FromTestResult("b", "")}
		},
		"hot":        func(c *ken.Claim) { c.Kind, c.Evidence = ken.KindHot, []ken.Evidence{ken.FromUserStatement("s", "m")} },
		"rule":       func(c *ken.Claim) { c.Constraint, c.Evidence = true, []ken.Evidence{ken.FromUserStatement("s", "m")} },
		"candidate":  func(c *ken.Claim) { c.RuleCandidate = true },
		"finding":    func(c *ken.Claim) { c.Kind = ken.KindFinding },
		"episode":    func(c *ken.Claim) { c.Kind, c.Session = ken.KindEpisode, "past-of-"+owner },
		"objective":  func(c *ken.Claim) { c.Kind = ken.KindObjective },
		"own_kind":   func(c *ken.Claim) { c.Kind = "gossip" },
		"external":   func(c *ken.Claim) { c.Evidence = append(c.Evidence, ken.FromToolResult("call", "")) },
		"hypothesis": func(c *ken.Claim) { c.Status = ken.StatusHypothesis },
		"disputed":   nil,
		"superseded": nil,
		"expired":    func(c *ken.Claim) { c.ExpiresAt = time.Now().Add(-time.Hour) },
	}
	s, release, err := l.Store(t.Context(), owner)
	must(t, err)
	defer release()
	ids := map[string]string{}
	for name, change := range claims {
		c, err := ken.NewClaim(fmt.Sprintf("The turbine maintenance schedule of Oslo says %s.", markOf(owner, name)), person)
		must(t, err)
		c.Entities = []string{"turbine"}
		c.Key, c.Session = "key-"+markOf(owner, name), "session-of-"+owner
		c.Body = json.RawMessage(`{"seen":"` + markOf(owner, "body") + `"}`)
		if change != nil {
			change(&c)
		}
		for i := range c.Evidence { // of a session: nobody else's business
			c.Evidence[i].SessionID, c.Evidence[i].MessageID = "session-of-"+owner, "m1"
			if c.Evidence[i].Kind != ken.EvidenceHumanAssertion {
				c.Evidence[i].Detail = markOf(owner, "quote")
			}
		}
		if ids[name], err = s.WriteClaim(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	must(t, s.Transition(t.Context(), ken.Transition{ID: ids["disputed"], To: ken.StatusDisputed, Evidence: []ken.Evidence{person}}))
	must(t, s.Supersede(t.Context(), ids["superseded"], ids["openfact"]))
	return ids
}

func markOf(owner, name string) string { return "qx" + owner + "q" + strings.ReplaceAll(name, "_", "") }

// leaks are the words of other owners that a text holds and may not.
func leaks(reader, text string) (out []string) {
	text = strings.ToLower(text)
	for _, owner := range []string{"ana", "ben", "team"} {
		if owner == reader {
			continue
		}
		for _, part := range strings.Split(text, "qx"+owner+"q")[1:] {
			if owner != "team" || !strings.HasPrefix(part, "open") {
				out = append(out, "qx"+owner+"q"+part[:min(len(part), 12)])
			}
		}
		if strings.Contains(text, "session-of-"+owner) || strings.Contains(text, "past-of-"+owner) {
			out = append(out, "a session of "+owner)
		}
	}
	return out
}

func written(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// Of three owners, each sees its own claims and those that team shares. Team sees no others.
func TestOnlyWhatIsSharedIsSeen(t *testing.T) {
	for name, embedder := range map[string]func(*middleware.Options){"words": func(*middleware.Options) {}, "vectors": withVectors} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings(sharing, func(c *config.Config) {
				c.Budget.Chars, c.Budget.MemoryChars, c.Knowledge.TopK = 20000, 20000, 100
			}), embedder)
			ids := map[string]map[string]string{}
			for _, owner := range []string{"ana", "ben", "team"} {
				ids[owner] = marked(t, l, owner)
			}
			attempts, seen := 0, map[string]bool{}
			look := func(reader, what, text string) {
				t.Helper()
				attempts++
				if found := leaks(reader, text); len(found) > 0 {
					t.Errorf("%s, %s: sees %q", reader, what, found)
				}
				for name := range ids["team"] {
					if strings.Contains(text, markOf("team", name)+".") {
						seen[reader+" "+name] = true
					}
				}
			}
			for _, reader := range []string{"ana", "ben", "team"} {
				for i, q := range []string{"What does the turbine maintenance schedule of Oslo say?", "turbine", "continue", "thanks!",
					"What does the schedule say of " + markOf("team", "said") + " and " + markOf("ben", "openfact") + "?"} {
					turn := asked(q)
					turn.Owner, turn.Session, turn.ID = reader, fmt.Sprint("talk-", i), fmt.Sprint(reader, "-turn-", i)
					a := l.Assemble(t.Context(), turn)
					a.Receipt.Signals = ken.Signals{} // what the reader said itself
					look(reader, "turn "+q, written(t, a))
					for _, it := range a.Receipt.Items {
						if shared := it.Owner != ""; shared && (it.Owner != "team" || reader == "team") {
							t.Errorf("%s: item %s is of %q", reader, it.ID, it.Owner)
						}
					}
					if len(a.Receipt.Degraded) > 0 {
						t.Errorf("%s, %s: degraded %q", reader, q, a.Receipt.Degraded)
					}
					kept, err := l.Operator().Turn(t.Context(), reader, turn.ID)
					must(t, err)
					kept.Signals = ken.Signals{}
					look(reader, "receipt", written(t, kept))
					again, err := l.Operator().Replay(t.Context(), reader, turn.ID)
					must(t, err)
					again.Turn.Signals = ken.Signals{}
					look(reader, "replay", written(t, again))
					if !again.Exact {
						t.Errorf("%s, %s: the replay is not exact: %s", reader, q, again.Why)
					}
				}
				for _, mode := range []ken.Mode{"", ken.ModeKeyword} {
					for _, f := range []ken.Filter{{}, {Statuses: ken.Statuses(), Structural: true}, {Statuses: []ken.Status{ken.StatusDisputed}},
						{Kinds: []ken.Kind{ken.KindEpisode, ken.KindFinding, ken.KindObjective, "gossip"}}, {ClaimsOnly: true, MinTrust: ken.TrustOperator}} {
						for _, q := range []string{"turbine maintenance schedule", markOf("team", "hypothesis"), markOf("ben", "openhot")} {
							got, err := l.Operator().Search(t.Context(), middleware.RecallQuery{Owner: reader, Question: q, Mode: mode, Filter: f, Limit: 100})
							must(t, err)
							got.Signals = ken.Signals{}
							look(reader, "recall "+q, written(t, got)+written(t, got.Cut))
							for _, c := range got.Claims {
								if c.Owner != reader && (c.Owner != "team" || reader == "team") {
									t.Errorf("%s recalls a claim of %q", reader, c.Owner)
								}
							}
						}
					}
				}
				for owner, list := range ids {
					for name, id := range list {
						for _, part := range []string{id, id[len(id)-8:]} {
							c, err := l.Operator().Shared(t.Context(), reader, part)
							want := owner == "team" && reader != "team" && strings.HasPrefix(name, "open")
							if (err == nil) != want || err != nil && !errors.Is(err, ken.ErrNotFound) {
								t.Errorf("%s reads %s of %s: %v", reader, name, owner, err)
							}
							look(reader, "by id", written(t, c))
							if _, absent := l.Operator().Shared(t.Context(), reader, "0192d5a4-0000-7000-8000-000000000000"); err != nil && absent.Error() != err.Error() {
								t.Errorf("foreign and absent ids differ: %v, %v", err, absent)
							}
						}
					}
				}
			}
			if attempts < 100 {
				t.Errorf("only %d attempts", attempts)
			}
			for _, reader := range []string{"ana", "ben"} {
				for name := range ids["team"] {
					if strings.HasPrefix(name, "open") && !seen[reader+" "+name] {
						t.Errorf("%s does not see %s, which team shares", reader, name)
					}
				}
			}
		})
	}
}

// Every method of the view leaves out claims that are not shared, whatever the arguments.
func TestEveryLegKeepsPrivateClaimsPrivate(t *testing.T) {
	l := open(t, settings(sharing), withVectors)
	ids := marked(t, l, "team")
	e, release, err := l.Store(t.Context(), "team")
	must(t, err)
	defer release()
	v := sharedview.New(e, time.Now())
	var open []string
	for name, id := range ids {
		if strings.HasPrefix(name, "open") {
			open = append(open, id)
		}
	}
	f := &ken.Filter{Statuses: ken.Statuses(), Structural: true}
	check := func(what string, refs []store.Ref, err error) {
		t.Helper()
		must(t, err)
		for _, ref := range refs {
			if row, ok := e.Row(ref); !ok || !slices.Contains(open, row.ID) {
				c, _ := e.Claim(t.Context(), ref)
				t.Errorf("%s has %q", what, c.Text)
			}
		}
	}
	hits := func(r store.Result, err error) ([]store.Ref, error) {
		var refs []store.Ref
		for _, h := range r.Hits {
			refs = append(refs, h.Ref)
		}
		for _, c := range r.Cut {
			refs = append(refs, c.Ref)
		}
		return refs, err
	}
	for what, got := range map[string]func() (store.Result, error){
		"keyword": func() (store.Result, error) { return v.Keyword(t.Context(), "turbine maintenance schedule", f, 100) },
		"vector": func() (store.Result, error) {
			vecs, err := e.Embedder().Embed(t.Context(), []string{"turbine maintenance schedule"})
			must(t, err)
			return v.Vector(t.Context(), vecs[0], f, 100)
		},
		"pinned": func() (store.Result, error) { return v.Pinned(t.Context(), f, 100) },
		"newest": func() (store.Result, error) { return v.Newest(t.Context(), f, 100) },
	} {
		refs, err := hits(got())
		if check(what, refs, err); len(refs) == 0 {
			t.Errorf("%s finds nothing: the test shows nothing", what)
		}
	}
	refs, err := v.Referring(t.Context(), []string{"turbine"}, f)
	check("referring", refs, err)
	outlines, err := v.Outlines(t.Context(), []string{"turbine", ""}, f, store.OutlineOptions{Top: 100, Mentioned: []string{"turbine"}})
	must(t, err)
	for _, o := range outlines {
		check("rules", o.Constraints, nil)
		for _, a := range o.Aspects {
			check("aspects", a.Top, nil)
		}
	}
	for n, err := range v.Names(t.Context(), f) {
		if must(t, err); n.Name == "turbine" && n.Records > len(open) {
			t.Errorf("%d records have the name, %d are shared", n.Records, len(open))
		}
	}
	for ref := range store.Ref(e.Refs()) {
		before, after := v.Around(ref, 50)
		check("neighbours", append(before, after...), nil)
		row, ok := v.Row(ref)
		if ok {
			check("row", []store.Ref{ref}, nil)
		}
		if c, err := v.Claim(t.Context(), ref); (err == nil) != ok || c.ID != row.ID {
			t.Errorf("claim %s, row %s, %v", c.ID, row.ID, err)
		}
	}
	for name, id := range ids {
		if want := slices.Contains(open, id); v.Has(id) != want || v.HasAll([]string{id}) != want {
			t.Errorf("has %s is not %v", name, want)
		}
	}
}

// What team forgets, disputes and never shared is in no conversation of ana's.
func TestForgettingReachesConversationsOfOthers(t *testing.T) {
	root := t.TempDir()
	l := open(t, settings(sharing), in(root))
	s, release, err := l.Store(t.Context(), "team")
	must(t, err)
	defer release()
	id, err := s.WriteClaim(t.Context(), humanClaim(t, retryFact))
	must(t, err)
	turn := asked(question)
	turn.Owner, turn.Session, turn.ID = "ana", "s", "first"
	a := l.Assemble(t.Context(), turn)
	if len(a.Insertions) != 1 || len(a.Receipt.Items) != 1 || a.Receipt.Items[0].Owner != "team" {
		t.Fatalf("insertions %+v, items %+v, cut %+v, degraded %q", a.Insertions, a.Receipt.Items, a.Receipt.Cut, a.Receipt.Degraded)
	}
	turn.ID, turn.Messages = "second", append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: "thanks!"})
	if again := l.Assemble(t.Context(), turn); len(again.Insertions) != 1 || again.Insertions[0].Text != a.Insertions[0].Text {
		t.Fatalf("the block did not stay: %+v", again.Insertions)
	}
	if _, err := l.Forget(t.Context(), "ana", id, "", ken.Actor{}); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("ana forgets a claim of team's: %v", err)
	}
	if _, err := l.Forget(t.Context(), "team", id, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	turn.ID, turn.Messages = "third", append(turn.Messages, ken.Message{Role: "assistant", Text: "Welcome."}, ken.Message{Role: "user", Text: "thanks!"})
	if after := l.Assemble(t.Context(), turn); len(after.Insertions) != 0 {
		t.Errorf("it is sent on: %+v", after.Insertions)
	}
	kept, err := l.Operator().Turn(t.Context(), "ana", "first")
	must(t, err)
	tr, err := l.Operator().Transcript(t.Context(), "ana", "s")
	must(t, err)
	if text := written(t, kept) + written(t, tr.Injected); strings.Contains(text, "three times") {
		t.Errorf("ana's records still tell it: %s", text)
	}
}

// If team disputes a claim, that is announced in conversations that got the claim.
func TestConversationsHearWhatFell(t *testing.T) {
	l := open(t, settings(sharing))
	s, release, err := l.Store(t.Context(), "team")
	must(t, err)
	defer release()
	id, err := s.WriteClaim(t.Context(), humanClaim(t, retryFact))
	must(t, err)
	turn := asked(question)
	turn.Owner, turn.Session = "ana", "s"
	l.Assemble(t.Context(), turn)
	must(t, s.Transition(t.Context(), ken.Transition{ID: id, To: ken.StatusDisputed, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", time.Now(), "")}}))
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: question})
	r := l.Assemble(t.Context(), turn).Receipt
	if len(r.Items) != 1 || r.Items[0].NewStatus != ken.StatusDisputed || r.Items[0].Owner != "team" {
		t.Errorf("items %+v", r.Items)
	}
	turn = asked(question)
	turn.Owner, turn.Session = "ben", "s"
	if r := l.Assemble(t.Context(), turn).Receipt; len(r.Items) != 0 {
		t.Errorf("ben, who was not told, gets %+v", r.Items)
	}
}

// Twenty owners read one index of the repository, without copies.
func TestOwnersShareOneRepositoryIndex(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"docs/turbine.md": "# Turbine\n\nThe turbine maintenance schedule is kept by the harbour office.\n"})
	l := open(t, settings(func(c *config.Config) {
		c.Knowledge.Owner, c.Knowledge.Shares, c.Repository.Index = "team", []string{"team"}, true
	}), in(root))
	if _, err := l.Refresh(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		owner := fmt.Sprintf("dev%d", i)
		s, release, err := l.Store(t.Context(), owner)
		must(t, err)
		_, err = s.WriteClaim(t.Context(), humanClaim(t, fmt.Sprintf("The turbine maintenance schedule of %s is on Monday.", owner)))
		must(t, err)
		turn := asked("Who keeps the turbine maintenance schedule?")
		turn.Owner = owner
		r := l.Assemble(context.Background(), turn).Receipt
		if !strings.Contains(r.Block, "harbour office") || !strings.Contains(r.Block, "of "+owner+" is") || strings.Count(r.Block, "is on Monday") != 1 {
			t.Errorf("%s gets\n%s\ndegraded %q", owner, r.Block, r.Degraded)
		}
		if n := s.Len(); n != 1 {
			t.Errorf("the store of %s has %d records", owner, n)
		}
		release()
	}
}

// Without knowledge.shares, an owner sees nothing of others, including team's documents and claims.
func TestNothingIsSharedUnlessAsked(t *testing.T) {
	l := open(t, settings())
	marked(t, l, "team")
	turn := asked("What does the turbine maintenance schedule of Oslo say?")
	turn.Owner = "ana"
	a := l.Assemble(t.Context(), turn)
	if len(a.Insertions) != 0 || len(a.Receipt.Items)+len(a.Receipt.Cut) != 0 {
		t.Errorf("%+v", a)
	}
}

// A person reads what the code and its decisions say once the owner of the project shares;
// its objectives stay with that owner.
func TestCodeIsSharedWithItsOwner(t *testing.T) {
	for name, change := range map[string]func(*config.Config){"shared": func(c *config.Config) { c.Knowledge.Shares = []string{ken.DefaultOwner} },
		"of another": sharing, "not shared": func(*config.Config) {}} {
		l := open(t, settings(change), inFolder(shop(t)))
		turn := asked("Who calls FillShelf, and what is depot.Shelf?")
		turn.Owner = "ana"
		r := l.Assemble(t.Context(), turn).Receipt
		decided := strings.Contains(r.Block, "Nobody sorts them")
		if want := name == "shared"; len(cardsIn(&r)) > 0 != want || decided != want {
			t.Errorf("%s: the block is\n%s", name, r.Block)
		}
	}
}

// A share that can't be opened costs a turn nothing but itself.
func TestAShareThatFailsCostsNoTurn(t *testing.T) {
	root := t.TempDir()
	cfg := settings(sharing)
	l := open(t, cfg, in(root))
	must(t, os.WriteFile(filepath.Join(cfg.State(root), "team"), []byte("no folder"), 0o600))
	learn(t, l, humanClaim(t, retryFact))
	r := l.Assemble(t.Context(), asked(question)).Receipt
	if len(r.Items) != 1 || len(r.Degraded) != 1 || !strings.HasPrefix(r.Degraded[0], "team: ") {
		t.Errorf("items %+v, degraded %q", r.Items, r.Degraded)
	}
}

// A claim that team forgets in another process is never sent again, whichever process
// holds the stores, and even if the conversation's process was restarted.
func TestSharesAreTheSameInEveryProcess(t *testing.T) {
	root := t.TempDir()
	holder := open(t, settings(sharing), in(root))
	marked(t, holder, "team")
	s, release, err := holder.Store(t.Context(), "team")
	must(t, err)
	defer release()
	id, err := s.WriteClaim(t.Context(), humanClaim(t, retryFact))
	must(t, err)
	client := open(t, settings(sharing), in(root))
	turn := asked(question + " And what does the turbine maintenance schedule say?")
	turn.Owner, turn.Session, turn.ID = "ana", "s", "first"
	a := client.Assemble(t.Context(), turn)
	turn.Session = "other"
	if b := holder.Assemble(t.Context(), turn); len(a.Insertions) != 1 || len(b.Insertions) != 1 || a.Insertions[0].Text != b.Insertions[0].Text || len(a.Receipt.Degraded) > 0 {
		t.Fatalf("client %+v\nholder %+v\ndegraded %q", a.Insertions, b.Insertions, a.Receipt.Degraded)
	}
	if !strings.Contains(a.Insertions[0].Text, "three times") || len(leaks("ana", a.Insertions[0].Text)) > 0 {
		t.Fatal(a.Insertions[0].Text)
	}
	if _, err := client.Operator().Turn(t.Context(), "ana", "first"); err != nil { // it is journaled by then
		t.Fatal(err)
	}
	turn.Session, turn.ID = "s", "second"
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: "thanks!"})
	again := open(t, settings(sharing), in(root)) // has the block from the store alone
	if b := again.Assemble(t.Context(), turn); len(b.Insertions) != 1 || b.Insertions[0].Text != a.Insertions[0].Text {
		t.Fatalf("after a restart %+v", b.Insertions)
	}
	if _, err := s.Forget(t.Context(), id, "", ken.Actor{}); err != nil { // only the store's: nothing else was deleted
		t.Fatal(err)
	}
	for name, l := range map[string]*middleware.Layer{"client": client, "restarted": again} {
		if b := l.Assemble(t.Context(), turn); len(b.Insertions) != 0 {
			t.Errorf("%s sends on %+v", name, b.Insertions)
		}
	}
}

// Pain: cross-tenant leaks. A file that a conversation names is hashed, so that findings
// about it no longer count when it changes. It is not hashed for agents of another owner,
// because that would reveal the project's files.
func TestFilesAreHashedForTheirOwnerAlone(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "plan.go"), []byte("package plan\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := openWithin(t, root)
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
		journaledTexts(t, l, owner, id)
		tr, err := l.Operator().Journal(owner).Read(t.Context(), id)
		must(t, err)
		files := map[string]string{}
		for _, e := range tr.Entries {
			maps.Copy(files, e.Files)
		}
		if got := len(files) == 2 && files["plan.go"] != "" && files["none.go"] == ""; got != want || !want && len(files) > 0 {
			t.Errorf("for owner %q the journal has %v", owner, files)
		}
	}
	if got := []string{l.Operator().RootOf(""), l.Operator().RootOf(ken.DefaultOwner), l.Operator().RootOf("bob")}; got[0] != l.Root() || got[1] != l.Root() || got[2] != "" {
		t.Errorf("the roots are %q", got)
	}
}
