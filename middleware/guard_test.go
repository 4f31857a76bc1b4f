package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

func lines(s string) iter.Seq[string] { return strings.SplitSeq(s, "\n") }

// only leaves one leg on.
func only(leg string) func(*config.Config) {
	return func(c *config.Config) {
		m := &c.Middleware
		m.Keyword, m.Vector, m.Pinned = leg == "keyword", leg == "vector", leg == "pinned"
		m.Sessions, m.Playbooks = leg == "sessions", leg == "playbooks"
		c.Knowledge.Sessions = 50
	}
}

// Rival layers forget a condition on one path and leak through it. Secrets must never
// be injected. Each question asks for one secret, word for word; its claim has a kind
// that the leg finds, and the floor is off. Each leg is tested alone, and all
// together.
func TestNothingLeaksThroughAnyLeg(t *testing.T) {
	ctx := context.Background()
	const asks = "What is the launch code of the zanzibar gateway?"
	mine, theirs := ken.Scope{Type: ken.ScopeRepo, ID: "mine"}, ken.Scope{Type: ken.ScopeRepo, ID: "theirs"}
	legs := map[string]func(*config.Config){"keyword": only("keyword"), "vector": only("vector"), "pinned": only("pinned"),
		"sessions": only("sessions"), "playbooks": only("playbooks"), "all": func(*config.Config) {}}
	kinds := map[string]ken.Kind{"sessions": ken.KindEpisode, "playbooks": ken.KindPlaybook}
	for leg, change := range legs {
		t.Run(leg, func(t *testing.T) {
			l := open(t, settings(change, func(c *config.Config) { c.Middleware.Floor, c.Retrieval.MinTrust = false, ken.TrustAgent }), withVectors,
				func(o *middleware.Options) { o.Now = func() time.Time { return monday } })
			say := func(what string, change func(*ken.Claim)) ken.Claim {
				c := pinned(t, "What is the launch code of the zanzibar gateway? It is "+what+".")
				if kind := kinds[leg]; kind != "" {
					c.Kind = kind
				}
				if change != nil {
					change(&c)
				}
				return c
			}
			never := map[string]ken.CutReason{"expired": ken.CutExpired, "disputed": ken.CutStatus, "superseded": ken.CutStatus,
				"hypothesis": ken.CutStatus, "foreign": ken.CutScope, "untrusted": ken.CutTrust}
			ids := learn(t, l,
				say("public", nil), say("ours", func(c *ken.Claim) { c.Scope = mine }),
				say("expired", func(c *ken.Claim) { c.ExpiresAt = monday }),
				say("disputed", nil), say("superseded", nil),
				say("hypothesis", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }),
				say("foreign", func(c *ken.Claim) { c.Scope = theirs }),
				say("untrusted", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromToolResult("call", "")} }),
				say("forgotten", nil))
			s, release, err := l.Store(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			for _, err := range []error{
				s.Transition(ctx, ken.Transition{ID: ids[3], To: ken.StatusDisputed, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m2")}}),
				s.Supersede(ctx, ids[4], ids[0]),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Forget(ctx, ids[8], "test", ken.Actor{Type: "user"}); err != nil {
				t.Fatal(err)
			}
			other, releaseOther, err := l.Store(ctx, "other")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.WriteClaim(ctx, say("stranger", nil)); err != nil {
				t.Fatal(err)
			}
			releaseOther()

			turn := asked(asks)
			turn.Scopes = []ken.Scope{mine}
			a := l.Assemble(ctx, turn)
			r := a.Receipt
			if len(r.Degraded) > 0 || len(a.Insertions) != 1 {
				t.Fatalf("degraded %q, %d insertions", r.Degraded, len(a.Insertions))
			}
			for _, seen := range []string{"public", "ours"} {
				if !strings.Contains(a.Insertions[0].Text, "It is "+seen+".") {
					t.Errorf("%s is missing: the test shows nothing; cut %+v", seen, r.Cut)
				}
			}
			whole, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"expired", "disputed", "superseded", "hypothesis", "foreign", "untrusted", "forgotten", "stranger"} {
				if strings.Contains(string(whole), "It is "+secret+".") {
					t.Errorf("%s leaks into\n%s", secret, a.Insertions[0].Text)
				}
			}
			for i, name := range []string{2: "expired", 3: "disputed", 4: "superseded", 5: "hypothesis", 6: "foreign", 7: "untrusted"} {
				for _, c := range r.Cut {
					if i >= 2 && c.ID == ids[i] && c.Reason != never[name] {
						t.Errorf("%s was cut for %s", name, c.Reason)
					}
				}
			}
			for _, c := range r.Cut {
				if c.ID == ids[8] {
					t.Errorf("the receipt names a forgotten claim: %+v", c)
				}
			}

			stranger := asked(asks)
			stranger.Owner = "other"
			if text := l.Assemble(ctx, stranger).Receipt.Block; !strings.Contains(text, "It is stranger.") || strings.Count(text, "It is ") != 1 {
				t.Errorf("the other owner sees\n%s", text)
			}
		})
	}
}

