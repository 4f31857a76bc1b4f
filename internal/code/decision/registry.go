package decision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/projectfile"
)

// DefaultFolders returns the folders in which teams usually store records.
func DefaultFolders() []string {
	return []string{"docs/adr", "docs/decisions", "doc/adr", "docs/adrs", "docs/architecture/decisions", "adr", ".ken/knowledge/decisions"}
}

// Options configures a Registry. The zero value is the default.
type Options struct {
	Folders []string // from the root, with slashes; empty means DefaultFolders
	Now     func() time.Time
}

const (
	maxFile  = 16 << 20 // bytes; a larger file is not read
	maxDepth = 4        // levels of folders below one of Options.Folders
	maxFiles = 10_000   // the rest is not read

	lockName = ".ken/state/.decisions.lock"

	// clockGranularity is the minimum time between two writes that modification times can distinguish: two seconds on
	// the coarsest file systems in use.
	clockGranularity = 2 * time.Second
)

// Registry holds the decisions of a project, read from their files. A reader sees a consistent state of all files;
// Refresh replaces it. Registry is safe for concurrent use. Writes are also safe against other processes that write
// through a Registry.
type Registry struct {
	files *projectfile.Folder
	o     Options
	mu    sync.Mutex // held while refreshing or writing
	view  atomic.Pointer[snapshot]
}

// Open reads the records below root. Missing folders are empty, and files that can't be read are problems. The error is
// that of the root or of ctx.
func Open(ctx context.Context, root string, o Options) (*Registry, error) {
	if len(o.Folders) == 0 {
		o.Folders = DefaultFolders()
	}
	o.Folders = slices.Clone(o.Folders)
	for i, f := range o.Folders {
		clean := path.Clean(strings.TrimSuffix(f, "/"))
		if f == "" || clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) {
			return nil, invalid("folders", fmt.Sprintf("%q leads out of the project", f), "Give folders from the root, such as docs/adr.")
		}
		o.Folders[i] = clean
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	files, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	r := &Registry{files: files, o: o}
	r.view.Store(newSnapshot(nil, nil))
	if _, err := r.Refresh(ctx); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return r, nil
}

// Close closes the root folder. Records that were read remain available.
func (r *Registry) Close() error { return r.files.Close() }

// Changes lists the paths of the records that a Refresh found new, changed and removed, each sorted.
type Changes struct{ Added, Changed, Removed []string }

// Refresh reads the files that have changed, by size, time and content. The error is that of ctx.
func (r *Registry) Refresh(ctx context.Context) (Changes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refresh(ctx)
}

// refresh reads what has changed, and in any case the written files: two writes may have the same modification time.
func (r *Registry) refresh(ctx context.Context, written ...string) (Changes, error) {
	old := r.view.Load()
	s := scan{r: r, ctx: ctx, old: old.pages, now: map[string]*page{}, written: written, at: r.o.Now()}
	if err := s.all(); err != nil {
		return Changes{}, err
	}
	var c Changes
	for p, now := range s.now {
		was := old.pages[p]
		switch {
		case !now.isRecord() && (was == nil || !was.isRecord()):
		case was == nil || !was.isRecord():
			c.Added = append(c.Added, p)
		case !now.isRecord():
			c.Removed = append(c.Removed, p)
		case was.doc.Hash != now.doc.Hash:
			c.Changed = append(c.Changed, p)
		}
	}
	for p, was := range old.pages {
		if s.now[p] == nil && was.isRecord() {
			c.Removed = append(c.Removed, p)
		}
	}
	for _, list := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.Sort(list)
	}
	switch {
	case !maps.EqualFunc(old.pages, s.now, func(a, b *page) bool { return a.doc == b.doc }) || !slices.Equal(old.unreadFiles, s.problems):
		r.view.Store(newSnapshot(s.now, s.problems))
	case !maps.Equal(old.pages, s.now): // some files were read again, with the same content
		same := *old
		same.pages = s.now
		r.view.Store(&same)
	}
	return c, nil
}

// Limits for options. Longer texts are not options.
const (
	maxOptions = 100
	maxTitle   = 160 // characters
)

// boldLead matches a name in bold type at the start of a line.
var boldLead = lazyregexp.New(`^(?:\*\*|__)(.+?)(?:\*\*|__)\s*[.:–—-]*\s*`)

// chosenSuffix marks the chosen option in a list that this package writes.
const chosenSuffix = " (chosen)"

// optionReader reads options from the lines of a section.
type optionReader struct {
	out    []Option
	open   bool // the last option may continue
	headed bool // the options have headings
	byHead bool // the last option has its own heading: bullets below it belong to it
	indent int  // indentation of the last option's bullet
	side   side // side of arguments below a label
	last   side // side of the argument that may continue on the next line
}

