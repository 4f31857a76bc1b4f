package provenance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/itemid"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// Of returns the claims about a thing and their evidence. First comes the claim whose id
// or key is the target. Then valid claims precede guesses, disputed and superseded ones;
// of these the strongest tier by the store's index comes first, then the newest
// evidence, then the order of ids. An unknown target has no claims, which is no error.
// Errors: ErrInvalid for an empty target, and those of the store.
func Of(ctx context.Context, s Reader, q Query, o Options) (v View, err error) {
	if q.Target = strings.TrimSpace(q.Target); q.Target == "" {
		return View{}, &ken.Error{Code: ken.CodeInvalid, Field: "target", Msg: "empty", Try: "Name a file, a symbol, a test, or a claim."}
	}
	l, err := newFinder(s, o, names(&q, o.Root))
	if err != nil {
		return View{}, err
	}
	defer func() { err = errors.Join(err, l.f.close()) }()
	rows, err := l.rows(ctx, &q)
	if err != nil {
		return View{}, err
	}
	v = View{Target: q.Target, Names: l.names, Offset: max(q.Offset, 0), Claims: []Claim{}}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		switch {
		case r.own != nil: // the query names it directly
		case r.Facts.Status == ken.StatusSuperseded && !q.Superseded:
			v.LeftOut.Superseded++
			return true
		case l.isExpired(&r) && !q.Expired && r.Facts.Status != ken.StatusSuperseded:
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

// finder holds the state of one query.
type finder struct {
	s     Reader
	o     Options
	f     *files
	now   time.Time
	names []string
}

func newFinder(s Reader, o Options, names []string) (*finder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	f, err := openFiles(o.Root)
	return &finder{s: s, o: o, f: f, now: o.Now(), names: names}, err
}

// row is a claim that was found but not read yet.
type row struct {
	store.Row
	ref store.Ref
	own *ken.Claim // the target is its id or key
}

// isExpired reports whether a claim had expired at the time of the query.
func (l *finder) isExpired(r *row) bool {
	return !r.Facts.ExpiresAt.IsZero() && !l.now.Before(r.Facts.ExpiresAt)
}

// rows returns the claims that refer to the thing, in order.
func (l *finder) rows(ctx context.Context, q *Query) ([]row, error) {
	var out []row
	own, err := l.own(ctx, q.Target)
	if err != nil {
		return nil, err
	}
	if own != nil {
		out = append(out, row{Row: store.Row{ID: own.ID, Facts: own.Facts(), Support: own.Support(nil)}, own: own})
		if !slices.Contains(l.names, own.ID) {
			l.names = append(l.names, own.ID) // derived claims refer to the complete id
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

// own returns the claim whose id or key is the target; nil if there is none. A part of
// an id that fits several claims does not count: it may be the name of something else.
func (l *finder) own(ctx context.Context, target string) (*ken.Claim, error) {
	c, err := l.s.Get(ctx, itemid.Bare(target))
	isPiece := err == nil && c.Kind == ken.KindDocument
	if !isPiece && !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrInvalid) {
		return &c, err
	}
	byKey, err := l.s.ByKey(ctx, target)
	switch {
	case !errors.Is(err, ken.ErrNotFound):
		return &byKey, err
	case isPiece:
		return &c, nil
	}
	return nil, nil
}

// claim converts a claim for the view.
func (l *finder) claim(c *ken.Claim, direct bool) Claim {
	out := Claim{ID: c.ID, Kind: c.Kind, Heading: c.Heading, Text: c.Text, Status: c.Status, Trust: c.Support(nil).Trust,
		Via: l.via(c, direct), Source: cmp.Or(c.Source, c.SourceType), CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ExpiresAt: c.ExpiresAt,
		Expired: c.Expired(l.now), ArchivedAt: c.ArchivedAt, Reinforcements: c.Reinforcements, Supersedes: c.Supersedes, SupersededBy: c.SupersededBy,
		Evidence: make([]Piece, len(c.Evidence))}
	out.Tier, out.Why = tier(c, l.f, l.now, l.o.DecayDays)
	for i := range c.Evidence {
		e := &c.Evidence[i]
		out.Evidence[i] = Piece{Kind: e.Kind, Reference: reference(e), Detail: e.Detail, Hard: e.Hard(), State: l.f.state(*e), Hash: e.ContentHash,
			At: e.FetchedAt, ExitCode: e.ExitCode, Matches: l.refersTo(e)}
	}
	return out
}

func (l *finder) via(c *ken.Claim, direct bool) (out []Via) {
	if direct {
		if c.Key != "" && slices.Contains(l.names, c.Key) {
			out = append(out, ViaKey)
		} else {
			out = append(out, ViaID)
		}
	}
	spelled := analysis.Entities(l.names)
	if slices.ContainsFunc(c.Entities, func(n string) bool { return slices.Contains(spelled, analysis.Entity(n)) }) {
		out = append(out, ViaName)
	}
	if slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool { return l.refersTo(&e) }) {
		out = append(out, ViaEvidence)
	}
	return out
}

// refersTo reports whether a piece of evidence refers to the thing.
func (l *finder) refersTo(e *ken.Evidence) bool {
	one := ken.Claim{Evidence: []ken.Evidence{*e}}
	return slices.ContainsFunc(engine.References(&one), func(r string) bool { return slices.Contains(l.names, r) })
}

// key returns the key of the n-th verdict of a check. The keys of its verdicts count how
// often it changed, so that the latest one is found by a few look-ups, however many
// there are.
func (c *Check) key(n int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Validator, c.Target, c.Scope.String(), c.Project}, "\x1f")))
	k := "check:" + hex.EncodeToString(sum[:16])
	if n > 0 {
		k += "#" + strconv.Itoa(n)
	}
	return k
}