// The stored blocks of one owner, session or set of scopes are used for no
// other, even if the messages are the same.
func TestBlocksAreNotSharedAcrossBoundaries(t *testing.T) {
	l := open(t, settings())
	mine := ken.Scope{Type: ken.ScopeRepo, ID: "mine"}
	scoped := fact(t, "%s", retryFact)
	scoped.Scope = mine
	learn(t, l, scoped)
	conversation := []ken.Message{{Role: "user", Text: question}, {Role: "assistant", Text: "Three times."}, {Role: "user", Text: "thanks!"}}
	see := func(owner, session string, scopes []ken.Scope) string {
		var all strings.Builder
		for _, n := range []int{1, 3} {
			for _, ins := range l.Assemble(context.Background(), ken.Turn{Owner: owner, Session: session, Scopes: scopes, Messages: conversation[:n]}).Insertions {
				all.WriteString(ins.Text)
			}
		}
		return all.String()
	}
	if !strings.Contains(see("", "s", []ken.Scope{mine}), "three times") {
		t.Fatal("who may see it does not")
	}
	for name, text := range map[string]string{
		"another scope": see("", "s", []ken.Scope{{Type: ken.ScopeRepo, ID: "theirs"}}),
		"another owner": see("other", "s", []ken.Scope{mine}),
	} {
		if text != "" {
			t.Errorf("%s sees %q", name, text)
		}
	}
}

// Pinned claims are in every block, even for questions without an answer. Other
// knowledge can't push them out, because they have a separate budget.
func TestHotClaimIsInEveryBlock(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*config.Config)
		block  bool
	}{
		"default":           {func(*config.Config) {}, true},
		"a crowded block":   {func(c *config.Config) { c.Budget.Chars = 500 }, true},
		"without knowledge": {func(c *config.Config) { c.Middleware.Keyword, c.Middleware.Vector = false, false }, true},
		"no memory":         {func(c *config.Config) { c.Budget.MemoryChars = 0 }, false},
		"too little memory": {func(c *config.Config) { c.Budget.MemoryChars = 30 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings(tt.change))
			hot := learn(t, l, pinned(t, "Answer in French, always."))[0]
			for i := range 20 {
				learn(t, l, fact(t, "%s In region %d this is rule %d, with %s", retryFact, i, i*7, strings.Repeat("many more words ", i)))
			}
			for _, text := range []string{question, "What does the weather forecast say about Oslo?", "奥斯陆的天气怎么样？"} {
				r := l.Assemble(context.Background(), asked(text)).Receipt
				n := 0
				for _, it := range r.Items {
					if it.ID == hot {
						n++
					}
				}
				if (n == 1) != tt.block || n > 1 || strings.Contains(r.Block, "in French") != tt.block {
					t.Errorf("%q: %d times in\n%s", text, n, r.Block)
				}
				if !tt.block && !cut(r, hot, ken.CutBudget) {
					t.Errorf("%q: cut %+v", text, r.Cut)
				}
				if text == question && tt.block && name == "a crowded block" && len(r.Items) < 2 {
					t.Errorf("memory crowded knowledge out: %+v", r.Items)
				}
			}
		})
	}
}

func cut(r ken.Receipt, id string, why ken.CutReason) bool {
	for _, c := range r.Cut {
		if c.ID == id {
			return c.Reason == why
		}
	}
	return false
}

// The filter object of a turn is the caller's: nothing changes it.
func TestTurnIsNotChanged(t *testing.T) {
	l := open(t, settings(), withVectors)
	learn(t, l, fact(t, "%s", retryFact))
	turn := ken.Turn{Session: "s", Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "b"}, {Type: ken.ScopeAgent, ID: "a"}}, Messages: []ken.Message{
		{Role: "assistant", Text: "<think>hm</think>Yes?"}, {Role: "user", Text: question}}}
	before := fmt.Sprintf("%#v", turn)
	l.Assemble(context.Background(), turn)
	if after := fmt.Sprintf("%#v", turn); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