func (r *optionReader) start(title string, no int, text string) {
	title = analysis.Clip(strings.TrimSpace(strings.TrimRight(stripMarkup(title), " .:–—-")), maxTitle)
	title, marked := strings.CutSuffix(title, chosenSuffix)
	if title == "" || len(r.out) >= maxOptions {
		r.open = false
		return
	}
	r.out = append(r.out, Option{Title: Value{title, no}, Text: strings.TrimSpace(text), Chosen: marked})
	r.open, r.byHead, r.side, r.last = true, false, noSide, noSide
}

func (r *optionReader) more(text string) {
	if !r.open || text == "" {
		return
	}
	o := &r.out[len(r.out)-1]
	if list := o.arguments(r.last); list != nil {
		(*list)[len(*list)-1].append(" " + text)
		return
	}
	if len(o.Text)+len(text) <= maxJoined {
		o.Text = strings.TrimSpace(o.Text + "\n" + text)
	}
}

// arguments returns the list for a side; nil for none.
func (o *Option) arguments(s side) *[]Value {
	switch s {
	case pro:
		return &o.Pros
	case con:
		return &o.Cons
	case neutralSide:
		return &o.Neutral
	}
	return nil
}

func (r *optionReader) argue(s side, text string, no int) {
	text, against, both := strings.Cut(text, " ➖ ") // "➕ fast. ➖ big."
	list := r.out[len(r.out)-1].arguments(s)
	*list = append(*list, Value{strings.TrimSpace(text), no})
	if r.last = s; both {
		r.argue(con, against, no)
	}
}

// read reads the lines from one index up to another, with the headings among them.
func (r *optionReader) read(lines []line, from, to int, heads map[int]heading) {
	var code fence
	blank := true
	for i := from; i < to; i++ {
		text := lines[i].text
		if h, ok := heads[i]; ok {
			if len(r.out) > 0 && !r.headed { // the options were listed before; this is about them
				r.open = false
				return
			}
			r.headed = true
			r.start(headingText(h.title), i+1, "")
			r.byHead = r.open
			i, blank = h.next-1, true
			continue
		}
		if code.step(text) {
			r.more(text)
			continue
		}
		bareText := strings.TrimSpace(text)
		if bareText == "" || bareText == "---" || bareText == "***" {
			blank, r.last = true, noSide
			continue
		}
		if rows := tableRows(lines, i, to); rows != nil {
			r.table(rows, i)
			i += len(rows) - 1
			continue
		}
		indent, at, isItem := bullet(text)
		switch {
		case isItem:
			r.item(strings.TrimSpace(text[at:]), indent, i+1)
		case r.label(bareText):
		case r.byHead, r.open && !blank, r.open && lines[i].indent() > r.indent:
			r.more(bareText)
		default:
			if m := boldLead.FindStringSubmatch(bareText); m != nil {
				r.start(m[1], i+1, bareText[len(m[0]):])
				r.indent = 0
			} else {
				r.open = false // prose between options
			}
		}
		blank = false
	}
}

func (r *optionReader) label(text string) bool {
	if !r.open {
		return false
	}
	s, ok := label(text)
	if ok {
		r.side = s
	}
	return ok
}

// item reads a bullet: an option, or an argument for the option above it.
func (r *optionReader) item(text string, indent, no int) {
	r.last = noSide
	if r.open && (r.byHead || indent > r.indent) {
		if s, rest := argument(text); s != noSide {
			r.argue(s, rest, no)
			return
		}
		if r.label(text) {
			return
		}
		if r.side != noSide {
			r.argue(r.side, text, no)
			return
		}
		r.more("- " + text)
		return
	}
	title, rest := splitLead(text)
	r.start(title, no, rest)
	r.indent = indent
}

// splitLead splits the name of an option from its description.
func splitLead(text string) (title, rest string) {
	if m := boldLead.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):]
	}
	for _, end := range []string{" — ", " – ", " - ", ": "} {
		if before, after, ok := strings.Cut(text, end); ok && utf8.RuneCountInString(before) <= maxTitle {
			return before, after
		}
	}
	if before, after, ok := strings.Cut(text, ". "); ok {
		return before, after
	}
	return text, ""
}

// table reads one option per row of the table that begins on line at.
func (r *optionReader) table(rows [][]cell, at int) {
	if len(rows) < 3 || !isTableRule(rows[1]) || r.byHead {
		return
	}
	for k, row := range rows[2:] {
		var rest []string
		no := at + k + 3
		r.start(row[0].text, no, "")
		if !r.open {
			continue
		}
		for c, head := range row[1:] {
			if head.text == "" {
				continue
			}
			if c+1 < len(rows[0]) {
				if s, ok := label(rows[0][c+1].text); ok {
					r.argue(s, head.text, no)
					continue
				}
			}
			rest = append(rest, head.text)
		}
		r.more(strings.Join(rest, " | "))
	}
	r.open = false
}