// link is the end of a check's chain of verdicts.
type link struct {
	claim *ken.Claim // the last verdict; nil if there is none
	free  string     // the key of the next verdict
}

// maxVerdicts bounds a chain. A check with more verdicts would be useless.
const maxVerdicts = 1 << 20

// latestVerdict returns the last verdict.
func latestVerdict(ctx context.Context, s Store, c *Check) (link, error) {
	at := func(n int) (*ken.Claim, error) {
		have, err := s.ByKey(ctx, c.key(n))
		if errors.Is(err, ken.ErrNotFound) {
			return nil, nil
		}
		return &have, err
	}
	// reaches reports whether the chain has at least n verdicts. One verdict may be
	// missing because it was forgotten.
	var failed error
	reaches := func(n int) bool {
		have, err := at(n)
		if err == nil && have == nil {
			have, err = at(n + 1)
		}
		failed = cmp.Or(failed, err)
		return have != nil && failed == nil
	}
	high := 1
	for high < maxVerdicts && reaches(high-1) {
		high *= 2
	}
	low := high/2 - 1 // the chain reaches low, and not high-1
	low += sort.Search(high-1-low-1, func(i int) bool { return !reaches(low + 1 + i) })
	if failed != nil {
		return link{}, failed
	}
	if low < 0 {
		return link{free: c.key(0)}, nil
	}
	for n := low + 1; n >= low-1 && n >= 0; n-- { // a verdict here may be missing
		have, err := at(n)
		if err != nil {
			return link{}, err
		}
		if have == nil {
			continue
		}
		if n > 0 {
			err = repairChain(ctx, s, c, n-1, have.ID, at)
		}
		return link{claim: have, free: c.key(n + 1)}, err
	}
	return link{free: c.key(low)}, nil
}

// repairChain supersedes the verdict before the last one, if the process that wrote the
// last one was stopped before it did.
func repairChain(ctx context.Context, s Store, c *Check, n int, by string, at func(int) (*ken.Claim, error)) error {
	have, err := at(n)
	if err != nil || have == nil || have.Status == ken.StatusSuperseded {
		return err
	}
	return s.SupersedeFor(ctx, have.ID, by, "the check was made again", c.Actor)
}

// maxCompared is the maximum size of a file that is compared, in bytes.
const maxCompared = 64 << 20

// files compares evidence with the files of a project. Each file is read once.
type files struct {
	dir  *projectfile.Folder // nil compares nothing
	seen map[string]found
}

type found struct {
	hash  string
	state State // Stands means that hash is known
}

func openFiles(root string) (*files, error) {
	f := &files{seen: map[string]found{}}
	if root == "" {
		return f, nil
	}
	var err error
	f.dir, err = projectfile.Open(root)
	return f, err
}

func (f *files) close() error {
	if f.dir == nil {
		return nil
	}
	return f.dir.Close()
}

// state returns the state of a piece of evidence.
func (f *files) state(e ken.Evidence) State {
	if e.Kind != ken.EvidenceFile || e.ContentHash == "" || f.dir == nil {
		return Stands
	}
	is, ok := f.seen[e.Path]
	if !ok {
		is = f.look(e.Path)
		f.seen[e.Path] = is
	}
	if is.state == Stands && is.hash != e.ContentHash {
		return Changed
	}
	return is.state
}

func (f *files) look(name string) found {
	file, err := f.dir.Read(name, maxCompared)
	switch {
	case err == nil:
		return found{file.Hash, Stands}
	case errors.Is(err, fs.ErrNotExist):
		return found{state: Gone}
	}
	return found{state: Unread}
}

// stands is state in the form for ken.Claim.Support. A file that can't be compared
// counts as unchanged, as does one that was never indexed.
func (f *files) stands(e ken.Evidence) bool {
	s := f.state(e)
	return s == Stands || s == Unread
}

// prefixes are the prefixes of stable ids in the code's graph and of tokens in a plan.
var prefixes = []string{"file", "package", "namespace", "type", "interface", "method", "property", "function", "variable", "adr", "symbol", "artifact"}

// names returns the forms in which claims may write the target: as given, as a path
// relative to the root, and without a prefix for its kind or a line number.
func names(q *Query, root string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range append([]string{q.Target}, q.Names...) {
		add(s)
		if kind, rest, ok := strings.Cut(s, ":"); ok && slices.Contains(prefixes, kind) {
			s = rest
			add(s)
		}
		if p, ok := inProject(s, root); ok {
			add(p)
			s = p
		}
		if file, line, ok := strings.Cut(s, ":"); ok && line != "" && strings.Trim(line, "0123456789:") == "" {
			add(file)
		}
	}
	return out
}

// inProject returns a path in the form that claims use, relative to the root and with
// slashes. ok is false for other strings and for paths outside of the root.
func inProject(s, root string) (string, bool) {
	if filepath.IsAbs(s) {
		rel, err := filepath.Rel(root, s)
		if root == "" || err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		return filepath.ToSlash(rel), true
	}
	if !strings.Contains(s, "/") || strings.Contains(s, "://") || strings.ContainsAny(s, " \n\t") {
		return "", false
	}
	p := path.Clean(s)
	return p, p != "." && filepath.IsLocal(filepath.FromSlash(p))
}

// One converts a given claim as Of does: with its current tier, the reason for it, and
// each piece of its evidence, in the claim's order. Errors: those of opening the
// project's folder.
func One(c *ken.Claim, o Options) (out Claim, err error) {
	l, err := newFinder(nil, o, []string{c.ID})
	if err != nil {
		return Claim{}, err
	}
	defer func() { err = errors.Join(err, l.f.close()) }()
	return l.claim(c, true), nil
}
