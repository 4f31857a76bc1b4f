package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/structuretest"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// This checks the invariant about rules for the whole turn, against everything that might break
// it: a store that was just opened, legs that fail or are late, an expired turn, very small
// blocks, weights, scopes and trust. Every constraint that applies is in the block, or counted
// as missing, and then the block says how many are.
func TestNoConstraintIsEverLostInSilence(t *testing.T) {
	race.SkipLong(t)
	shown, overflowed := 0, 0
	defer func() {
		if shown == 0 || overflowed == 0 {
			t.Errorf("%d shown, %d missing: this shows nothing", shown, overflowed)
		}
	}()
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			root := t.TempDir()
			claims := structuretest.Random(seed, 150+rnd.IntN(150))
			seedStore(t, root, claims)
			f := ken.Filter{Unscoped: true, MinTrust: []ken.Trust{ken.TrustExternal, ken.TrustAgent}[rnd.IntN(2)]}
			c := settings(func(c *config.Config) {
				c.Retrieval.MinTrust, c.Retrieval.Pool, c.Knowledge.TopK = f.MinTrust, 1, 1
				c.Retrieval.Deadline = []time.Duration{time.Millisecond, time.Second}[rnd.IntN(2)]
				c.Budget.Chars = []int{500, 700, 2000, 6000, 60_000}[rnd.IntN(5)]
				c.Structure.Focal, c.Structure.Aspects, c.Structure.Attributes, c.Structure.Dependencies = 1, 1, 1, 1
				m := &c.Middleware
				m.Guard, m.Intent, m.Keyword, m.Pinned, m.Floor = rnd.IntN(2) > 0, rnd.IntN(3) > 0, rnd.IntN(2) > 0, rnd.IntN(2) > 0, rnd.IntN(2) > 0
			})
			turn := ken.Turn{Weight: []ken.Weight{ken.WeightLow, ken.WeightDefault, ken.WeightHigh}[rnd.IntN(3)]}
			if rnd.IntN(3) == 0 {
				turn.Scopes = structuretest.Scopes()[:1]
				f.Scopes = turn.Scopes
			}
			var said, names []string
			for range 1 + rnd.IntN(4) {
				n := fmt.Sprintf("e%d", rnd.IntN(8))
				if said = append(said, n); structuretest.Carries(claims, n, &f) {
					names = append(names, n)
				}
			}
			turn.Messages = []ken.Message{{Role: "user", Text: "What has to be done about " + strings.Join(said, ", ") + " before the next release?"}}
			l := open(t, c, func(o *middleware.Options) { o.Root, o.Embedder = root, &hangs{} })
			middleware.AwaitTurns(l)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rnd.IntN(3) == 0 {
				cancel()
			}
			a := l.Assemble(ctx, turn)
			if why := slices.IndexFunc(a.Receipt.Degraded, func(s string) bool { return strings.HasPrefix(s, "structure: ") }); why >= 0 {
				t.Skip("the rules could not be looked for, and the receipt says so: ", a.Receipt.Degraded[why])
			}
			applies := map[string]bool{}
			for i := range structuretest.Obliged(claims, names, &f, structure.DefaultMinStrength) {
				applies[claims[i].Text] = true
			}
			missing := len(applies)
			for _, it := range a.Receipt.Items {
				if text := claims[ordinal(it.Text)].Text; it.Constraint && applies[text] {
					delete(applies, text)
					missing--
				}
			}
			r := &a.Receipt
			shown, overflowed = shown+len(r.Items), overflowed+missing
			if missing != r.OverflowedConstraints {
				t.Errorf("%d constraints are missing, %d are said to be; focal %v, degraded %v\n%v\n%s", missing, r.OverflowedConstraints, r.Focal, r.Degraded, applies, r.Block)
			}
			if tells := strings.Contains(r.Block, "did not fit and"); r.Block != "" && tells != (missing > 0) {
				t.Errorf("%d are missing, and the block says\n%s", missing, r.Block)
			}
			if r.Block == "" && missing > 0 && c.Budget.Chars > 300 {
				t.Errorf("%d are missing without a word", missing)
			}
		})
	}
}

// ordinal is the number in a text of structuretest.Random, however short it was cut.
func ordinal(text string) (n int) {
	_, _ = fmt.Sscanf(text, "Statement %d", &n)
	return n
}

// seedStore writes claims into a project's store and closes it.
func seedStore(t testing.TB, root string, claims []ken.Claim) {
	t.Helper()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler),
		Config: settings(func(c *config.Config) { c.Knowledge.Embeddings = false })})
	if err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	in := make([]store.Incoming, len(claims))
	for i := range claims {
		in[i].Claim = claims[i]
	}
	for i, o := range s.Import(t.Context(), in) {
		if o.Err != nil {
			t.Fatalf("claim %d: %v", i, o.Err)
		}
	}
	release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A turn about an entity is reminded of its open tasks, until they are done or
// expire. A turn about another entity is not.
func TestATurnIsRemindedOfOpenTasks(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "The payments service depends on the ledger service."), fact(t, "The warehouse service has two doors."))
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	now := time.Now()
	ed := edit.New(s, edit.Options{Actor: ken.Actor{Type: "user", ID: "ada"}, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", now, "")}})
	create := func(n edit.NewTask) string {
		k, err := ed.CreateTask(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return k.ID
	}
	rotate := create(edit.NewTask{Title: "Rotate the keys", About: []string{"payments"}})
	create(edit.NewTask{Title: "Paint a door", About: []string{"warehouse"}})
	create(edit.NewTask{Title: "Prepare the audit", About: []string{"payments"}, ExpiresAt: now.Add(-time.Hour)})
	reminded := func(question string) (titles []string) {
		for _, it := range l.Assemble(t.Context(), asked(question)).Receipt.Items {
			if it.Kind == ken.KindEntity {
				if !it.Memory || !strings.HasPrefix(it.Heading, "Task T-") {
					t.Errorf("%+v", it)
				}
				titles = append(titles, it.Text)
			}
		}
		return titles
	}
	if got := reminded("how do payments retry?"); !slices.Equal(got, []string{"Rotate the keys"}) {
		t.Errorf("about payments: %q", got)
	}
	if got := reminded("thanks!"); len(got) > 0 {
		t.Errorf("small talk: %q", got)
	}
	done := task.Done
	if _, err := ed.UpdateTask(t.Context(), rotate, edit.TaskChange{Status: &done}); err != nil {
		t.Fatal(err)
	}
	if got := reminded("how do payments retry, and when?"); len(got) > 0 {
		t.Errorf("once it is done: %q", got)
	}
}
