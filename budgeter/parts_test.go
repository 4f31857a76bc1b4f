package budgeter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

func dup(a, b string) bool {
	var s shownText
	s.duplicateOf("a", s.read(&ken.Item{ID: "a", Text: a}))
	s.add("a")
	_, dup := s.duplicateOf("b", s.read(&ken.Item{ID: "b", Text: b}))
	return dup
}

// Systems that compare by similarity lose one of two facts that read alike.
func TestDistinctFactsAreNoDuplicates(t *testing.T) {
	tail := ", which was decided by the platform team after a long discussion about cost, latency and the team's own capacity."
	for _, p := range [][2]string{
		{"The release is on Oct 15", "The release is on Oct 16"},
		{"The release is on 2025-10-15", "The release is on 2025-10-16"},
		{"The user eats meat", "The user does not eat meat"},
		{"The user does eat meat", "The user does not eat meat"},
		{"The user doesn't eat meat", "The user does eat meat"},
		{"The production database runs in us-east-1", "The staging database runs in us-east-1"},
		{"Deploys run on Tuesday", "Deploys never run on Tuesday"},
		{"Deploys run on Tuesday", "Deploys run on Tuesday and Thursday"},
		{"Alice reports to Bob", "Bob reports to Alice"},
		{"The limit is 1.5 MB", "The limit is 15 MB"},
		{"Retries take 5 s", "Retries take -5 s"},
		{"Use it if latency < 5 ms", "Use it if latency > 5 ms"},
		{"Written in C", "Written in C++"},
		{"Cache: ✓", "Cache: ✗"},
		{"部署在星期二", "部署不在星期二"},
		{"数据库在东京", "数据库在大阪"},
		{"Der Dienst läuft", "Der Dienst läuft nicht"},
	} {
		for _, q := range [][2]string{p, {p[1], p[0]}, {p[0] + tail, p[1] + tail}, {p[1] + tail, p[0] + tail}} {
			if dup(q[0], q[1]) {
				t.Errorf("%q counts as said by %q", q[1], q[0])
			}
		}
	}
}

func TestTextWithoutWordsIsNoDuplicate(t *testing.T) {
	if dup("—", "…") {
		t.Error("two texts without a word count as one")
	}
}

func TestNearDuplicates(t *testing.T) {
	long := "The platform team decided that deploys of the payment service run on Tuesday mornings, because support staff is there then."
	for _, p := range [][2]string{
		{"Deploys run on Tuesday.", "deploys run on  TUESDAY"},
		{"**Deploys** run on `Tuesday`", "Deploys run on Tuesday!"},
		{"The deploys run on a Tuesday", "Deploys run on Tuesday"},
		{"Deploys run on Tuesday", "The deploys run on a Tuesday"},
		{"The user doesn't eat meat", "User doesn’t eat meat."},
		{"部署在星期二。", "部署在星期二"},
		{"Limit: 1,500 requests", "limit 1,500 requests"},
		{long, strings.Replace(long, "mornings", "", 1)},
	} {
		if !dup(p[0], p[1]) {
			t.Errorf("%q does not count as said by %q", p[1], p[0])
		}
	}
	if dup(strings.Replace(long, "mornings", "", 1), long) {
		t.Error("what the second one adds is lost")
	}
}

func TestDuplicatesNameWhatTheyRepeat(t *testing.T) {
	a, b, c := item(1, "Deploys run on Tuesday."), item(2, "Deploys run on Tuesday"), item(3, "Deploys run on Tuesday")
	c.Heading = "Staging"
	blk := compose(Options{}, Candidate{Item: a}, Candidate{Item: b}, Candidate{Item: a, Memory: true}, Candidate{Item: c})
	equal(t, "items", ids(blk.Items), []string{"01", "03"})
	equal(t, "cuts", blk.Cut, []ken.Cut{{ID: b.ID, Reason: ken.CutDuplicate, Detail: a.ID}, {ID: a.ID, Reason: ken.CutDuplicate, Detail: a.ID}})
}

func TestShortIDs(t *testing.T) {
	var list []Candidate
	for _, id := range []string{"0195616d-8c00-7000-8000-0000003f9a1c", "0195616d-8c00-7000-8000-00000012AB34",
		"0195616d-8c00-7000-8000-000000aaaaaa", "0195616d-8c00-7000-8000-000001aaaaaa", "doc:README.md#3",
		"0195616d-8c00-7000-8000-0000003f9a1c", "[k:1]\n"} {
		list = append(list, Candidate{Item: ken.Item{ID: id}})
	}
	list = append(list, Candidate{Item: ken.Item{ID: "method:example.com/shop/store.Shelf.Assemble", Kind: KindSymbol}},
		Candidate{Item: ken.Item{ID: "objectives", Kind: KindObjectives}})
	equal(t, "short ids", shortIDs(list), []string{"3f9a1c", "12ab34", "00aaaaaa", "01aaaaaa", "dmemd3", "3f9a1c", "k1", "775d8d", "eb9394"})
}

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"Short.", 6, "Short."},
		{"部署在星期二", 6, "部署在星期二"},
		{"Deploys run on Tuesday. They take an hour.", 30, "Deploys run on Tuesday. …"},
		{"Deploys run, e.g. on Tuesday or so, for long", 24, "Deploys run, e.g. on …"},
		{"one line here\nand another one", 20, "one line here …"},
		{"Deploys run on Tuesday", 12, "Deploys …"},
		{"Tuesdaytuesday", 8, "Tuesda …"},
		{"部署在星期二。由平台团队负责。", 10, "部署在星期二。 …"},
		{"abcdef", 1, " …"},
	} {
		got := excerpt(tt.in, tt.most)
		if got != tt.want {
			t.Errorf("excerpt(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
		if n := utf8.RuneCountInString(got); n > max(tt.most, 2) {
			t.Errorf("excerpt(%q, %d) has %d code points", tt.in, tt.most, n)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"One. Two. Three.", 1, "One. …"},
		{"One. Two. Three.", 2, "One. Two. …"},
		{"One. Two.", 2, "One. Two."},
		{"Use v1.2 e.g. on Linux. Not elsewhere.", 1, "Use v1.2 e.g. on Linux. …"},
		{"No end", 1, "No end"},
		{"一。二。", 1, "一。 …"},
	} {
		if got := sentences(tt.in, tt.n); got != tt.want {
			t.Errorf("sentences(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

// The cost of a long document depends only on the part that is shown.
func TestBodyOfALongText(t *testing.T) {
	text := strings.Repeat("\u200b", 5000) + strings.Repeat("Deploys run on Tuesday. ", 5000)
	got := body(text, 100)
	if want := strings.TrimSpace(strings.Repeat("Deploys run on Tuesday. ", 4)) + " …"; got != want {
		t.Errorf("body = %q, want %q", got, want)
	}
}
