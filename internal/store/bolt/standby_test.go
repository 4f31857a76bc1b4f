package bolt_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// limited is an embedder under another name, slow, that embeds at most left texts.
type limited struct {
	embed.Embedder
	name string
	left atomic.Int64
	full func() // called instead of an error when no text is left; may be nil
}

func slow(e embed.Embedder, name string, left int) *limited {
	l := &limited{Embedder: e, name: name}
	l.left.Store(int64(left))
	return l
}

func (l *limited) Model() string    { return l.name }
func (l *limited) Local() bool      { return true }
func (l *limited) Background() bool { return true }

var errLimit = errors.New("no more for now")

func (l *limited) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if l.left.Add(-int64(len(texts))) < 0 {
		if l.full != nil {
			l.full()
		}
		return nil, errLimit
	}
	return l.Embedder.Embed(ctx, texts)
}

// turned is a Bag with permuted and omitted dimensions: its vectors must not be compared with the
// Bag's.
type turned struct{ embedtest.Bag }

func (t turned) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := t.Bag.Embed(ctx, texts)
	for i, v := range vectors {
		if v == nil {
			continue
		}
		w := make([]float32, t.Dim())
		for j := range w {
			w[j] = v[len(v)-1-j]
		}
		if embed.Unit(w) != nil {
			w = nil
		}
		vectors[i] = w
	}
	return vectors, err
}

func (turned) Dim() int { return 48 }

// finds returns what an embedder is, by the names that have it.
func finds(all ...embed.Embedder) func(model string) embed.Embedder {
	return func(model string) embed.Embedder {
		for _, e := range all {
			if e.Model() == model {
				return e
			}
		}
		return nil
	}
}

// both embeds a question with the models of a store, as its callers do.
func both(t *testing.T, s *bolt.Store, e, old embed.Embedder, text string) []float32 {
	t.Helper()
	ask := func(e embed.Embedder) []float32 {
		if l, ok := e.(*limited); ok {
			e = l.Embedder
		}
		v, err := e.Embed(context.Background(), []string{text})
		must(t, err)
		if v[0] == nil {
			v[0] = make([]float32, e.Dim())
		}
		return v[0]
	}
	q := ask(e)
	if s.Standby() != "" {
		q = append(slices.Clone(q), ask(old)...)
	}
	return q
}

// vecFiles are the models that have a file of vectors.
func vecFiles(t *testing.T, dir string) (models []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "vectors", "*"))
	must(t, err)
	for _, p := range paths {
		models = append(models, filepath.Base(p))
	}
	return models
}

func manyClaims(n int) []store.Incoming {
	in := make([]store.Incoming, n)
	for i := range in {
		c, err := ken.NewClaim(fmt.Sprintf("entry %d has the words w%d x%d y%d", i, i, i*7, i*13), ken.FromAgentAssertion("a", ""))
		if err != nil {
			panic(err)
		}
		in[i].Claim = c
	}
	return in
}

// changeSize is the number of records of TestChangeOfEmbedder; KEN_TEST_RECORDS takes another number.
func changeSize() int {
	n := 1500
	_, _ = fmt.Sscan(os.Getenv("KEN_TEST_RECORDS"), &n)
	return n
}

func changeOptions(e *limited, old embed.Embedder) bolt.Options {
	return bolt.Options{Embedder: e, Standby: finds(old), NoSync: true}
}

// childChanger embeds half of the records again and waits to be killed.
func childChanger() {
	e := slow(turned{}, "test:turned", changeSize()/2)
	e.full = func() {
		fmt.Println("half")
		select {}
	}
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), changeOptions(e, embedtest.Bag{}))
	if err == nil {
		_, err = s.EmbedMissing(context.Background())
	}
	fmt.Println("error", err)
}

