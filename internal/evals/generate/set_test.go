package generate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/generate"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// notes are some claims with headings, and with words that no other one has.
func notes(t testing.TB, n int) []ken.Claim {
	t.Helper()
	word := func(i, salt int) string {
		const first, vowels, last = "bdfgklmnprst", "aeiou", "lmnrst"
		x := i*7 + salt*1009
		var b strings.Builder
		for range 3 {
			b.WriteByte(first[x%len(first)])
			b.WriteByte(vowels[x/len(first)%len(vowels)])
			x = x*5 + salt + 11
		}
		b.WriteByte(last[(i+salt)%len(last)])
		return b.String() + string(vowels[i/7%5]) + string(first[i%len(first)])
	}
	out := make([]ken.Claim, n)
	for i := range out {
		a, b, d := word(i, 1), word(i, 2), word(i, 3)
		c, err := ken.NewClaim(fmt.Sprintf("The %s gateway keeps the %s records for %d days before the nightly cleanup removes them. "+
			"Operators restart the %s service after every migration of cluster %d.", a, b, i+3, d, i), ken.FromUserStatement("s", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		c.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		c.Heading = fmt.Sprintf("How the %s gateway cleans up %s records", a, b)
		c.CreatedAt = time.Date(2026, 1, 1+i%28, 0, 0, 0, 0, time.UTC)
		out[i] = c
	}
	return out
}

func from(claims []ken.Claim) generate.Source {
	return func(context.Context) iter.Seq2[ken.Claim, error] {
		return func(yield func(ken.Claim, error) bool) {
			for _, c := range claims {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

func makeSet(t testing.TB, src generate.Source, o generate.Options) *generate.Set {
	t.Helper()
	s, err := generate.Make(context.Background(), src, o)
	if err != nil {
		t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
	}
	return s
}

// A sweep can read the written set: every question has one answer or none, and
// no question finds a copy of itself.
func TestWriteIsRead(t *testing.T) {
	claims := notes(t, 120)
	s := makeSet(t, from(claims), generate.Options{N: 60, Seed: 7})
	dir := filepath.Join(t.TempDir(), "new", "set")
	if err := s.Write(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(context.Background(), dir, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Format != dataset.FormatBEIR || len(set.Queries) != len(s.Questions) || len(set.Queries) != 60 || len(set.Notes) > 0 {
		t.Fatalf("%s with %d questions, made %d; %q", set.Format, len(set.Queries), len(s.Questions), set.Notes)
	}
	corpus := map[string]dataset.Record{}
	for r, err := range set.Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		corpus[r.ID] = r
	}
	if len(corpus) != len(claims) || !corpus[claims[5].ID].At.Equal(claims[5].CreatedAt) {
		t.Errorf("%d records; one is %+v", len(corpus), corpus[claims[5].ID])
	}
	seen := map[knownitem.Kind]int{}
	for i, q := range set.Queries {
		made := s.Questions[i]
		seen[knownitem.Kind(q.Category)]++
		if q.Text != made.Text || q.Category != string(made.Kind) || q.NoAnswer() == made.Kind.Answered() || made.Want != "" && q.Relevant[made.Want] != 1 {
			t.Errorf("%+v was written as %+v", made, q)
		}
		if made.Hidden != "" && strings.Contains(corpus[made.Want].Heading+"\n"+corpus[made.Want].Text, made.Hidden) {
			t.Errorf("%q finds its own copy", made.Text)
		}
	}
	if diff := cmp.Diff(s.Counts(), seen); diff != "" || len(seen) != len(knownitem.Kinds()) {
		t.Errorf("kinds: %s", diff)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "corpus.jsonl": 0o600, "queries.jsonl": 0o600, "qrels/test.tsv": 0o600} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode() != mode {
			t.Errorf("%s: mode %v, %v", name, fi.Mode(), err)
		}
	}
}

func read(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "generated.json", ".gitignore"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

func TestSameSeedSameSet(t *testing.T) {
	write := func(seed uint64, kinds ...knownitem.Kind) map[string]string {
		dir := t.TempDir()
		s := makeSet(t, from(notes(t, 50)), generate.Options{N: 20, Seed: seed, Kinds: kinds})
		if err := s.Write(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		return read(t, dir)
	}
	first := write(1)
	if diff := cmp.Diff(first, write(1)); diff != "" {
		t.Error(diff)
	}
	if maps.Equal(first, write(2)) {
		t.Error("another seed gives the same questions")
	}
	if q := write(1, knownitem.KindKeyword)["queries.jsonl"]; strings.Count(q, "\n") != 20 || strings.Count(q, `"category":"keyword"`) != 20 {
		t.Errorf("only keyword questions were asked for:\n%s", q)
	}
}

func TestOnlyItsOwnFolderIsReplaced(t *testing.T) {
	s := makeSet(t, from(notes(t, 20)), generate.Options{N: 5, Seed: 1})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "corpus.jsonl"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Write(context.Background(), dir)
	if !errors.Is(err, ken.ErrExists) || ken.Hint(err) == "" {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "corpus.jsonl")); string(b) != "mine" {
		t.Errorf("the file became %q", b)
	}
	mine := filepath.Join(t.TempDir(), "set")
	for range 2 {
		if err := s.Write(context.Background(), mine); err != nil {
			t.Fatal(err)
		}
	}
	before := read(t, mine)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Write(ctx, mine); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, read(t, mine)); diff != "" {
		t.Errorf("what was stopped changed the set:\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(mine), ".ken-eval-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(mine, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(context.Background(), mine); !errors.Is(err, ken.ErrExists) {
		t.Errorf("a folder with something else in it: %v", err)
	}
}

func TestMakeErrors(t *testing.T) {
	broken := func(context.Context) iter.Seq2[ken.Claim, error] {
		return func(yield func(ken.Claim, error) bool) { yield(ken.Claim{}, errors.New("disk on fire")) }
	}
	if _, err := generate.Make(context.Background(), broken, generate.Options{}); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v", err)
	}
	_, err := generate.Make(context.Background(), from(nil), generate.Options{})
	if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "ken index") {
		t.Errorf("nothing to ask about: %v", err)
	}
	_, err = generate.Make(context.Background(), from(notes(t, 5)), generate.Options{Kinds: []knownitem.Kind{"riddle"}})
	if !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// What changed between the questions and the corpus would make wrong figures.
func TestChangingKnowledge(t *testing.T) {
	claims := notes(t, 20)
	src := func(ctx context.Context) iter.Seq2[ken.Claim, error] { return from(claims)(ctx) }
	s := makeSet(t, src, generate.Options{N: 5, Seed: 1})
	claims = claims[:19]
	if err := s.Write(context.Background(), filepath.Join(t.TempDir(), "set")); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestFromStore(t *testing.T) {
	ctx := context.Background()
	s, err := bolt.Open(ctx, t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	claims := notes(t, 4)
	claims[1].Status, claims[2].ExpiresAt = ken.StatusHypothesis, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range claims {
		if _, err := s.WriteClaim(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Forget(ctx, claims[0].ID, "test", ken.Actor{Type: "user"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for c, err := range generate.FromStore(s, ken.Filter{Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]string{claims[3].ID}, got); diff != "" {
		t.Errorf("a turn would find others: %s", diff)
	}
}

func ExampleMake() {
	claim, err := ken.NewClaim("The ledger writes entries in batches of 500 every night.", ken.FromTestResult("TestBatch", ""))
	if err != nil {
		fmt.Println(err)
		return
	}
	claim.ID = "0195616d-8c00-7000-8000-0000003f9a1c"
	s, err := generate.Make(context.Background(), from([]ken.Claim{claim}), generate.Options{N: 1, Kinds: []knownitem.Kind{knownitem.KindKeyword}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Questions[0].Kind, s.Questions[0].Want == claim.ID, s.Records)
	// Output: keyword true 1
}
