package jsonl_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// read is a source that reads all its claims before their histories, as a source with
// pages does.
type read struct {
	histories
	claims []ken.Claim
	err    error // after the claims
}

type histories interface {
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

func (r read) Claims(context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		for _, c := range r.claims {
			if !yield(c, nil) {
				return
			}
		}
		if r.err != nil {
			yield(ken.Claim{}, r.err)
		}
	}
}

// exported are the texts that an export writes, and what it says.
func exported(t *testing.T, from jsonl.Source, f ken.Filter) (texts []string, n int, err error) {
	t.Helper()
	var b bytes.Buffer
	told := 0
	n, err = jsonl.Export(t.Context(), from, f, &b, func(n int) { told = n })
	for l := range jsonl.Read(&b, "export") {
		if l.Err != nil {
			t.Fatal(l.Err)
		}
		texts = append(texts, l.Claim.Text)
	}
	if told != n || n != len(texts) {
		t.Errorf("%d lines, counted %d, told %d", len(texts), n, told)
	}
	return texts, n, err
}

func TestExportTakes(t *testing.T) {
	var from read
	for _, c := range []ken.Claim{{Text: "fact", Kind: ken.KindFact, Status: ken.StatusObserved}, {Text: "dependency", Kind: ken.KindDependency, Status: ken.StatusObserved},
		{Text: "disputed", Kind: ken.KindDependency, Status: ken.StatusDisputed}} {
		c.Evidence = []ken.Evidence{ken.FromDecision("d")}
		from.claims = append(from.claims, c)
	}
	from.histories = noHistory{}
	for _, tt := range []struct {
		name string
		f    ken.Filter
		want []string
	}{
		{"everything", ken.Filter{}, []string{"fact", "dependency", "disputed"}},
		{"what stands", ken.Filter{Statuses: []ken.Status{ken.StatusObserved}}, []string{"fact", "dependency"}},
		{"facts", ken.Filter{Kinds: []ken.Kind{ken.KindFact}}, []string{"fact"}},
		{"dependencies", ken.Filter{Kinds: []ken.Kind{ken.KindDependency}}, []string{"dependency", "disputed"}},
	} {
		got, _, err := exported(t, from, tt.f)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", tt.name, err, diff)
		}
	}
}

// noHistory is a store without histories.
type noHistory struct{}

func (noHistory) History(context.Context, string) ([]ken.ClaimEvent, error) { return nil, nil }

// What another process forgets while an export is under way is not in it, and does not
// end it.
func TestExportWhileClaimsAreForgotten(t *testing.T) {
	s, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "o"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(text string) ken.Claim {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromDecision("d")}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	from := read{histories: s, claims: []ken.Claim{write("stays"), write("is forgotten"), write("stays, too")}}
	if _, err := s.Forget(t.Context(), from.claims[1].ID, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	nobodys := from.claims[0]
	nobodys.ID = "0198c0de-0000-7000-8000-00000000dead" // forgotten so long ago that nothing tells of it
	from.claims = append(from.claims, nobodys)
	got, _, err := exported(t, from, ken.Filter{})
	if diff := cmp.Diff([]string{"stays", "stays, too"}, got); diff != "" || err != nil {
		t.Errorf("(-want +got), %v:\n%s", err, diff)
	}
}

func TestExportFails(t *testing.T) {
	broken := errors.New("broken")
	from := read{histories: noHistory{}, err: broken}
	if _, n, err := exported(t, from, ken.Filter{}); !errors.Is(err, broken) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	from.claims = []ken.Claim{{Text: "a", Status: ken.StatusObserved}}
	if n, err := jsonl.Export(ctx, from, ken.Filter{}, &bytes.Buffer{}, nil); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}
