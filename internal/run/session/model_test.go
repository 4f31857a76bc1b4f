package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// talk is a conversation as it really goes, beside what the journal makes of what
// a client sends of it.
type talk struct {
	t *testing.T
	r *rand.Rand
	b *bench

	fresh bool // nobody repeats himself
	n     int  // of what was said
	view  []ken.Message
	said  []string // all that was, in order
	kept  []string // what the journal returned as new
	most  map[string]int
	part  []string // what the journal should have
	swept bool
	spare *session.Journal // another process's
}

// word is what is said next: something new, or one of a few things over and over.
func (k *talk) word() string {
	k.n++
	if k.fresh || k.r.IntN(3) == 0 {
		return fmt.Sprintf("message %d", k.n)
	}
	return []string{"yes", "go on", "run the tests", "Done."}[k.r.IntN(4)]
}

func (k *talk) say(role string) ken.Message {
	m := ken.Message{Role: role, Text: k.word()}
	k.said = append(k.said, m.Text)
	k.view = append(k.view, m)
	return m
}

func (k *talk) send(msgs []ken.Message) {
	k.t.Helper()
	got := texts(k.b.append(k.t, "s", msgs...))
	if k.swept && len(got) > 0 {
		k.part, k.swept = nil, false
	}
	k.kept = append(k.kept, got...)
	k.part = append(k.part, got...)
	counts := map[string]int{}
	for _, m := range msgs {
		counts[m.Text]++
		k.most[m.Text] = max(k.most[m.Text], counts[m.Text])
	}
}

// check compares with the journal. When nobody repeats himself, or nothing was
// compacted, edited or begun anew, what was said is what was kept; else some of a
// repetition may be missed, but never more be kept than was said, nor less than one
// request showed.
func (k *talk) check(exact bool, did string) {
	k.t.Helper()
	if exact {
		want, got := slices.Clone(k.said), slices.Clone(k.kept)
		if !k.fresh { // a repetition may be taken up with the next request only
			slices.Sort(want)
			slices.Sort(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.t.Fatalf("after %s, kept is not what was said (-want +got):\n%s", did, diff)
		}
	}
	said, kept := count(k.said), count(k.kept)
	for text, n := range kept {
		if n > said[text] {
			k.t.Fatalf("after %s: %q was said %d times and kept %d times", did, text, said[text], n)
		}
	}
	for text, n := range k.most {
		if kept[text] < n {
			k.t.Fatalf("after %s: a request had %q %d times, the journal %d times", did, text, n, kept[text])
		}
	}
	if k.swept {
		k.part = nil
	}
	got := texts(k.b.read(k.t, "s").Entries)
	if !slices.Equal(k.part, got) {
		k.t.Fatalf("after %s, the journal (-want +got):\n%s", did, cmp.Diff(k.part, got))
	}
}

func count(texts []string) map[string]int {
	m := map[string]int{}
	for _, s := range texts {
		m[s]++
	}
	return m
}

// turn is a turn of the conversation: a question, the whole sent, an answer that may
// be seen when it is given.
func (k *talk) turn() string {
	k.say("user")
	k.send(k.view)
	m := k.say("assistant")
	if k.r.IntN(2) == 0 {
		k.send([]ken.Message{m})
	}
	k.send(k.view)
	return "a turn"
}

func (k *talk) resend() string {
	k.send(k.view[:1+k.r.IntN(len(k.view))])
	return "an old request again"
}

func (k *talk) edit() string {
	k.view = slices.Clone(k.view[:k.r.IntN(len(k.view))])
	k.n++
	k.said = append(k.said, fmt.Sprintf("edited %d", k.n))
	k.view = append(k.view, user(fmt.Sprintf("edited %d", k.n)))
	k.send(k.view)
	return "an edit"
}

func (k *talk) compact() string {
	k.n++
	summary := fmt.Sprintf("summary %d", k.n)
	k.said = append(k.said, summary)
	k.view = append([]ken.Message{user(summary)}, k.view[len(k.view)/2:]...)
	k.send(k.view)
	return "a compaction"
}

func (k *talk) restart() string {
	k.b.restart(session.Options{Process: fmt.Sprint(k.n)})
	return "a restart"
}

func (k *talk) newTaskPhrases() string {
	if k.spare == nil {
		k.spare = session.NewJournal(k.b.shelf, session.Options{Process: "spare", Now: k.b.clock.now})
	}
	k.b.Journal, k.spare = k.spare, k.b.Journal
	return "a change of processes"
}

func (k *talk) retire() string {
	info := k.b.info(k.t, "s")
	if !k.b.end(k.t, "s", session.Idle) {
		return "nothing"
	}
	if err := k.b.Harvested(k.t.Context(), "s", info.Last, session.Outcome{}); err != nil {
		k.t.Fatal(err)
	}
	if k.r.IntN(2) == 0 {
		n, err := k.b.Sweep(k.t.Context(), 0)
		if n != 1 || err != nil {
			k.t.Fatalf("swept %d, %v", n, err)
		}
		k.swept = true
	}
	return "a harvest"
}

// TestAgainstModel plays random conversations. Set KEN_SEED to the number that a
// failure prints to see it again.
func TestAgainstModel(t *testing.T) {
	r := random(t)
	for name, c := range map[string]struct {
		fresh, exact bool
		ops          []func(*talk) string
	}{
		"nobody repeats himself": {true, true, []func(*talk) string{
			(*talk).turn, (*talk).turn, (*talk).resend, (*talk).edit, (*talk).compact, (*talk).restart, (*talk).newTaskPhrases, (*talk).retire}},
		"repetitions": {false, true, []func(*talk) string{
			(*talk).turn, (*talk).turn, (*talk).resend, (*talk).restart, (*talk).newTaskPhrases, (*talk).retire}},
		"repetitions and compactions": {false, false, []func(*talk) string{
			(*talk).turn, (*talk).turn, (*talk).resend, (*talk).edit, (*talk).compact, (*talk).restart, (*talk).newTaskPhrases, (*talk).retire}},
	} {
		t.Run(name, func(t *testing.T) {
			for range race.Pick(40, 15) {
				k := &talk{t: t, r: r, b: newBench(t, session.Options{}), fresh: c.fresh, most: map[string]int{}}
				k.check(false, k.turn())
				for range 40 {
					k.b.clock.pass(time.Second)
					did := c.ops[r.IntN(len(c.ops))](k)
					k.check(c.exact, did)
				}
			}
		})
	}
}
