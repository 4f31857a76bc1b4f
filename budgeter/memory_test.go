package budgeter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// of is a candidate of the memory part, so many hours old.
func of(n int, kind ken.Kind, hours int) Candidate {
	it := item(n, fmt.Sprintf("Number %d says so.", n))
	it.Kind, it.CreatedAt = kind, day.Add(-time.Duration(hours)*time.Hour)
	return Candidate{Item: it, Memory: true}
}

// The most important items of the session come first. Less important ones come
// last, and can't push them out.
func TestMemoryOrder(t *testing.T) {
	list := []Candidate{
		of(1, KindCheckpoint, 100), of(2, ken.KindHot, 1), of(3, ken.KindHot, 50), of(4, ken.KindHot, 90),
		of(5, ken.KindPattern, 1), of(6, ken.KindObjective, 2), of(7, "own", 3), of(8, ken.KindPlaybook, 9), of(9, ken.KindPlaybook, 1),
		of(10, ken.KindEpisode, 1), of(11, ken.KindEpisode, 30), of(12, ken.KindEpisode, 60),
	}
	for i := range list { // neither tier nor score turns hot memory and episodes round
		list[i].Item.Tier, list[i].Item.Fused = ken.Assumed, 0
	}
	list[3].Item.Tier, list[3].Item.Fused = ken.Verified, 1
	list[11].Item.Tier = ken.Verified
	list[5].Item.Tier = ken.Verified
	list[6].Item.Trust = ken.TrustOperator
	list[7].Item.Fused = 0.4
	list[8].Item.Fused = 0.3
	want := []string{"01", "02", "03", "04", "06", "07", "05", "08", "09", "0a", "0b", "0c"}
	for seed := range uint64(20) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		equal(t, "order", ids(compose(Options{}, list...).Items), want)
	}
}

// Elsewhere hot memory stops at the first entry that overflows.
func TestMemorySkipsWhatDoesNotFit(t *testing.T) {
	big := of(1, ken.KindHot, 1)
	big.Item.Text = strings.Repeat("Always. ", 60)
	b := compose(Options{MemoryChars: 250}, big, of(2, ken.KindHot, 2), of(3, ken.KindPattern, 1), of(4, ken.KindEpisode, 1))
	equal(t, "items", ids(b.Items), []string{"02", "03", "04"})
	equal(t, "cuts", cuts(b), []string{"01 budget"})
}

// A recent session that is knowledge and finds no room there is still a recent
// session.
func TestKnowledgeWithoutRoomIsTriedAsMemory(t *testing.T) {
	text := "Session of Monday.\nGoal: move the ledger.\nAssistant: Sure, let me look at that for you!\n\n" + strings.Repeat("Decided: keep the old one for a week. ", 20)
	recent := of(3, ken.KindEpisode, 1)
	recent.Memory, recent.OrMemory = false, true
	recent.Item.Text = ""
	loads := 0
	recent.Load = func(context.Context) (ken.Claim, error) {
		loads++
		return ken.Claim{Kind: ken.KindEpisode, Text: text, Session: "s-1"}, nil
	}
	list := []Candidate{{Item: item(1, strings.Repeat("Strong knowledge. ", 10))}, recent, of(2, ken.KindEpisode, 5)}
	list[0].Item.Tier = ken.Verified

	b := compose(Options{}, list...)
	equal(t, "with room", ids(b.Items), []string{"01", "03", "02"})
	if !strings.Contains(b.Text, "Sure, let me look") || strings.Contains(header(b, "000003"), "memory") || loads != 1 {
		t.Errorf("it is knowledge, whole, after %d loads:\n%s", loads, b.Text)
	}
	b = compose(Options{Chars: 500}, list...)
	equal(t, "without room", ids(b.Items), []string{"01", "03", "02"})
	if strings.Contains(b.Text, "Sure, let me look") || !strings.HasPrefix(header(b, "000003"), "Assumed memory | 2025-03-04 | session s-1") {
		t.Errorf("it is a digest:\n%s", b.Text)
	}
	equal(t, "cuts", cuts(b), []string(nil))
	b = compose(Options{Chars: 500, MemoryChars: -1}, list...)
	equal(t, "without memory either", cuts(b), []string{"03 budget", "02 budget"})
}

