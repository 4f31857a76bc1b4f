package facet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

func some(t testing.TB, n int) []ken.Claim {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	out := make([]ken.Claim, n)
	for i := range out {
		out[i] = random(rng, i)
		out[i].Kind = ken.KindFact
	}
	return out
}

func total(t testing.TB, x *facet.Index, owner string) int {
	t.Helper()
	p, err := x.Select(owner, facet.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Total
}

func TestNoOwnerSeesAnothers(t *testing.T) {
	x := index(t, facet.Options{Now: at(monday)})
	claims := some(t, 40)
	for i := range claims[20:] {
		claims[20+i].Tags, claims[20+i].Session = []string{"secret tag"}, "secret session"
	}
	a, b := newFake("a", claims[:20]...), newFake("b", claims[20:]...)
	catch(t, x, a)
	catch(t, x, b)
	p, err := x.Select("a", facet.Selection{Limit: 500})
	if err != nil || p.Total != 20 {
		t.Fatalf("%d claims, %v", p.Total, err)
	}
	if said := fmt.Sprintf("%+v", p); strings.Contains(said, "secret") {
		t.Error(said)
	}
	for _, c := range claims[20:] {
		if slices.Contains(p.IDs, c.ID) {
			t.Errorf("a sees %s", c.ID)
		}
		if got, _ := x.Filter("a", []string{c.ID}, facet.Selection{}); len(got) > 0 {
			t.Errorf("a's list keeps %s", c.ID)
		}
		if f := x.Count("a", []string{c.ID}, facet.Selection{}); len(f[0].Values) > 0 {
			t.Errorf("a counts %+v", f[0])
		}
	}
	if v, err := x.Values("a", facet.Session, "secret", 10); len(v) > 0 || err != nil {
		t.Errorf("a may choose from %+v, %v", v, err)
	}
	for _, owner := range []string{"", "c"} {
		if _, err := x.Select(owner, facet.Selection{}); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
			t.Errorf("of %q, who was never read: %v", owner, err)
		}
		if x.Count(owner, nil, facet.Selection{}) != nil {
			t.Errorf("counts of %q", owner)
		}
	}
}