// randoms are put together so that no scanner takes this file for a leak.
const random48 = "Q7Rz1mXv8KpLw" + "3NcYh6BdJg5FsAe2Ui9Ok4" + "Zx0VbQ8nMa6Hs"

// typed are messages as people send them, each with one secret where it says %s.
var typed = []struct{ text, secret string }{
	{"My .env has DB_PASSWORD='%s' and login fails with ERR_LOGIN_42.", "Wq8!" + "vNqsTr4zz"},
	{"This answers 401: curl -u deploy:%s https://ci.example.org/build", "Zr7k" + "99aXq"},
	{"Authorization: Bearer %s is refused by the Ledger API.", "tk" + random48},
	{"Why does postgres://app:%s@db.internal:5432/orders time out?", "v3ry" + "-L0ng9"},
	{"AccountName=acme;AccountKey=%s==;EndpointSuffix=core.windows.net fails.", random48 + random48[:38]},
	{"AWS_SECRET_ACCESS_KEY=%s is what I exported.", random48[:40]},
	{"mysql -u root -p%s orders says Access denied for user.", "Gk2w" + "Xy77"},
	{"-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----\nis this key valid?", "MIIE" + random48},
}

// A secret that a user types is only in the request itself: not in the stored data of the
// turn, not in the text for the embedding service, and not in the search.
func TestSecretsInATurnGoNowhere(t *testing.T) {
	var mu sync.Mutex
	var sent bytes.Buffer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent.Write(body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		vectors(8, nil)(w, r)
	}))
	t.Cleanup(srv.Close)
	root := t.TempDir()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Foreground: true, Strict: true,
		Config: settings(func(c *config.Config) {
			c.Knowledge.EmbedModel, c.Knowledge.EmbedBaseURL, c.Middleware.Events = "m", srv.URL, true
		})})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			_ = l.Close()
		}
	})
	learn(t, l, fact(t, retryFact))
	given := &bytes.Buffer{}
	show := func(values ...any) {
		for _, v := range values {
			if err := json.NewEncoder(given).Encode(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, tt := range typed {
		text := strings.ReplaceAll(tt.text, "%s", tt.secret)
		user := ken.Message{Role: "user", Text: text, Parts: []ken.Part{{Type: "text", Text: text}}}
		called := []ken.Message{user,
			{Role: "assistant", Text: "Let me look.", ToolCalls: []ken.ToolCall{{ID: "c", Name: "shell", Arguments: `{"cmd":` + quoted(text) + `}`}}},
			{Role: "tool", ToolCallID: "c", Text: text}, {Role: "assistant", Text: "I read " + text}, user}
		for _, msgs := range [][]ken.Message{{user}, called} {
			turn := ken.Turn{Session: "s" + strconv.Itoa(i), Messages: msgs}
			a := l.Assemble(t.Context(), turn)
			if msgs[0].Text != text || msgs[0].Parts[0].Text != text {
				t.Errorf("the request was changed: %+v", msgs[0])
			}
			tried, err := l.Operator().DryRun(t.Context(), turn, l.Config())
			if err != nil {
				t.Fatal(err)
			}
			show(a.Receipt, a.Receipt.Signals.Question, tried.Receipt, tried.Receipt.Signals.Question)
			l.Answered(turn, ken.Message{Role: "assistant", Text: "So it is " + text})
		}
		r, err := l.Operator().Search(t.Context(), middleware.RecallQuery{Question: text})
		if err != nil {
			t.Fatal(err)
		}
		show(r, r.Signals, r.Signals.Question)
	}
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed = true
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if sent.Len() == 0 {
		t.Error("nothing was asked of the embedding service")
	}
	disk := &bytes.Buffer{}
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		disk.Write(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(disk.Bytes(), []byte("ERR_LOGIN_42")) {
		t.Error("the turns left nothing on the disk: the test would see no secret")
	}
	for _, tt := range typed {
		secret := tt.secret[:8] // where it is cut into words, a part counts too
		for where, b := range map[string][]byte{"the disk": disk.Bytes(), "the embedding service": sent.Bytes(), "the receipts": given.Bytes()} {
			if bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(secret))) {
				t.Errorf("%q is in %s", secret, where)
			}
		}
	}
}