func TestChangeOfEmbedder(t *testing.T) {
	ctx, dir, old := context.Background(), t.TempDir(), embedtest.Bag{}
	in := manyClaims(changeSize())
	s := open(t, dir, bolt.Options{Embedder: old, NoSync: true})
	for _, o := range s.Import(ctx, in) {
		must(t, o.Err)
	}

	// hits asks for some records by their own words and counts those that come first.
	hits := func(s *bolt.Store, e embed.Embedder) (n int) {
		for i := 0; i < len(in); i += 37 {
			res, err := s.Vector(ctx, both(t, s, e, old, in[i].Claim.Text), &ken.Filter{Unscoped: true}, 10)
			must(t, err)
			for _, h := range res.Hits {
				if c, err := s.Claim(ctx, h.Ref); err == nil && c.Text == in[i].Claim.Text {
					n++
					break
				}
			}
		}
		return n
	}
	before := hits(s, old)
	must(t, s.Close())

	cmd := child(t, "changer", dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()

	e := slow(turned{}, "test:turned", 0)
	s = open(t, dir, changeOptions(e, old))
	have, total := s.Coverage()
	if have < total/3 || have > total/2 || s.Standby() != old.Model() || len(vecFiles(t, dir)) != 2 {
		t.Fatalf("after the kill %d of %d, standby %q, files %v", have, total, s.Standby(), vecFiles(t, dir))
	}
	during := hits(s, e)
	// A new claim is found by the old model at once, and by the new one afterwards.
	fresh, _ := ken.NewClaim("zebra quagga okapi giraffe", ken.FromAgentAssertion("a", ""))
	id, err := s.WriteClaim(ctx, fresh)
	must(t, err)
	res, err := s.Vector(ctx, both(t, s, e, old, "zebra quagga okapi giraffe"), &ken.Filter{Unscoped: true}, 1)
	if c, _ := s.Claim(ctx, res.Hits[0].Ref); err != nil || c.ID != id {
		t.Errorf("the new claim is not found: %v", err)
	}
	_, err = s.Forget(ctx, id, "test", ken.Actor{})
	must(t, err)

	e.left.Store(int64(total))
	if _, err := s.EmbedMissing(ctx); err != nil {
		t.Fatal(err)
	}
	if again := total - int(e.left.Load()); again > total-have+1 {
		t.Errorf("%d texts were embedded after the kill, %d lacked a vector", again, total-have)
	}
	if files := vecFiles(t, dir); s.Standby() != "" || len(files) != 1 || !strings.Contains(files[0], "turned") {
		t.Errorf("at the end standby %q, files %v", s.Standby(), files)
	}
	if after := hits(s, e); during < min(before, after) || before == 0 {
		t.Errorf("%d records are found half way, %d before and %d after", during, before, after)
	}
	// A question that was embedded before the end is still understood.
	v, err := turned{}.Embed(ctx, []string{in[0].Claim.Text})
	must(t, err)
	if res, err := s.Vector(ctx, append(v[0], make([]float32, old.Dim())...), &ken.Filter{Unscoped: true}, 3); err != nil || len(res.Hits) != 3 {
		t.Errorf("a late question: %v, %v", res.Hits, err)
	}
	// What a kill at the very end leaves goes at the next start.
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, "vectors", "test_bag.64d.vec"), []byte("left"), 0o600))
	s = open(t, dir, changeOptions(e, old))
	if files := vecFiles(t, dir); len(files) != 1 || s.Standby() != "" {
		t.Errorf("after a start: files %v, standby %q", files, s.Standby())
	}
}

// A slow embedder's first records are served by a quick one.
func TestQuickStandbyServesFirst(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	quick := embedtest.Bag{}
	e := slow(turned{}, "test:turned", 0)
	s := open(t, dir, bolt.Options{Embedder: e, NoSync: true, Standby: func(model string) embed.Embedder {
		if model == "" || model == quick.Model() {
			return quick
		}
		return nil
	}})
	for _, o := range s.Import(ctx, manyClaims(300)) {
		must(t, o.Err)
	}
	if have, total := s.Coverage(); have != 0 || total != 300 || s.Standby() != "" {
		t.Fatalf("%d of %d, standby %q", have, total, s.Standby())
	}
	if _, err := s.EmbedMissing(ctx); !errors.Is(err, errLimit) {
		t.Fatal(err)
	}
	v, err := quick.Embed(ctx, []string{"entry 17 has the words w17"})
	must(t, err)
	res, err := s.Vector(ctx, append([]float32{0}, v[0]...), &ken.Filter{Unscoped: true}, 3)
	if err != nil || len(res.Hits) != 3 || s.Standby() != quick.Model() {
		t.Fatalf("%v, %v, standby %q", res.Hits, err, s.Standby())
	}
	e.left.Store(300)
	if n, err := s.EmbedMissing(ctx); n != 300 || err != nil || s.Standby() != "" || len(vecFiles(t, dir)) != 1 {
		t.Errorf("%d, %v, standby %q, files %v", n, err, s.Standby(), vecFiles(t, dir))
	}
	// A few new records need no help.
	for _, o := range s.Import(ctx, manyClaims(310)[300:]) {
		must(t, o.Err)
	}
	if _, err := s.EmbedMissing(ctx); !errors.Is(err, errLimit) || s.Standby() != "" {
		t.Errorf("%v, standby %q", err, s.Standby())
	}
}

