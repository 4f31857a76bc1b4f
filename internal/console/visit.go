package console

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/store"
)

// maxForm is the largest body of a form, in bytes: the longest text of a claim, escaped.
const maxForm = 4 << 20

type visit struct {
	con       *Console
	w         http.ResponseWriter
	r         *http.Request
	principal access.Principal
	token     string // required in this visit's forms
	loggedIn  bool   // the visitor logged in by a form, and can log out
	anyOwner  bool   // no key determines the owner: the visitor chooses

	logSeq  uint64         // the log's last event when the page was begun
	pending *pendingCounts // nil until first used
	refresh bool           // a part is still being computed: the page reloads itself
}

// visit identifies the visitor: by the principal that the gateway set, or by the cookie.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{con: c, w: w, r: r, principal: access.From(r.Context()), token: hex.EncodeToString(c.token[:])}
	if v.principal.Owner == "" {
		if in, who, ok := c.logins.find(r, c.bearer); ok {
			v.principal, v.token, v.loggedIn, v.anyOwner = who, hex.EncodeToString(in.token[:]), true, c.isLocal(in.key)
		}
	} else {
		v.anyOwner = c.ring.Load() == nil
	}
	if v.anyOwner {
		v.principal.Owner = c.ownerFromCookie(r, v.principal.Owner)
	}
	return v
}

