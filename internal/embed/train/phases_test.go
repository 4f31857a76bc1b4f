package train

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/embed/table"
)

func TestBuildVocabulary(t *testing.T) {
	c := counts{"deploy": 50 * countScale, "pipeline": 20 * countScale, "rare": countScale, "deployed": 2 * countScale, "deploys": 2 * countScale}
	got := buildVocabulary(c, 60)
	if diff := cmp.Diff([]string{"deploy", "pipeline", "a"}, got[:3]); diff != "" {
		t.Errorf("frequent words first (-want +got):\n%s", diff)
	}
	if len(got) != 60 {
		t.Errorf("%d tokens, want 60", len(got))
	}
	if slices.Contains(got, "rare") || slices.Contains(got, "deployed") {
		t.Error("a word that is seen twice can't be trained and is no token")
	}
	if !slices.Contains(got, "eploye") && !slices.Contains(got, "deploye") {
		t.Errorf("no piece of the rare words: %q", got[38:])
	}
	if _, err := table.NewVocabulary(got); err != nil {
		t.Error(err)
	}
}

func TestCountWordsWeighsSources(t *testing.T) {
	o := Options{Weight: func(src string) float64 { return map[string]float64{"much": 2, "little": 0.25}[src] }}.withDefaults()
	got, err := countWords(t.Context(), []Pair{{"cat", "Cat dog", "much"}, {"cat", "mouse", "little"}}, &o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts{"cat": 4*countScale + countScale/4, "dog": 2 * countScale, "mouse": countScale / 4}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// small returns a corpus of 40 pairs of two sources, tokenised with its own words.
func small(t *testing.T, o *Options) (*corpus, []string) {
	t.Helper()
	var tokens []string
	for i := range 30 {
		tokens = append(tokens, fmt.Sprintf("w%c%c", 'a'+i/26, 'a'+i%26))
	}
	var pairs []Pair
	for i := range 40 {
		pairs = append(pairs, Pair{tokens[i%30] + " " + tokens[i%7], tokens[i%30] + " " + tokens[(i+5)%30] + " " + tokens[i*i%30], fmt.Sprint("s", i%2)})
	}
	v, err := table.NewVocabulary(tokens)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cut(t.Context(), pairs, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, tokens
}

func TestCut(t *testing.T) {
	o := Options{}.withDefaults()
	c, _ := small(t, &o)
	if c.len() != 40 || !slices.Equal(c.q(8), []int32{8, 1}) || !slices.Equal(c.p(8), []int32{8, 13, 4}) {
		t.Errorf("%d pairs, pair 8 is %v and %v", c.len(), c.q(8), c.p(8))
	}
	if diff := cmp.Diff([]string{"s0", "s1"}, c.sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestEpochSeesPairsAsOftenAsTheirSourceWeighs(t *testing.T) {
	o := Options{Weight: func(src string) float64 { return map[string]float64{"s0": 2, "s1": 0.5}[src] }}.withDefaults()
	c, _ := small(t, &o)
	seen := map[string]int{}
	for e := range 20 {
		for _, batch := range epoch(c, 5, e, &o) {
			if len(batch) != 5 {
				t.Fatalf("a batch of %d", len(batch))
			}
			for _, i := range batch {
				seen[c.sources[c.source[i]]]++
			}
		}
	}
	// 20 epochs of 20 pairs each; at most 4 pairs an epoch have no place in a batch.
	if n := seen["s0"]; n < 700 || n > 800 {
		t.Errorf("the source of weight 2 is seen %d times, want about 800", n)
	}
	if n := seen["s1"]; n < 130 || n > 260 {
		t.Errorf("the source of weight 0.5 is seen %d times, want about 200", n)
	}
	if diff := cmp.Diff(epoch(c, 5, 3, &o), epoch(c, 5, 3, &o)); diff != "" {
		t.Error("one epoch drawn twice differs")
	}
}

func TestMineFindsPassagesWithTheQuerysRareWords(t *testing.T) {
	o := Options{}.withDefaults()
	c, tokens := small(t, &o)
	hard, err := mine(t.Context(), c, len(tokens), &o)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, list := range hard {
		for _, j := range list {
			found++
			if c.source[j] != c.source[i] {
				t.Errorf("pair %d has a negative of another source", i)
			}
			if c.passage[j] == c.passage[i] || c.query[j] == c.query[i] {
				t.Errorf("pair %d has its own passage as negative", i)
			}
			if !slices.ContainsFunc(c.q(i), func(id int32) bool { return slices.Contains(c.p(int(j)), id) }) {
				t.Errorf("pair %d has a negative without a word of its query", i)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d negatives for 40 pairs", found)
	}
}

func TestBatch(t *testing.T) {
	o := Options{Seed: 1}.withDefaults()
	c, tokens := small(t, &o)
	hard := make([][]int32, c.len())
	hard[2] = []int32{6}
	var b batch
	b.fill(c, []int32{1, 2, 3}, hard, 9, &o)
	if diff := cmp.Diff([]int32{-1, 6, -1}, b.hard); diff != "" || b.n != 3 || b.texts() != 7 || int(b.ends[6]) != len(b.ids) {
		t.Fatalf("%d queries, %d texts, ends %v of %d, hard %v", b.n, b.texts(), b.ends, len(b.ids), b.hard)
	}
	if b.query[1] != c.query[2] || b.passage[1] != c.passage[2] {
		t.Error("the hashes do not belong to the texts")
	}
	for i := range b.texts() {
		if len(b.text(i)) == 0 || slices.Max(b.text(i)) >= int32(len(tokens)) {
			t.Errorf("text %d is %v", i, b.text(i))
		}
	}
	for _, id := range b.text(6) {
		if !slices.Contains(c.p(6), id) {
			t.Errorf("the hard negative %v is not of passage %v", b.text(6), c.p(6))
		}
	}
}

func TestUsers(t *testing.T) {
	b := batch{ids: []int32{4, 2, 4, 7, 2, 2}, ends: []int32{2, 3, 6}}
	var u users
	for range 2 { // nothing of the first may remain
		u.collect(&b, 8)
		got := map[int32][]int32{}
		for k, id := range u.tokens {
			got[id] = slices.Clone(u.of(k))
		}
		if diff := cmp.Diff(map[int32][]int32{4: {0, 1}, 2: {0, 2, 2}, 7: {2}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Tokens that have the same neighbours get similar rows although they are never
// neighbours themselves.
func TestInitialTable(t *testing.T) {
	o := Options{Dim: 8, Seed: 1}.withDefaults()
	tokens := []string{"cat", "dog", "car", "bus", "purr", "fur", "road", "wheel", "unseen"}
	c := &corpus{sources: []string{"s"}}
	r := draw(1, 1)
	for i := range 4000 {
		kind := int32(i % 2) // animals or vehicles
		c.ids = append(c.ids, 2*kind+int32(r.IntN(2)))
		c.ends = append(c.ends, int64(len(c.ids)))
		c.ids = append(c.ids, 4+2*kind, 2*kind+int32(r.IntN(2)), 5+2*kind)
		c.ends = append(c.ends, int64(len(c.ids)))
		c.source = append(c.source, 0)
		c.query, c.passage = append(c.query, uint64(i)), append(c.passage, uint64(i+1))
	}
	rows, err := initial(t.Context(), c, tokens, nil, &o)
	if err != nil {
		t.Fatal(err)
	}
	cos := func(a, b int) float64 {
		var ab, aa, bb float64
		for i, x := range rows.row(a) {
			y := rows.row(b)[i]
			ab, aa, bb = ab+float64(x*y), aa+float64(x*x), bb+float64(y*y)
		}
		return ab / math.Sqrt(aa*bb)
	}
	if same, other := cos(0, 1), cos(0, 2); same < 0.8 || other > 0.3 {
		t.Errorf("cat is %.2f near dog and %.2f near car", same, other)
	}
	for _, x := range rows.values {
		if math.IsNaN(float64(x)) {
			t.Fatal("a row holds NaN")
		}
	}
	if cos(8, 8) == 0 {
		t.Error("a token that was never seen has no row")
	}
}

func TestEigen(t *testing.T) {
	values, vectors := eigen([]float64{2, 1, 0, 1, 2, 0, 0, 0, -5}, 3)
	for i, want := range []float64{-5, 3, 1} {
		if math.Abs(values[i]-want) > 1e-9 {
			t.Errorf("eigenvalue %d is %v, want %v", i, values[i], want)
		}
	}
	if math.Abs(math.Abs(float64(vectors[2]))-1) > 1e-6 || math.Abs(float64(vectors[3]-vectors[4])) > 1e-6 {
		t.Errorf("eigenvectors %v", vectors)
	}
}

func TestDecontaminate(t *testing.T) {
	text := "one two three four five six seven eight nine ten eleven twelve thirteen"
	pairs := []Pair{
		{"a question", "ONE two three, four five six seven eight nine ten eleven twelve!", "x"}, // a run of twelve
		{"a question", "zero two three four five six seven eight nine ten eleven twelve done", "x"},
		{"Who is Ana?", "nobody", "x"}, // the query itself
		{"Who was Ana?", "nobody", "x"},
	}
	kept, dropped, err := Decontaminate(t.Context(), pairs, []string{text, "who is ana"}, Options{})
	if err != nil || dropped != 2 {
		t.Errorf("%d dropped, error %v; want 2", dropped, err)
	}
	if diff := cmp.Diff([]Pair{pairs[1], pairs[3]}, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(checkpointMagic + "\x02\x00\x00\x00{}\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data); n > 4 { // the checksum is right, so that the rest is read
			data = binary.LittleEndian.AppendUint32(bytes.Clone(data[:n-4]), crc32.Checksum(data[:n-4], castagnoli))
		}
		if s, err := parseState(data); err == nil && len(s.rows.values) != len(s.Tokens)*s.Dim {
			t.Errorf("%d numbers for %d tokens of %d dimensions", len(s.rows.values), len(s.Tokens), s.Dim)
		}
	})
}