// mergeOptions adds the content of a section on options to the options named before.
func mergeOptions(named, described []Option) []Option {
	for _, o := range described {
		at := slices.IndexFunc(named, func(n Option) bool { return sameOption(n.Title.Text, o.Title.Text) })
		if at < 0 {
			if len(named) < maxOptions {
				named = append(named, o)
			}
			continue
		}
		n := &named[at]
		n.Chosen = n.Chosen || o.Chosen
		n.Text = strings.TrimSpace(n.Text + "\n" + o.Text)
		n.Pros, n.Cons, n.Neutral = append(n.Pros, o.Pros...), append(n.Cons, o.Cons...), append(n.Neutral, o.Neutral...)
	}
	return named
}

// sameOption reports whether two titles name the same option: they are equal, or one is the beginning of the other.
func sameOption(a, b string) bool { return sameFoldedTitle(foldKey(a), foldKey(b)) }

// sameFoldedTitle is sameOption for folded titles.
func sameFoldedTitle(x, y string) bool {
	if len(x) > len(y) {
		x, y = y, x
	}
	return x != "" && (x == y || len(x) >= 8 && strings.HasPrefix(y, x))
}

// Archive moves a record that is superseded, deprecated or rejected into the folder archive next to it. It adjusts
// links to the record from other pages in the folders of decisions, and links in the record, and changes nothing else.
// The record stays in lists and searches, marked as archived. Errors: ErrNotFound, and ErrRefused for a record that is
// in force and for files that can't be edited.
func (r *Registry) Archive(ctx context.Context, name string) (Record, error) {
	var to string
	err := r.withLock(ctx, func(v *snapshot) ([]projectfile.Change, error) {
		e, err := v.find(name)
		if err != nil {
			return nil, err
		}
		from := e.rec.Path
		if to = from; e.rec.Archived {
			return nil, nil
		}
		if !slices.Contains([]Status{Superseded, Deprecated, Rejected}, e.rec.Status) {
			return nil, &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: e.rec.Handle + " still holds: its status is " + clipQuote(string(e.rec.Status)),
				Try: "Supersede it, or call it deprecated or rejected, first."}
		}
		if err := e.doc.editable(); err != nil {
			return nil, err
		}
		to = path.Join(path.Dir(from), archiveFolder, path.Base(from))
		return v.move(e, to)
	})
	return r.written(to, err)
}

// move returns the changes that move a record to another path, including all links.
func (v *snapshot) move(e *entry, to string) ([]projectfile.Change, error) {
	from := e.rec.Path
	own := relink(e.doc, func(target string) string {
		return relative(path.Dir(to), target)
	})
	changes := []projectfile.Change{{Path: to, Now: applyEdits(e.doc.src, own)}}
	if got := parse(to, changes[0].Now); got.Status != e.rec.Status || len(got.Sections) != len(e.rec.Sections) {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: from, Msg: "its links can't be changed without changing other content", Try: "Move it by hand."}
	}
	for _, p := range slices.Sorted(maps.Keys(v.pages)) {
		if p == from {
			continue
		}
		d := v.pages[p].doc
		edits := relink(d, func(target string) string {
			if target == from {
				return relative(path.Dir(p), to)
			}
			return ""
		})
		if len(edits) == 0 {
			continue
		}
		if err := d.editable(); err != nil {
			return nil, err
		}
		changes = append(changes, projectfile.Change{Path: p, Was: d.src, Now: applyEdits(d.src, edits)})
	}
	return append(changes, projectfile.Change{Path: from, Was: e.doc.src}), nil
}

// relative returns the link from a page in a folder to a path; "" if there is none.
func relative(dir, target string) string {
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(target))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// escapeLink returns a path as the target of a link in Markdown.
func escapeLink(p string) string {
	return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: p}).EscapedPath())
}

// relink returns edits of links. to returns the new target for the path from the root to which a link leads now, or ""
// to keep it. Links in code are not changed. A title, query or anchor after the path is kept.
func relink(d *document, to func(target string) string) (edits []edit) {
	dir := folderOf(d.Path)
	var code fence
	for _, l := range d.lines {
		if l.to > len(d.src) || code.step(l.text) || !strings.Contains(l.text, "](") && !strings.Contains(l.text, "]:") {
			continue
		}
		change := func(from, end int) {
			target := l.text[from:end]
			u, err := url.Parse(target)
			if err != nil {
				return
			}
			p := localPath(dir, target)
			if p == "" {
				return
			}
			now := to(p)
			if now == "" || now == path.Clean(u.Path) {
				return
			}
			if strings.HasPrefix(target, "./") && !strings.HasPrefix(now, "../") {
				now = "./" + now
			}
			rest := len(target)
			if at := strings.IndexAny(target, "?#"); at >= 0 {
				rest = at
			}
			edits = append(edits, edit{l.from + from, l.from + from + rest, escapeLink(now)})
		}
		shown := codeSpan.ReplaceAllStringFunc(l.text, func(s string) string { return strings.Repeat(" ", len(s)) })
		for _, m := range linkMarkup.FindAllStringSubmatchIndex(shown, -1) {
			change(m[4], m[5])
		}
		if m := definition.FindStringSubmatchIndex(l.text); m != nil {
			change(m[2], m[3])
		}
	}
	return edits
}
