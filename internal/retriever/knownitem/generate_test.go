package knownitem_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func generate(t testing.TB, claims []ken.Claim, o knownitem.Options) knownitem.Set {
	t.Helper()
	set, err := knownitem.Generate(t.Context(), each(claims), o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// notes is a small collection in which every kind finds something.
func notes() []ken.Claim {
	claims := []ken.Claim{
		fact("1", "Payments › Retry policy of invoices", "## Retry policy of invoices\n\nA failed charge is tried again after ten minutes, at most four times.\n"+
			"To cancel a pending charge, delete its row in the ledger."),
		fact("2", "", "Anna: I bought a turquoise sailing boat last summer and named it Petrel."),
		fact("3", "Deployment", "The gateway must never cache tokens of external tenants. Run the canary script to verify a rollout before lunch."),
		fact("4", "", "The breaker opens because five embedding calls in a row have timed out."),
		fact("5", "", "When the lighthouse lamp goes out, the keeper lights the pilot flame by hand and notes the hour."),
		fact("6", "", "Our warehouse scanner reads damaged barcodes with a second camera mounted below the belt."),
		fact("7", "", "Tomas: My daughter adores the puppet theatre near the harbour, we visit it every month."),
		fact("8", "", "The nightly export writes compressed archives into the bucket named glacier-two."),
	}
	code := fact("9", "store/lease.go › func Acquire", "// Acquire waits until the lease of a shard is free and takes it.\n// A holder that dies loses it after a minute.\n"+
		"func Acquire(ctx context.Context, shard string) (*Lease, error) {\n\treturn newLease(ctx, shard, defaultPatience)\n}")
	code.Kind, code.SourceType, code.Entities = ken.KindDocument, "repository", []string{"Acquire"}
	code.Evidence = []ken.Evidence{ken.FromFile("store/lease.go", "", "")}
	commit := fact("10", "commit: store: renew leases before half of their time is over", "store: renew leases before half of their time is over\n\n"+
		"A pause of the collector made holders lose shards that they still wrote to.\n\nFiles: store/lease.go, store/renew.go")
	commit.Kind, commit.SourceType = ken.KindDocument, "git"
	return append(claims, code, commit)
}

func TestGolden(t *testing.T) {
	set := generate(t, notes(), knownitem.Options{N: 18, Seed: 7})
	var b strings.Builder
	for _, q := range set.Questions {
		fmt.Fprintf(&b, "%-10s %-14s %-2s  %s\n", q.Kind, q.Source, q.Want, q.Text)
		if q.Hidden != "" {
			fmt.Fprintf(&b, "%30s%q\n", "hides ", q.Hidden)
		}
	}
	fmt.Fprintf(&b, "read %d, lacking %v\n", set.Read, set.Lacking)
	const file = "testdata/notes.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The order of the claims must not matter, and the seed must.
func TestDeterministic(t *testing.T) {
	claims := notes()
	first := generate(t, claims, knownitem.Options{N: 12, Seed: 1})
	for range 5 {
		rand.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if diff := cmp.Diff(first, generate(t, claims, knownitem.Options{N: 12, Seed: 1})); diff != "" {
			t.Fatalf("another order, -first +then:\n%s", diff)
		}
	}
	if cmp.Equal(first, generate(t, claims, knownitem.Options{N: 12, Seed: 2})) {
		t.Error("another seed gives the same questions")
	}
}

// check asserts what holds of every set.
func check(t *testing.T, claims []ken.Claim, set knownitem.Set) {
	t.Helper()
	byID := map[string]*ken.Claim{}
	has := map[string]bool{}
	for i := range claims {
		byID[claims[i].ID] = &claims[i]
		for _, term := range analysis.Terms(claims[i].Heading + "\n" + claims[i].Text) {
			has[term] = true
		}
	}
	asked, texts := map[string]bool{}, map[string]bool{}
	for _, q := range set.Questions {
		if q.Text == "" || texts[q.Text] || guardrail.Sanitize(q.Text) != q.Text || len(guardrail.Secrets(q.Text)) > 0 {
			t.Errorf("%+v: empty, twice or unclean", q)
		}
		texts[q.Text] = true
		if !q.Kind.Answered() {
			if q.Want != "" || q.Source != "" {
				t.Errorf("%+v: has no answer and names one", q)
			}
			continue
		}
		c := byID[q.Want]
		if c == nil || asked[q.Want] {
			t.Fatalf("%+v: no such claim, or asked for twice", q)
		}
		asked[q.Want] = true
		if q.Source != knownitem.SourceOf(c) {
			t.Errorf("%+v: made of %s", q, knownitem.SourceOf(c))
		}
		masked := q.Mask(*c)
		switch {
		case q.Kind != knownitem.KindHeading:
			if q.Hidden != "" {
				t.Errorf("%+v: hides something", q)
			}
		case q.Hidden == "" || strings.Contains(masked.Text, q.Hidden) && strings.Contains(q.Hidden, "\n"):
			t.Errorf("%+v: hides nothing of\n%s", q, c.Text)
		case strings.Contains(masked.Heading, q.Hidden):
			t.Errorf("%+v: left in %q", q, masked.Heading)
		}
		if q.Kind == knownitem.KindKeyword {
			for _, term := range analysis.Terms(q.Text) {
				if !has[term] {
					t.Errorf("%+v: %q is not in the collection", q, term)
				}
			}
		}
	}
}

func TestHolds(t *testing.T) {
	for _, n := range []int{1, 5, 12, 40} {
		claims := notes()
		set := generate(t, claims, knownitem.Options{N: n})
		check(t, claims, set)
		if len(set.Questions) > n || n <= 12 && len(set.Questions) != n {
			t.Errorf("%d questions of %d", len(set.Questions), n)
		}
	}
}

// Real collections: every kind gets its share, sources take turns, and the words
// of a paraphrase differ from the text's.
func TestRealCollections(t *testing.T) {
	race.SkipLong(t)
	for name, claims := range map[string]func(t *testing.T) []ken.Claim{
		"chat":       func(t *testing.T) []ken.Claim { return beir(t, "locomo-dev") },
		"long chat":  func(t *testing.T) []ken.Claim { return beir(t, "beam-dev") },
		"functions":  func(t *testing.T) []ken.Claim { return beir(t, "cosqa-dev") },
		"repository": func(t *testing.T) []ken.Claim { return chunks(t, "../..") },
		"decisions":  func(t *testing.T) []ken.Claim { return chunks(t, evaldata.Dir(t, "adr")) },
	} {
		t.Run(name, func(t *testing.T) {
			all := claims(t) // of this subtest: the data of one may be missing
			set := generate(t, all, knownitem.Options{N: 120, Seed: 3})
			check(t, all, set)
			count, sources := map[knownitem.Kind]int{}, map[string]int{}
			for _, q := range set.Questions {
				count[q.Kind]++
				sources[q.Source]++
			}
			for _, k := range knownitem.Kinds() {
				if k == knownitem.KindHeading && set.Lacking[k] == 20 && name != "repository" && name != "decisions" {
					continue // chats have no headings
				}
				if count[k] < 15 {
					t.Errorf("%d of kind %s; lacking %v", count[k], k, set.Lacking)
				}
			}
			if name == "repository" && (sources["git"] == 1 || sources["repository .md"] < 3 || sources["repository .go"] < 3) {
				t.Errorf("sources %v", sources)
			}
			if len(set.Questions) != 120 {
				t.Errorf("%d questions", len(set.Questions))
			}
		})
	}
}

func TestWhatIsNotAskedFor(t *testing.T) {
	old := fact("old", "", "The retired turbine was dismantled in the northern dockyard by two Norwegian engineers.")
	old.Status = ken.StatusSuperseded
	nameless := fact("", "", "The nameless ferry carries passengers between two quiet islands each Thursday.")
	secret := fact("secret", "", "deploy token ghp_16C7e42F292c6912E7710c838347Ae178B4a")
	twin := fact("twin", "", notes()[3].Text)
	claims := append(notes(), old, nameless, secret, twin)
	set := generate(t, claims, knownitem.Options{N: 60})
	twins := 0
	for _, q := range set.Questions {
		switch {
		case q.Want == "old", strings.Contains(q.Text, "ghp_"):
			t.Errorf("%+v", q)
		case q.Want == "twin" || q.Want == "4":
			twins++
		case q.Kind == knownitem.KindAbsent && strings.Contains(q.Text, "ferry"):
			t.Errorf("%+v: the collection has a ferry", q)
		}
	}
	if twins > 1 {
		t.Errorf("%d questions about two claims that say the same", twins)
	}
}

func TestErrors(t *testing.T) {
	for name, o := range map[string]knownitem.Options{
		"negative": {N: -1}, "unknown kind": {Kinds: []knownitem.Kind{"riddle"}}, "kind twice": {Kinds: []knownitem.Kind{"absent", "absent"}},
	} {
		if _, err := knownitem.Generate(t.Context(), each(nil), o); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := func(yield func(ken.Claim, error) bool) { yield(ken.Claim{}, ken.ErrCorrupt) }
	if _, err := knownitem.Generate(t.Context(), broken, knownitem.Options{}); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("broken store: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := knownitem.Generate(ctx, each(notes()), knownitem.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if set := generate(t, nil, knownitem.Options{N: 12}); len(set.Questions) != 4 || set.Lacking[knownitem.KindKeyword] != 2 {
		t.Errorf("nothing to ask for: %+v", set)
	}
}

func TestSmallTalkIsSmallTalk(t *testing.T) {
	list := knownitem.SmallTalk()
	if len(list) < 55 || !slices.IsSorted(slices.Compact(slices.Sorted(slices.Values(list)))) {
		t.Fatalf("%d phrases", len(list))
	}
	seen := map[string]bool{}
	for _, s := range list {
		if strings.TrimSpace(s) != s || s == "" || seen[s] {
			t.Errorf("%q: blank or twice", s)
		}
		seen[s] = true
	}
}
