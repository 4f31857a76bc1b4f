package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kenlayer/ken"
)

// rests gives a claim its evidence.
func rests(on ...ken.Evidence) func(*ken.Claim) { return func(c *ken.Claim) { c.Evidence = on } }

func (k *kit) referring(p Readable, f *ken.Filter, names ...string) []string {
	k.Helper()
	refs, err := p.Referring(k.ctx, names, f)
	if err != nil {
		k.Fatalf("referring to %q: %v", names, err)
	}
	if !slices.IsSorted(refs) {
		k.Errorf("referring to %q: not by ref: %v", names, refs)
	}
	return k.idsOf(p, refs)
}

// What a claim is about and what its evidence points at leads to it, and follows it
// through its life.
func testReferring(k *kit, p Readable) {
	first := k.write("the retry works", about("Payments-Service", "pay/retry.go"), rests(ken.FromTestResult("TestRetry", ""), ken.FromExitCode("go test ./pay", 0)))
	second := k.write("the handler is safe", about("handler"), rests(ken.FromFile("pay/retry.go", "", ""), ken.FromURL("https://example.org/a", epoch, "")))
	over := k.write("the cache is warm", about("cache"), rests(ken.FromTestResult("TestRetry", "")), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(time.Hour) })
	link := k.write("payments needs the cache", about("payments service", "cache"), func(c *ken.Claim) { c.Kind = ken.KindDependency })
	for _, tt := range []struct {
		f     ken.Filter
		names []string
		want  []string
	}{
		{ken.Filter{}, []string{"payments service"}, []string{first}},
		{ken.Filter{Structural: true}, []string{"PAYMENTS_SERVICE"}, []string{first, link}},
		{ken.Filter{}, []string{"pay/retry.go"}, []string{first, second}}, // as a name, and as a reference
		{ken.Filter{}, []string{"TestRetry"}, []string{first, over}},
		{ken.Filter{Now: epoch.Add(2 * time.Hour)}, []string{"TestRetry"}, []string{first}},
		{ken.Filter{}, []string{"testretry"}, nil}, // a reference is as it is written
		{ken.Filter{}, []string{"go test ./pay", "https://example.org/a"}, []string{first, second}},
		{ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, []string{"TestRetry"}, nil},
		{ken.Filter{}, []string{"nobody", ""}, nil},
		{ken.Filter{}, nil, nil},
	} {
		if got := k.referring(p, &tt.f, tt.names...); !slices.Equal(got, tt.want) {
			k.Errorf("referring to %q: %v, want %v", tt.names, got, tt.want)
		}
	}
	done, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := p.Referring(done, []string{"cache"}, &ken.Filter{}); !errors.Is(err, context.Canceled) {
		k.Errorf("a cancelled question: %v", err)
	}

	// Evidence that comes later counts, and what is forgotten is gone.
	if err := k.s.Transition(k.ctx, ken.Transition{ID: second, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromValidator("lint", "")}}); err != nil {
		k.Fatal(err)
	}
	if got := k.referring(p, &ken.Filter{}, "lint"); !slices.Equal(got, []string{second}) {
		k.Errorf("referring to what was added: %v", got)
	}
	if s, ok := k.s.(forgetter); ok {
		if _, err := s.Forget(k.ctx, first, "", ken.Actor{}); err != nil {
			k.Fatal(err)
		}
		if got := k.referring(p, &ken.Filter{}, "TestRetry", "payments service"); !slices.Equal(got, []string{over}) {
			k.Errorf("after it was forgotten: %v", got)
		}
	}
}
