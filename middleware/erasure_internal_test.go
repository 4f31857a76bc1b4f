package middleware

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

var errDisk = errors.New("no space left on device")

// failing is a store in which the n-th change and all later ones fail, until n is set to
// a negative number. With late, the n-th change takes effect before it fails.
type failing struct {
	store.Engine
	mu   sync.Mutex // guards the rest
	n    int
	late bool
	hit  bool
}

func (f *failing) call(fn func() error) error {
	f.mu.Lock()
	f.n--
	dead, last := f.n <= 0 && f.n > -1_000_000, f.n == 0
	f.hit = f.hit || dead
	f.mu.Unlock()
	if !dead {
		return fn()
	}
	if last && f.late {
		_ = fn()
	}
	return errDisk
}

func (f *failing) Forget(ctx context.Context, id, reason string, a ken.Actor) (ids []string, err error) {
	return ids, f.call(func() (err error) { ids, err = f.Engine.Forget(ctx, id, reason, a); return err })
}

func (f *failing) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	return id, f.call(func() (err error) { id, err = f.Engine.WriteClaim(ctx, c); return err })
}

func (f *failing) Compact(ctx context.Context) error {
	return f.call(func() error { return f.Engine.Compact(ctx) })
}

func (f *failing) Shelf() store.Shelf { return failingShelf{f.Engine.Shelf(), f} }

type failingShelf struct {
	store.Shelf
	f *failing
}

func (s failingShelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return s.f.call(func() error { return s.Shelf.Update(ctx, fn) })
}

// gossip opens a layer that learned something private in two sessions, has an episode
// with it and with other facts, and injected it in a third session.
func gossip(t *testing.T, root string) (l *Layer, id string) {
	t.Helper()
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	l, err := Open(t.Context(), Options{Root: root, Config: &cfg, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler), Embedder: embedtest.Bag{}})
	if err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	write := func(kind ken.Kind, text string) string {
		c, err := ken.NewClaim(text, ken.FromAgentAssertion("a", ""))
		if err != nil {
			t.Fatal(err)
		}
		c.Kind, c.Session = kind, "s1"
		if kind == ken.KindEpisode {
			c.Session, c.Key = "s0", "episode:s0"
		}
		id, err := s.WriteClaim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id = write(ken.KindFact, private)
	write(ken.KindFact, "At night, the on-call phone of Priya is +49 151 2345678, she says.")
	write(ken.KindEpisode, "The ledger was deployed on Tuesday. "+private+" Nobody was woken up by it. All tests passed.")
	for i, text := range []string{"Note this: " + private, "What is the on-call phone of Priya?"} {
		turn := ken.Turn{Session: []string{"s1", "s2"}[i], Messages: []ken.Message{{Role: "user", Text: text}}}
		l.Assemble(t.Context(), turn)
		l.Answered(turn, ken.Message{Role: "assistant", Text: "It is +49 151 2345678."})
	}
	if err := l.recorder.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, id
}

const private = "The on-call phone of Priya is +49 151 2345678."

// A Forget may stop at any step, for example when the process is killed or the disk is
// full. Once the claim is deleted, a record of the erasure exists. The next open completes
// it, and so does the same call. The same is true if all that a session taught is forgotten.
func TestAForgetThatStopsAnywhereIsFinished(t *testing.T) {
	stopped := 0
	for _, variant := range []struct {
		late bool
		sess string
	}{{late: false}, {late: true}, {late: false, sess: "s1"}} {
		late, sess := variant.late, variant.sess
		for n := 1; ; n++ {
			root := t.TempDir()
			l, id := gossip(t, root)
			again, hit := forgetFailing(t, l, id, sess, n, late)
			if !hit {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				break
			}
			stopped++
			if again { // by the same call
				forget := func() (Forgotten, error) { return l.Forget(t.Context(), "", id[24:], "", ken.Actor{}) }
				if sess != "" {
					forget = func() (Forgotten, error) { return l.Operator().ForgetLearned(t.Context(), "", sess, "", ken.Actor{}) }
				}
				out, err := forget()
				if err != nil || out.Pending != "" || len(out.Claims) == 0 || out.Claims[0] != id {
					t.Errorf("step %d, late %v: forgotten again: %+v, %v", n, late, out, err)
				}
				if len(out.Given) == 0 || len(out.Looked) == 0 {
					t.Errorf("step %d, late %v: given to %v, looked through %v", n, late, out.Given, out.Looked)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l, err := Open(t.Context(), Options{Root: root, Config: &l.cfg, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler), Embedder: embedtest.Bag{}})
			if err != nil {
				t.Fatal(err)
			}
			gone, err := forgottenRecords(t.Context(), l, "")
			if err != nil {
				t.Fatal(err)
			}
			if len(gone) > 0 { // else it stopped before anything went, and said so
				for _, rec := range gone {
					if rec.Pending != nil {
						t.Errorf("step %d, late %v: after the next open it is still pending: %s", n, late, rec.Pending.Failed)
					}
				}
				noWords(t, root, n, late)
			} else if again {
				t.Errorf("step %d, late %v: it is not noted", n, late)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stopped < 12 {
		t.Errorf("only %d stops", stopped)
	}
	t.Logf("%d stops", stopped)
}

// forgetFailing forgets a claim, or all that a session taught, in a store in which the n-th change fails. hit says that
// there was such a change, noted that the claim may be deleted.
func forgetFailing(t *testing.T, l *Layer, id, sess string, n int, late bool) (noted, hit bool) {
	t.Helper()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	f := &failing{Engine: s, n: n, late: late}
	d := *l.sessionsOf("")
	d.journal, d.receipts = session.NewJournal(f.Shelf(), session.Options{Process: l.process}), receipt.NewBook(f.Shelf(), receipt.Options{})
	root, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	of := deletionScope{matcher: matcher.New(&root), roots: []ken.Claim{root}}
	if sess != "" {
		all, err := findLearned(t.Context(), s, sess)
		if err != nil {
			t.Fatal(err)
		}
		of = deletionScope{matcher: matcher.OfSession(sess, all.only), roots: all.only, session: sess}
	}
	e := &erasure{l: l, s: f, sessions: &d, matcher: of.matcher, seq: s.Seq()}
	given, sessions, err := d.given(t.Context(), idsOf(of.roots)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newDeletionScope(t.Context(), f, of, sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err = e.begin(t.Context(), r, given, "asked for", ken.Actor{}); err == nil {
		noted = true
		var out Forgotten
		if out, err = e.run(t.Context()); err != nil && (out.Pending == "" || !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "") {
			t.Errorf("step %d: %+v, %v", n, out, err)
		}
	}
	if f.hit != (err != nil) {
		t.Errorf("step %d, late %v: hit %v, and it says %v", n, late, f.hit, err)
	}
	return noted, f.hit
}

// noWords looks for the words in every file.
func noWords(t *testing.T, root string, n int, late bool) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, ".ken"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, w := range []string{"2345678", "priya"} {
			if bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(w))) {
				t.Errorf("step %d, late %v: %q is in %s", n, late, w, d.Name())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forgottenRecords returns the records of the claims that were forgotten, by their ids.
func forgottenRecords(ctx context.Context, l *Layer, owner string) (all []forgotten.Record, err error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		all, err = forgotten.All(r)
		return err
	})
	return all, err
}