// authorize checks that the visitor may use the route.
func (v *visit) authorize(rt route) error {
	if rt.method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.con.origin.Check(v.r); err != nil {
			return errCrossSite
		}
	}
	if rt.right == "" {
		return nil
	}
	if v.principal.Owner == "" {
		return errLogin
	}
	if err := v.principal.Need(rt.right); err != nil {
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

func (v *visit) owner() string { return v.principal.Owner }

func (v *visit) now() time.Time { return v.con.opts.Now() }

// canOperate reports whether the visitor may make changes; if not, pages have no buttons.
func (v *visit) canOperate() bool { return v.principal.Can(access.Operate) }

func (v *visit) actor() ken.Actor { return ken.Actor{Type: "user", ID: v.principal.Name} }

func (v *visit) withStore(fn func(s store.Engine) error) error {
	s, release, err := v.con.layer.Store(v.ctx(), v.owner())
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// withClaims calls fn with the store if the index of its claims can be used already.
func (v *visit) withClaims(fn func(s store.Engine) error) error {
	return v.withStore(func(s store.Engine) error {
		if p, err := v.con.claims.Catch(v.ctx(), s); err != nil || !p.Ready {
			return err
		}
		return fn(s)
	})
}

// change carries out a change at the visitor's desk, and redirects to a page that reports it; did
// is a key of doneMessages.
func (v *visit) change(path, did string, do func(*operator.Desk) error) error {
	if err := v.withStore(func(s store.Engine) error { return do(v.desk(s)) }); err != nil {
		return err
	}
	return v.redirectDone(path, did)
}

// desk returns the desk through which the visitor decides about claims of a store.
func (v *visit) desk(s store.Engine) *operator.Desk {
	return operator.New(v.con.layer, s, operator.Options{Name: v.principal.Name, Now: v.con.opts.Now})
}

// plainText serves a text as it is.
func (v *visit) plainText(text string) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = io.WriteString(v.w, text) // fails if the visitor is gone
	return nil
}

// param returns a value of the query or of the form, or "".
func (v *visit) param(name string) string { return v.r.FormValue(name) }

// intParam returns a whole number of the query, or otherwise if it is missing or out of
// bounds.
func (v *visit) intParam(name string, otherwise, least, most int) int {
	n, err := strconv.Atoi(v.param(name))
	if err != nil || n < least || n > most {
		return otherwise
	}
	return n
}

func (v *visit) redirect(path string) error {
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// redirectDone redirects to a page that reports what was done; what is a key of doneMessages. The
// report links to the claim, if there is one.
func (v *visit) redirectDone(path, what string, claim ...string) error {
	u, err := url.Parse(path)
	if err != nil {
		return err
	}
	q := u.Query()
	q.Set("did", what)
	q.Del("of")
	for _, id := range claim {
		q.Set("of", id)
	}
	u.RawQuery = q.Encode()
	return v.redirect(u.String())
}

func (v *visit) returnPath(otherwise string) string {
	if s := v.r.PostForm.Get("back"); s != "" {
		return ownPath(s)
	}
	return otherwise
}

// splitCorrupt turns an error about unreadable data into a warning and returns other errors.
func splitCorrupt(err error) (warnings []string, rest error) {
	if errors.Is(err, ken.ErrCorrupt) {
		return []string{err.Error()}, nil
	}
	return nil, err
}

// errNoPage is the error for a path without a page.
var errNoPage error = &ken.Error{Code: ken.CodeNotFound, Msg: "there is no such page", Try: "Begin at the overview."}

type errorPage struct {
	Status   int
	Msg, Try string
	Links    []choice // pages that help
	Text     string   // what was typed into the form's text, which is not stored
	Back     string   // the page before; "" if unknown
}

// renderError shows an error as a page. An internal error goes to the log, and the page shows
// no details of it.
func (v *visit) renderError(err error) {
	if errors.Is(err, errLogin) && v.con.keyed() {
		path := LoginPath
		if v.r.Method != http.MethodGet {
			path += "?ended=yes"
			if from := v.referer(); from != "" {
				path += "&next=" + url.QueryEscape(from)
			}
		} else if ownPath(v.r.URL.RequestURI()) != Prefix {
			path += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
		}
		http.Redirect(v.w, v.r, path, http.StatusSeeOther)
		return
	}
	if v.ctx().Err() != nil { // the visitor has left
		return
	}
	p := errorPageOf(err)
	if p.Status >= http.StatusInternalServerError {
		v.con.opts.Log.Error("a page failed", "page", v.r.Pattern, "cause", err, "try", ken.Hint(err))
	}
	p.Back, p.Text = v.referer(), v.r.PostForm.Get("text")
	if err := v.page("problem", page{Title: http.StatusText(p.Status), Status: p.Status, Body: p}); err != nil {
		v.con.opts.Log.Error("a page failed", "page", "problem", "cause", err)
		http.Error(v.w, "The page failed; the log of ken serve says why.", http.StatusInternalServerError)
	}
}

// referer returns the path of the console's page that the request came from; "" if there is none.
func (v *visit) referer() string {
	if u, err := url.Parse(v.r.Referer()); err == nil && u.Host == v.r.Host {
		return ownPath(u.RequestURI())
	}
	return ""
}

// httpStatuses maps error codes to HTTP statuses.
var httpStatuses = map[ken.Code]int{ken.CodeInvalid: http.StatusBadRequest, ken.CodeNotFound: http.StatusNotFound, ken.CodeRefused: http.StatusForbidden,
	ken.CodeExists: http.StatusConflict, ken.CodeUnavailable: http.StatusServiceUnavailable, ken.CodeHeld: http.StatusServiceUnavailable}

func errorPageOf(err error) errorPage {
	p := errorPage{Status: http.StatusInternalServerError, Msg: "the page failed", Try: "Look at the log of ken serve."}
	e, ok := errors.AsType[*ken.Error](err)
	if !ok {
		return p
	}
	if s, ok := httpStatuses[e.Code]; ok {
		if e.Code == ken.CodeRefused && e.Field == "status" { // what was asked for does not fit the claim's state
			s = http.StatusConflict
		}
		p = errorPage{Status: s, Msg: e.Msg, Try: e.Try}
		if e.Field != "" {
			p.Msg = e.Field + ": " + e.Msg
		}
	} else if e.Try != "" {
		p.Try = e.Try
	}
	for _, id := range claimIDs.FindAllString(e.Msg, maxLinked) {
		p.Links = append(p.Links, choice{Name: "Claim " + shortID(id), Path: pathOf("claims", id)})
	}
	if e.Code == ken.CodeNotFound && strings.HasPrefix(e.Msg, "no claim ") { // the store names a command
		p.Try, p.Links = "It may have been forgotten, or belong to another owner. Search for what it says.", []choice{{Name: "Claims", Path: pathOf("claims")}}
	}
	return p
}

// claimIDs matches the ids of claims in a message.
var claimIDs = lazyregexp.New(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// maxLinked is how many ids of a message become links.
const maxLinked = 3
