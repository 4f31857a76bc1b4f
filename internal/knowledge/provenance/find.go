package provenance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Of returns what stands behind a thing. The claim that the target is by id or key comes
// first; then what stands before what is a guess, disputed or replaced, of these the
// strongest tier by the store's account, then what has the newest evidence, then by id.
// A target of which nothing is known has no claims, and that is no error. Errors:
// ErrInvalid for an empty target, and those of the store.
func Of(ctx context.Context, s Reader, q Query, o Options) (v View, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if q.Target = strings.TrimSpace(q.Target); q.Target == "" {
		return View{}, &ken.Error{Code: ken.CodeInvalid, Field: "target", Msg: "empty", Try: "Name a file, a symbol, a test, or a claim."}
	}
	f, err := openFiles(o.Root)
	if err != nil {
		return View{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	l := look{s: s, o: o, f: f, now: o.Now(), names: names(&q, o.Root)}
	rows, err := l.rows(ctx, &q)
	if err != nil {
		return View{}, err
	}
	v = View{Target: q.Target, Names: l.names, Offset: max(q.Offset, 0), Claims: []Claim{}}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		switch {
		case r.own != nil: // it was asked for by its own name
		case r.Facts.Status == ken.StatusSuperseded && !q.Superseded:
			v.LeftOut.Superseded++
			return true
		case l.over(&r) && !q.Expired && r.Facts.Status != ken.StatusSuperseded:
			v.LeftOut.Expired++
			return true
		}
		return false
	})
	v.Total = len(rows)
	rows = rows[min(v.Offset, len(rows)):]
	limit := min(cmp.Or(max(q.Limit, 0), DefaultLimit), MaxLimit)
	for _, r := range rows[:min(limit, len(rows))] {
		c := r.own
		if c == nil {
			read, err := s.Claim(ctx, r.ref)
			if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
				continue
			}
			if err != nil {
				return View{}, err
			}
			c = &read
		}
		v.Claims = append(v.Claims, l.claim(c, r.own != nil))
	}
	return v, nil
}

// look is one question.
type look struct {
	s     Reader
	o     Options
	f     *files
	now   time.Time
	names []string
}

// row is a claim that was found, not read yet.
type row struct {
	store.Row
	ref store.Ref
	own *ken.Claim // the target is its id or key
}

func (l *look) over(r *row) bool {
	return !r.Facts.ExpiresAt.IsZero() && !l.now.Before(r.Facts.ExpiresAt)
}

// rows finds what bears on the thing, in order.
func (l *look) rows(ctx context.Context, q *Query) ([]row, error) {
	var out []row
	own, err := l.own(ctx, q.Target)
	if err != nil {
		return nil, err
	}
	if own != nil {
		out = append(out, row{Row: store.Row{ID: own.ID, Facts: own.Facts(), Support: own.Support(nil)}, own: own})
		if !slices.Contains(l.names, own.ID) {
			l.names = append(l.names, own.ID) // what was derived from it points at its whole id
		}
	}
	refs, err := l.s.Referring(ctx, l.names, &ken.Filter{Statuses: ken.Statuses(), Structural: true, ClaimsOnly: true})
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if r, ok := l.s.Row(ref); ok && (own == nil || r.ID != own.ID) {
			out = append(out, row{Row: r, ref: ref})
		}
	}
	slices.SortFunc(out, func(a, b row) int {
		return cmp.Or(first(b.own != nil)-first(a.own != nil), first(standing(&b))-first(standing(&a)),
			cmp.Compare(b.Support.At(l.now, l.o.DecayDays), a.Support.At(l.now, l.o.DecayDays)),
			b.Support.NewestAt.Compare(a.Support.NewestAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func first(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func standing(r *row) bool { return slices.Contains(ken.RecallStatuses(), r.Facts.Status) }

// own is the claim that the target names itself; nil for none. A part of an id
// that fits several claims is none: it may be a name of something else.
func (l *look) own(ctx context.Context, target string) (*ken.Claim, error) {
	c, err := l.s.Get(ctx, target)
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) || err == nil && c.Kind == ken.KindDocument {
		c, err = l.s.ByKey(ctx, target)
	}
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// claim shows a claim.
func (l *look) claim(c *ken.Claim, direct bool) Claim {
	out := Claim{ID: c.ID, Kind: c.Kind, Heading: c.Heading, Text: c.Text, Status: c.Status, Trust: c.Support(nil).Trust,
		Via: l.via(c, direct), Source: cmp.Or(c.Source, c.SourceType), CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ExpiresAt: c.ExpiresAt,
		Expired: c.Expired(l.now), ArchivedAt: c.ArchivedAt, Reinforcements: c.Reinforcements, Supersedes: c.Supersedes, SupersededBy: c.SupersededBy,
		Evidence: make([]Piece, len(c.Evidence))}
	out.Tier, out.Why = tier(c, l.f, l.now, l.o.DecayDays)
	for i := range c.Evidence {
		e := &c.Evidence[i]
		out.Evidence[i] = Piece{Kind: e.Kind, Reference: reference(e), Detail: e.Detail, Hard: e.Hard(), State: l.f.state(*e), Hash: e.ContentHash,
			At: e.FetchedAt, ExitCode: e.ExitCode, Matches: l.points(e)}
	}
	return out
}

func (l *look) via(c *ken.Claim, direct bool) (out []Via) {
	if direct {
		if c.Key != "" && slices.Contains(l.names, c.Key) {
			out = append(out, ViaKey)
		} else {
			out = append(out, ViaID)
		}
	}
	spelled := store.SpellEntities(l.names)
	if slices.ContainsFunc(c.Entities, func(n string) bool { return slices.Contains(spelled, analysis.Entity(n)) }) {
		out = append(out, ViaName)
	}
	if slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool { return l.points(&e) }) {
		out = append(out, ViaEvidence)
	}
	return out
}

// points reports whether a piece of evidence points at the thing.
func (l *look) points(e *ken.Evidence) bool {
	one := ken.Claim{Evidence: []ken.Evidence{*e}}
	return slices.ContainsFunc(store.References(&one), func(r string) bool { return slices.Contains(l.names, r) })
}
