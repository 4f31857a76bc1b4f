package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/kenlayer/ken"
)

// notHere is a path that leads nowhere.
var notHere error = &ken.Error{Code: ken.CodeNotFound, Msg: "there is no such page", Try: "Begin at the overview."}

type problemPage struct {
	Status   int
	Msg, Try string
	Back     string // where the visitor came from; "" when that is not known
}

// fail shows an error as a page. What a person can't act on is for the log.
func (v *visit) fail(err error) {
	if errors.Is(err, errLogin) && v.con.ring.Load() != nil {
		path := LoginPath
		if v.r.Method == http.MethodGet && ownPath(v.r.URL.RequestURI()) != Prefix {
			path += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
		}
		http.Redirect(v.w, v.r, path, http.StatusSeeOther)
		return
	}
	if v.ctx().Err() != nil { // nobody is there to be told
		return
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		v.con.o.Log.Error("a page failed", "page", v.r.Pattern, "cause", err, "try", ken.Hint(err))
	}
	if u, err := url.Parse(v.r.Referer()); err == nil && u.Host == v.r.Host {
		p.Back = ownPath(u.RequestURI())
	}
	if err := v.page("problem", page{Title: http.StatusText(p.Status), Status: p.Status, Body: p}); err != nil {
		v.con.o.Log.Error("a page failed", "page", "problem", "cause", err)
		http.Error(v.w, "The page failed; the log of ken serve says why.", http.StatusInternalServerError)
	}
}

// statuses are what the codes of errors are for a browser.
var statuses = map[ken.Code]int{ken.CodeInvalid: http.StatusBadRequest, ken.CodeNotFound: http.StatusNotFound, ken.CodeRefused: http.StatusForbidden,
	ken.CodeExists: http.StatusConflict, ken.CodeUnavailable: http.StatusServiceUnavailable, ken.CodeHeld: http.StatusServiceUnavailable}

func problemOf(err error) problemPage {
	p := problemPage{Status: http.StatusInternalServerError, Msg: "the page failed", Try: "Look at the log of ken serve."}
	var e *ken.Error
	if !errors.As(err, &e) {
		return p
	}
	if s, ok := statuses[e.Code]; ok {
		p = problemPage{Status: s, Msg: e.Msg, Try: e.Try}
		if e.Field != "" {
			p.Msg = e.Field + ": " + e.Msg
		}
	} else if e.Try != "" {
		p.Try = e.Try
	}
	return p
}