func TestAPageDoesNotWaitForTheFirstReading(t *testing.T) {
	s := newFake("o", some(t, 2000)...)
	s.gate = make(chan struct{})
	x := index(t, facet.Options{Now: at(monday)})
	for range 3 {
		if p, err := x.Catch(t.Context(), s); err != nil || p.Ready || p.Done >= p.Total {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	close(s.gate)
	if p := catch(t, x, s); p.Total != 2000 || s.reads != 1 {
		t.Errorf("%+v after %d readings", p, s.reads)
	}
	// Small results are there at once; large ones are left out until they are ready.
	s.write(some(t, 100)...)
	if p, err := x.Catch(t.Context(), s); err != nil || p != (facet.Progress{Done: 2100, Total: 2100, Ready: true}) {
		t.Errorf("%+v, %v", p, err)
	}
	s.write(some(t, 1000)...)
	if p, err := x.Catch(t.Context(), s); err != nil || !p.Ready {
		t.Errorf("%+v, %v", p, err)
	}
	if catch(t, x, s); total(t, x, "o") != 3100 || s.reads != 1 {
		t.Errorf("%d claims after %d readings", total(t, x, "o"), s.reads)
	}
	s.write(some(t, 5000)...)
	if catch(t, x, s); total(t, x, "o") != 8100 || s.reads != 2 {
		t.Errorf("%d claims after %d readings: to read all is less", total(t, x, "o"), s.reads)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	s := newFake("o", some(t, 2000)...)
	s.gate = make(chan struct{}) // never opens
	x := facet.New(facet.Options{Now: at(monday)})
	if _, err := x.Catch(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x.Close()
	if _, err := x.Catch(t.Context(), s); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestAnotherLogIsReadAnew(t *testing.T) {
	claims := some(t, 30)
	for name, become := range map[string]func(*fake){
		"shorter": func(s *fake) { *s = *newFake("o", claims[20:25]...) },
		"as long": func(s *fake) { *s = *newFake("o", append(slices.Clone(claims[20:25]), claims[:5]...)...) },
		"longer":  func(s *fake) { *s = *newFake("o", claims[20:]...); s.write(claims[20:]...) },
		"empty":   func(s *fake) { *s = *newFake("o") },
	} {
		t.Run(name, func(t *testing.T) {
			x := index(t, facet.Options{Now: at(monday)})
			s := newFake("o", claims[:10]...)
			catch(t, x, s)
			become(s)
			catch(t, x, s)
			if got := total(t, x, "o"); got != len(s.claims) {
				t.Errorf("%d claims, want %d", got, len(s.claims))
			}
		})
	}
}

func TestALogThatCanNotBeRead(t *testing.T) {
	x := index(t, facet.Options{Now: at(monday)})
	s := newFake("o", some(t, 10)...)
	catch(t, x, s)
	s.write(some(t, 1)...)
	s.events = &ken.Error{Code: ken.CodeUnavailable, Msg: "away"}
	if p, err := x.Catch(t.Context(), s); !errors.Is(err, ken.ErrUnavailable) || !p.Ready || total(t, x, "o") != 10 {
		t.Errorf("away: %+v, %v", p, err)
	}
	s.events = &ken.Error{Code: ken.CodeCorrupt, Msg: "torn"}
	if catch(t, x, s); total(t, x, "o") != 11 {
		t.Errorf("torn: %d claims", total(t, x, "o"))
	}
	reads := s.reads
	if catch(t, x, s); s.reads != reads {
		t.Error("it is read again though nothing was written")
	}
	s.write(some(t, 1)...)
	if catch(t, x, s); total(t, x, "o") != 12 {
		t.Errorf("torn, and written: %d claims", total(t, x, "o"))
	}
}

func TestAReadingThatFailsIsToldAndTriedAgain(t *testing.T) {
	for _, n := range []int{10, 2000} {
		x := index(t, facet.Options{Now: at(monday)})
		s := newFake("o", some(t, n)...)
		s.claim = errors.New("the disk is gone")
		var err error
		for err == nil {
			var p facet.Progress
			if p, err = x.Catch(t.Context(), s); p.Ready {
				t.Fatal("ready")
			}
		}
		if s.claim = nil; !strings.Contains(err.Error(), "the disk is gone") {
			t.Error(err)
		}
		if catch(t, x, s); total(t, x, "o") != n {
			t.Errorf("%d claims, want %d", total(t, x, "o"), n)
		}
	}
}

func TestTheOwnersUsedLastAreKept(t *testing.T) {
	x := index(t, facet.Options{Now: at(monday), MaxOwners: 2})
	a, b, c := newFake("a", some(t, 3)...), newFake("b", some(t, 4)...), newFake("c", some(t, 5)...)
	catch(t, x, a)
	catch(t, x, b)
	total(t, x, "a")
	catch(t, x, c)
	if total(t, x, "a") != 3 || total(t, x, "c") != 5 {
		t.Error("a or c is gone")
	}
	if _, err := x.Select("b", facet.Selection{}); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("b: %v", err)
	}
}

// Nothing of a forgotten claim can be chosen or found.
func TestWhatIsForgottenIsGone(t *testing.T) {
	s := open(t, "o")
	x := index(t, facet.Options{Now: at(monday)})
	c := some(t, 1)[0]
	c.Tags, c.Entities, c.Session = []string{"only here"}, []string{"Only Here"}, "only-here"
	id, err := s.WriteClaim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	catch(t, x, s)
	values := func() (n int) {
		for _, f := range facet.Names() {
			v, err := x.Values("o", f, "only", 10)
			if err != nil {
				t.Fatal(err)
			}
			n += len(v)
		}
		return n
	}
	if got := values(); got != 3 {
		t.Errorf("%d values", got)
	}
	if _, err := s.Forget(t.Context(), id, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	catch(t, x, s)
	if got := values(); got != 0 || total(t, x, "o") != 0 {
		t.Errorf("%d values of %d claims", got, total(t, x, "o"))
	}
}

func TestTheMostFrequentValuesAreListed(t *testing.T) {
	var claims []ken.Claim
	for i, c := range some(t, 210) { // tag-0 once, tag-1 twice, …
		n := 0
		for (n+1)*(n+2)/2 <= i {
			n++
		}
		c.Tags = []string{fmt.Sprintf("tag-%02d", n)}
		claims = append(claims, c)
	}
	x := index(t, facet.Options{Now: at(monday), Top: 3})
	catch(t, x, newFake("o", claims...))
	p, err := x.Select("o", facet.Selection{Tags: []string{"tag-05", "TAG-06", "nobody's"}})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Facets[slices.Index(facet.Names(), facet.Tag)]
	want := "{tag [{tag-19 20 false} {tag-18 19 false} {tag-17 18 false} {tag-05 6 true} {TAG-06 0 true} {nobody's 0 true}] 16 0}"
	if p.Total != 6 || fmt.Sprint(got) != want {
		t.Errorf("%d claims; %v, want %s", p.Total, got, want)
	}
	for prefix, want := range map[string]string{"tag-1": "tag-19 tag-18", "19": "tag-19", "TAG": "tag-19 tag-18", "": "tag-19 tag-18", "ag": ""} {
		v, err := x.Values("o", facet.Tag, prefix, 2)
		var got []string
		for i := range v {
			got = append(got, v[i].Value)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", prefix, got, err)
		}
	}
	if _, err := x.Values("o", "colour", "", 2); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}

func FuzzCursor(f *testing.F) {
	x := facet.New(facet.Options{Now: at(monday)})
	f.Cleanup(x.Close)
	s := newFake("o", some(f, 9)...)
	catch(f, x, s)
	for _, order := range facet.Orders() {
		p, err := x.Select("o", facet.Selection{Limit: 4, Order: order})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Next, string(order))
	}
	f.Add("", "")
	f.Add("====", "updated")
	f.Fuzz(func(t *testing.T, before, order string) {
		p, err := x.Select("o", facet.Selection{Before: before, Order: facet.Order(order), Limit: 4})
		switch {
		case err != nil:
			if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
				t.Error(err)
			}
		case p.Total != 9 || len(p.IDs) > 4:
			t.Errorf("%+v", p)
		}
	})
}

func TestWritersAndReaders(t *testing.T) {
	s := open(t, "o")
	x := index(t, facet.Options{Now: at(monday), DecayDays: decay})
	ctx, n := context.Background(), race.Pick(300, 60)
	seeds := []uint64{seed.Of(t), seed.Of(t)}
	catch(t, x, s)
	var wg sync.WaitGroup
	for _, sd := range seeds {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(sd, 1))
			for i := range n {
				c := random(rng, i)
				c.ID = uuid.NewString()
				if _, err := s.WriteClaim(ctx, c); err != nil {
					t.Error(err)
				}
				p, err := x.Catch(ctx, s)
				if err != nil || !p.Ready {
					t.Error(p, err)
				}
				if got, err := x.Filter("o", []string{c.ID}, facet.Selection{Structural: true}); len(got) != 1 || err != nil {
					t.Errorf("what was written before the catch is not there: %q, %v", got, err)
				}
			}
		})
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(sd, 2))
			for range n {
				if _, err := x.Select("o", randomSelection(rng)); err != nil {
					t.Error(err)
				}
				if _, err := x.Values("o", facet.Tag, "tag", 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if p := catch(t, x, s); p.Total != 2*n {
		t.Errorf("%d claims, want %d", p.Total, 2*n)
	}
}
