package console

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// funcs are what templates may call. What needs the time gets it as an argument, so
// that a page shows one moment.
var funcs = template.FuncMap{
	"text":   func(s string) template.HTML { return shown(s, mostText) },
	"line":   func(s string) template.HTML { return oneLine(s, mostLine) },
	"name":   func(s string) template.HTML { return oneLine(s, 80) },
	"title":  windowTitle,
	"asset":  assetPath,
	"path":   pathOf,
	"count":  count,
	"bytes":  byteSize,
	"len64":  func(s string) int64 { return int64(len(s)) },
	"line20": func(s string) string { r := []rune(s); return string(r[:min(len(r), 200)]) },
	"ms":     millis,
	"share":  percent,
	"plural": plural,
	"when":   when,
	"ago":    ago,
	"short":  shortID,
	"words":  words,
	"symbol": symbolName,
	"said":   func(s string) template.HTML { return shown(s, mostMessageRunes) },
	"int64":  func(n int) int64 { return int64(n) },
	"dict":   dict,
	"add":    func(a, b int) int { return a + b },
	"join":   strings.Join,
}

// pathOf joins parts of a path below Prefix, each escaped whole, so that no id can
// lead elsewhere.
func pathOf(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return Prefix + strings.Join(parts, "/")
}

// count groups the digits of a number by thin spaces.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func byteSize(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func millis(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// percent is a part of a whole, 0..1.
func percent(f float64) string { return strconv.Itoa(int(f*100+0.5)) + " %" }

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// when is a time with its exact value in the title.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, // digits
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC"), t.Format("2006-01-02 15:04")))
}

// ago is a time in words, as seen from now.
func ago(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	var words string
	switch {
	case d < -time.Minute:
		return when(t)
	case d < time.Minute:
		words = "just now"
	case d < time.Hour:
		words = plural(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		words = plural(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 30*24*time.Hour:
		words = plural(int(d/(24*time.Hour)), "day", "days") + " ago"
	default:
		words = t.UTC().Format(time.DateOnly)
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, // digits, and the words above
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC"), words))
}

// shortID is the end of an id: UUIDs of one millisecond begin alike.
func shortID(id string) string {
	const n = 6
	if len(id) <= n {
		return id
	}
	return id[len(id)-n:]
}

// dict makes the argument of a part out of names and values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a value is missing")
	}
	out := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// escapeQuery escapes a value for an address's query.
func escapeQuery(s string) string { return url.QueryEscape(s) }

// words is a name of ours as people write it.
func words(name any) string { return strings.ReplaceAll(fmt.Sprint(name), "_", " ") }

// maxForm bounds the body of a form in bytes: the longest text of a claim, escaped.
const maxForm = 4 << 20

// visit is one request for a page on its way.
type visit struct {
	con   *Console
	w     http.ResponseWriter
	r     *http.Request
	who   access.Principal
	token string // that forms of this visit carry
	keyed bool   // who logged in by a form, and can log out

	from    uint64 // how far the log had come when the page was begun
	tallied *tally // once it was asked for
	again   bool   // something of the page is still being found out: it asks for itself again
}

// visit finds out who asks: the principal that the gateway put there, or the cookie.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{con: c, w: w, r: r, who: access.From(r.Context()), token: hex.EncodeToString(c.token[:])}
	if v.who.Owner == "" {
		if in, who, ok := c.visits.find(r, c.ring.Load()); ok {
			v.who, v.token, v.keyed = who, hex.EncodeToString(in.token[:]), true
		}
	} else if c.ring.Load() == nil {
		v.who.Owner = c.chosenOwner(r, v.who.Owner)
	}
	return v
}

// admit checks what the route's line promises.
func (v *visit) admit(rt route) error {
	if rt.method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.con.origin.Check(v.r); err != nil {
			return errCrossSite
		}
	}
	if rt.right == "" {
		return nil
	}
	if v.who.Owner == "" {
		return errLogin
	}
	if err := v.who.Need(rt.right); err != nil {
		return err
	}
	if rt.method == http.MethodPost {
		if err := v.r.ParseForm(); err != nil {
			return &ken.Error{Code: ken.CodeInvalid, Msg: "the form can't be read", Try: "Go back and send it again.", Err: err}
		}
		if subtle.ConstantTimeCompare([]byte(v.r.PostForm.Get("token")), []byte(v.token)) != 1 {
			return errCrossSite
		}
	}
	return nil
}

var errCrossSite = &ken.Error{Code: ken.CodeRefused, Msg: "the form is not from this page as it is now",
	Try: "Go back, load the page again, and repeat what you did."}

func (v *visit) ctx() context.Context { return v.r.Context() }

func (v *visit) owner() string { return v.who.Owner }

func (v *visit) now() time.Time { return v.con.o.Now() }

// operates reports whether buttons are shown.
func (v *visit) operates() bool { return v.who.Can(access.Operate) }

// actor is who a change is put down to.
func (v *visit) actor() ken.Actor { return ken.Actor{Type: "user", ID: v.who.Name} }

// withStore runs fn on the visitor's store, and on no other.
func (v *visit) withStore(fn func(s store.Engine) error) error {
	s, release, err := v.con.l.Store(v.ctx(), v.owner())
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// desk is where the visitor decides about claims of a store.
func (v *visit) desk(s store.Engine) *operator.Desk {
	return operator.New(v.con.l, s, operator.Options{Name: v.who.Name, Now: v.con.o.Now})
}

// text is a value of the query or of the form, "" for none.
func (v *visit) text(name string) string { return v.r.FormValue(name) }

// number is a whole number of the query, or otherwise when there is none within bounds.
func (v *visit) number(name string, otherwise, least, most int) int {
	n, err := strconv.Atoi(v.text(name))
	if err != nil || n < least || n > most {
		return otherwise
	}
	return n
}

// to sends the browser on to another page of the console.
func (v *visit) to(path string) error {
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// did sends the browser on to a page that begins with what was done, one of the words
// of doings.
func (v *visit) did(path, what string) error {
	u, err := url.Parse(path)
	if err != nil {
		return err
	}
	q := u.Query()
	q.Set("did", what)
	u.RawQuery = q.Encode()
	return v.to(u.String())
}

// back is the page that a form came from, as it says itself, or otherwise.
func (v *visit) back(otherwise string) string {
	if s := v.r.PostForm.Get("back"); s != "" {
		return ownPath(s)
	}
	return otherwise
}

// missing takes a complaint about what could not be read, and leaves other errors.
func missing(err error) (warnings []string, rest error) {
	if errors.Is(err, ken.ErrCorrupt) {
		return []string{err.Error()}, nil
	}
	return nil, err
}