// What an embedder answers that is no vector is refused, and what was there stays.
func TestNaNIsRefused(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s := open(t, dir, bolt.Options{Embedder: embedtest.Bag{}, NoSync: true})
	for _, o := range s.Import(ctx, manyClaims(20)) {
		must(t, o.Err)
	}
	must(t, s.Close())
	s = open(t, dir, changeOptions(slow(broken{}, "test:broken", 1000), embedtest.Bag{}))
	if _, err := s.EmbedMissing(ctx); !errors.Is(err, ken.ErrInvalid) && !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("NaN was taken: %v", err)
	}
	if have, _ := s.Coverage(); have != 0 || s.Standby() != "test:bag" {
		t.Errorf("%d have a vector, standby %q", have, s.Standby())
	}
}

type broken struct{ embedtest.Bag }

func (broken) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = []float32{float32(math.NaN()), 1, 0}
	}
	return out, nil
}

func (broken) Dim() int { return 3 }

// A text without a word that the built-in table knows lacks nothing, also after the store was opened
// again: EmbedMissing could give it no vector.
func TestATextOfUnknownWordsLacksNoVector(t *testing.T) {
	table, err := builtin.Open()
	must(t, err)
	dir := t.TempDir()
	for _, opened := range []string{"first", "again"} {
		s := open(t, dir, bolt.Options{Embedder: table, NoSync: true})
		if opened == "first" {
			claims := manyClaims(2)
			claims[0].Claim.Text, claims[1].Claim.Text = "ⵣⵣⵣⵣ ⴰⴰⴰⴰ", "the mailer retries three times"
			for _, o := range s.Import(t.Context(), claims) {
				must(t, o.Err)
			}
		}
		if have, total := s.Coverage(); have != 2 || total != 2 {
			t.Errorf("opened %s: %d of %d records have a vector", opened, have, total)
		}
		q, err := table.Embed(t.Context(), []string{"the mailer"})
		must(t, err)
		if res, err := s.Vector(t.Context(), q[0], &ken.Filter{}, 5); err != nil || len(res.Hits) != 1 {
			t.Errorf("opened %s: the search found %v, %v", opened, res.Hits, err)
		}
		must(t, s.Close())
	}
}

// A service that answers the same vector for every text gives none: searches by it would find
// anything.
func TestConstantVectorsAreRefused(t *testing.T) {
	ctx := context.Background()
	e := &constant{}
	s := open(t, t.TempDir(), bolt.Options{Embedder: e, NoSync: true})
	for _, o := range s.Import(ctx, manyClaims(20)) {
		must(t, o.Err)
	}
	if _, err := s.EmbedMissing(ctx); !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "the same for 20 different texts") {
		t.Errorf("constant vectors were taken: %v", err)
	}
	for _, o := range s.Import(ctx, manyClaims(22)[20:]) { // too few to tell by themselves
		must(t, o.Err)
	}
	if have, _ := s.Coverage(); have != 0 {
		t.Errorf("%d records have a vector", have)
	}
	e.mended = true
	if n, err := s.EmbedMissing(ctx); n != 22 || err != nil {
		t.Errorf("after it was mended %d, %v", n, err)
	}
}

type constant struct {
	embedtest.Bag
	mended bool
}

func (*constant) Local() bool { return false }

func (c *constant) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.Bag.Embed(ctx, texts)
	for i := range vectors {
		if !c.mended {
			vectors[i] = vectors[0]
		}
	}
	return vectors, err
}