// header is the rest of an item's header line.
func header(b Block, short string) string {
	_, rest, _ := strings.Cut(b.Text, "[k:"+short+"] ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// The checkpoint is shortened until it fits. Its beginning is kept, and it is
// included with every weight.
func TestCheckpointIsShortenedToWhatRoomThereIs(t *testing.T) {
	point := of(1, KindCheckpoint, 0)
	point.Item.ID, point.Item.Tier = "checkpoint:s-1", ken.Guessed
	point.Item.Text = "Focus: ledger, gateway.\nFiles: a.go, b.go.\n" + strings.Repeat("And then something happened. ", 30)
	for _, room := range []int{8000, 1600, 400, 150, 100, 60, 40, 10} {
		b := compose(Options{MemoryChars: room, MinTier: ken.Inferred}, point, of(2, ken.KindHot, 0))
		checkBlock(t, b, Options{MemoryChars: room})
		if room < 60 {
			equal(t, fmt.Sprint("cuts at ", room), len(b.Cut), 2)
			continue
		}
		if len(b.Items) != 1 || !strings.HasPrefix(b.Items[0].Text, "Focus:") {
			t.Errorf("at %d: %+v, cut %+v", room, b.Items, b.Cut)
		}
	}
}

func TestDigest(t *testing.T) {
	long := "Decided: " + strings.Repeat("the ledger stays where it is. ", 60)
	for name, tt := range map[string]struct{ in, want string }{
		"short":           {"Goal: move it.\n\n\n  Open: who?  ", "Goal: move it.\nOpen: who?"},
		"assistant prose": {"User: move it.\nAssistant: Certainly!\nI will now move it.\nUser: thanks", "User: move it.\nUser: thanks"},
		"marked up":       {"**User:** move it.\n- **Assistant**: Certainly!\n  1. first\n\nOpen: who?", "**User:** move it.\nOpen: who?"},
		"other names":     {"AI：好的。\nbot: hi\nagent: on it\n# Outcome\nmoved", "# Outcome\nmoved"},
		"not a speaker":   {"The assistant moved it: done.\nAssistants are many", "The assistant moved it: done.\nAssistants are many"},
		"nothing else":    {"assistant: I am sorry.\nTruly.", ""},
	} {
		if got := digest(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}

	got := digest("Goal: move it.\n" + long + "\nOpen: who does it?\nWhere it stopped: at the door.")
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || lines[3] != "Where it stopped: at the door." || utf8.RuneCountInString(lines[1]) < 300 {
		t.Errorf("one long line pushes the others out, or is shortened for nothing: %q", got)
	}
	for _, text := range []string{strings.Repeat(long+"\n", 30), long, strings.Repeat("x\n", 100), strings.Repeat("界", 5000), ""} {
		got := digest(text)
		if n := utf8.RuneCountInString(got); n > digestChars || strings.Count(got, "\n") >= digestLines {
			t.Errorf("a digest of %d characters and %d lines", n, strings.Count(got, "\n")+1)
		}
		if text != "" && len(got) < 10 {
			t.Errorf("nothing is left of %.40q: %q", text, got)
		}
	}
}

func TestEpisodesAreAttributed(t *testing.T) {
	for _, tt := range [][3]string{
		{"session of 2026-03-04", "s-1", "session s-1"}, {"", "s-1", "session s-1"}, {"session s-1", "s-1", "session s-1"},
		{"import of notes", "s-1", "import of notes, session s-1"}, {"import", "", "import"},
	} {
		if got := attributed(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q of %q is %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// manual is a playbook of so many steps.
func manual(n, steps int) Candidate {
	c := of(n, ken.KindPlaybook, 0)
	c.Item.Heading, c.Item.Key, c.Item.Source = "deploy", "playbook:deploy", ".ken/skills/deploy/SKILL.md"
	var b strings.Builder
	b.WriteString("Deploy a release.\n\n")
	for i := range steps {
		fmt.Fprintf(&b, "%d. Do the thing that step %d says.\n", i+1, i+1)
	}
	c.Item.Text = b.String()
	return c
}

// A method is complete, or says that it is not and where the rest is.
func TestPlaybooksAreWholeOrSaySo(t *testing.T) {
	const show = "ken skill show"
	rest := "read .ken/skills/deploy/SKILL.md, or run: ken skill show deploy."
	b := compose(Options{Show: show}, manual(1, 60)) // more than other items have
	if n := utf8.RuneCountInString(b.Items[0].Text); n < 2000 || strings.Contains(b.Text, rest) || !strings.HasSuffix(b.Items[0].Text, "step 60 says.") {
		t.Errorf("%d characters of a playbook that has room: %s", n, b.Text)
	}
	b = compose(Options{Show: show}, manual(1, 300))
	text := b.Items[0].Text
	if n := utf8.RuneCountInString(text); n > defaultPlaybookChars || n < defaultPlaybookChars-200 || !strings.HasSuffix(text, "Before following it, "+rest) {
		t.Errorf("%d characters: …%s", n, text[len(text)-200:])
	}
	b = compose(Options{Show: show, MemoryChars: 700}, manual(1, 60), of(2, ken.KindEpisode, 0))
	equal(t, "items", ids(b.Items), []string{"01", "02"})
	if text := b.Items[0].Text; !strings.HasPrefix(text, "This playbook fits the turn") || !strings.HasSuffix(text, rest) || !strings.Contains(header(b, "000001"), "| deploy") {
		t.Errorf("%q", text)
	}
	b = compose(Options{Show: show, MemoryChars: 100}, manual(1, 60))
	equal(t, "not even its name", cuts(b), []string{"01 budget"})
	b = compose(Options{Tokens: 140, Count: func(s string) int { return len(strings.Fields(s)) }}, manual(1, 60))
	if len(b.Items) != 1 || !strings.HasPrefix(b.Items[0].Text, "This playbook fits the turn") {
		t.Errorf("by tokens: %+v", b)
	}

	other := manual(1, 60)
	other.Item.Source, other.Item.Key = "", ""
	if b := compose(Options{Show: show, MemoryChars: 300}, other); !strings.HasSuffix(b.Items[0].Text, "ask for it by its id.") {
		t.Errorf("%q", b.Items[0].Text)
	}
	knowledge := manual(1, 60)
	knowledge.Memory = false
	if b := compose(Options{}, knowledge); utf8.RuneCountInString(b.Items[0].Text) > defaultItemChars {
		t.Error("as knowledge it takes more than any other item may")
	}
	if b := compose(Options{MaxItemChars: 5000}, manual(1, 120)); utf8.RuneCountInString(b.Items[0].Text) < 4000 {
		t.Error("a playbook is shortened more than other items are")
	}
}

// A text that is complete in the context is not repeated in a short form.
func TestWhatIsHeldWholeIsNotSummedUp(t *testing.T) {
	recent := of(3, ken.KindEpisode, 1)
	recent.Item.Text = "Goal: move [k:1] the ledger.\nAssistant: Sure!\n\nOpen: who?"
	for _, c := range []Candidate{recent, manual(4, 40)} {
		knowledge := c
		knowledge.Memory = c.Item.Kind == ken.KindPlaybook
		held := compose(Options{}, knowledge).Items[0]
		b := compose(Options{MemoryChars: 500, Seen: func(id, text string) bool { return id == held.ID && text == held.Text }}, c)
		if len(b.Items) > 0 || len(b.Cut) != 1 || b.Cut[0].Reason != ken.CutDuplicate {
			t.Errorf("%s: %+v, cut %+v", c.Item.Kind, b.Items, b.Cut)
		}
		if b := compose(Options{MemoryChars: 500, Seen: func(string, string) bool { return false }}, c); len(b.Items) != 1 {
			t.Errorf("%s: not held, and cut: %+v", c.Item.Kind, b.Cut)
		}
	}
}
