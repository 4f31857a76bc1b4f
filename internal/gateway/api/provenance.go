package api

import (
	"net/http"
	"reflect"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store"
)

// ProvenanceView is what stands behind a thing, and where to go on.
type ProvenanceView struct {
	provenance.View
	Next string `json:"next,omitempty"`
}

var (
	pBehind = &param{name: "of", must: true, about: "A path, a symbol or another entity, the name of a test, a command, an artifact, an address, " +
		"a commit, or a claim's id or key.", example: "pay/retry.go"}
	pExpired = &param{name: "expired", form: formFlag, def: "false", about: "Claims that have expired, too."}
)

func provenanceRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/provenance", id: "getProvenance", tag: "claims", right: access.Read,
		summary: "Read what stands behind a thing",
		about: "Read the claims that are about a thing or rest on it: of each, the tier that it has by now and why, and every piece of evidence " +
			"with what it points at, when it was collected, and whether the file is still what it was. Expired and superseded claims are " +
			"counted, and told where they are asked for. A thing of which nothing is known has no claims.",
		params: []*param{pBehind, pExpired, pSuperseded, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[ProvenanceView](), serve: (*API).getProvenance,
	}}
}

func (a *API) getProvenance(c *call) (*reply, error) {
	from, given, err := c.after()
	if err != nil {
		return nil, err
	}
	q := provenance.Query{Target: c.text(pBehind), Expired: c.flag(pExpired), Superseded: c.flag(pSuperseded), Limit: c.number(pLimit)}
	if given {
		q.Offset = int(max(-from.at, 0))
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := provenance.Of(c.ctx(), s, q, provenance.Options{Now: a.o.Now, DecayDays: a.l.Config().Knowledge.DecayDays, Root: a.l.RootOf(c.who.Owner)})
		if err != nil {
			return nil, err
		}
		out := ProvenanceView{View: v}
		if n := v.Offset + len(v.Claims); n < v.Total && len(v.Claims) > 0 {
			out.Next = c.cursor(place{at: -int64(n)})
		}
		return &reply{body: out, next: out.Next}, nil
	})
}