// Recall during a change of the embedder is at least that of the weaker of the two models.
func TestRecallWhileTheEmbedderChanges(t *testing.T) {
	race.SkipLong(t)
	table, err := builtin.Open()
	must(t, err)
	other, err := static.Open(evaldata.Dir(t, "model2vec-tiny"))
	must(t, err)
	for _, set := range []string{"locomo-dev"} { // cosqa-dev takes 17 s, and shows the same
		docs, questions, right := readSet(t, evaldata.Dir(t, set))
		for _, pair := range [][2]embed.Embedder{{table, other}, {other, table}} {
			old, e := pair[0], slow(pair[1], pair[1].Model(), 0)
			t.Run(set+"/"+old.Model(), func(t *testing.T) {
				ctx, dir := context.Background(), t.TempDir()
				s := open(t, dir, bolt.Options{Embedder: old, NoSync: true})
				for part := range slices.Chunk(docs, 1000) {
					for _, o := range s.Import(ctx, part) {
						must(t, o.Err)
					}
				}
				recall := func(s *bolt.Store, e embed.Embedder) float64 { return recallAt10(t, s, e, old, questions, right) }
				alone := recall(s, old)
				must(t, s.Close())
				s = open(t, dir, changeOptions(e, old))
				during := []float64{recall(s, e)}
				for range 3 {
					e.left.Store(int64(len(docs) / 4))
					if _, err := s.EmbedMissing(ctx); !errors.Is(err, errLimit) {
						t.Fatal(err)
					}
					during = append(during, recall(s, e))
				}
				e.left.Store(int64(len(docs)))
				if _, err := s.EmbedMissing(ctx); err != nil || s.Standby() != "" {
					t.Fatal(err)
				}
				end := recall(s, e)
				t.Logf("recall@10 before %.3f, at 0, 25, 50, 75 %% %.3f, after %.3f", alone, during, end)
				if low := slices.Min(during); low < min(alone, end)-1e-9 { // sums in another order
					t.Errorf("recall@10 falls to %.3f, below the lower of %.3f and %.3f", low, alone, end)
				}
			})
		}
	}
}

func recallAt10(t *testing.T, s *bolt.Store, e, old embed.Embedder, questions map[string]string, right map[string][]string) float64 {
	var sum float64
	for id, text := range questions {
		res, err := s.Vector(context.Background(), both(t, s, e, old, text), &ken.Filter{Unscoped: true}, 10)
		must(t, err)
		found := 0
		for _, h := range res.Hits {
			row, _ := s.Row(h.Ref)
			c, err := s.Get(context.Background(), row.ID)
			must(t, err)
			if slices.Contains(right[id], c.Key) {
				found++
			}
		}
		sum += float64(found) / float64(len(right[id]))
	}
	return sum / float64(len(questions))
}

// readSet reads an evaluation set: records whose key is their id, questions, and the relevant
// records.
func readSet(t *testing.T, dir string) (docs []store.Incoming, questions map[string]string, right map[string][]string) {
	t.Helper()
	questions, right = map[string]string{}, map[string][]string{}
	lines := func(name string, each func(line string)) {
		f, err := os.Open(filepath.Join(dir, name))
		must(t, err)
		defer f.Close()
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			each(sc.Text())
		}
		must(t, sc.Err())
	}
	type item struct {
		ID   string `json:"_id"`
		Text string `json:"text"`
	}
	lines("corpus.jsonl", func(line string) {
		var d item
		must(t, json.Unmarshal([]byte(line), &d))
		c, err := ken.NewClaim(d.Text, ken.FromAgentAssertion("a", ""))
		if err != nil {
			return // an empty text
		}
		c.Key = d.ID
		docs = append(docs, store.Incoming{Claim: c})
	})
	lines("qrels/test.tsv", func(line string) {
		if f := strings.Split(line, "\t"); len(f) == 3 && f[2] != "0" && f[0] != "query-id" {
			right[f[0]] = append(right[f[0]], f[1])
		}
	})
	lines("queries.jsonl", func(line string) {
		var q item
		must(t, json.Unmarshal([]byte(line), &q))
		if len(right[q.ID]) > 0 {
			questions[q.ID] = q.Text
		}
	})
	return docs, questions, right
}
