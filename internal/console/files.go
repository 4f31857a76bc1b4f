package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store"
)

// filesBody lists the files that claims rest on.
type filesBody struct {
	Question string
	Files    []facetValue
}

// fileBody is which claims rest on a file: the lens of an artifact.
type fileBody struct {
	Now    time.Time
	Path   string
	View   provenance.View
	Claims []fileClaim
	Stale  int // claims on this page that rest on what the file does not say any more
	Old    bool
	Next   string
}

type fileClaim struct {
	provenance.Claim
	Tone  string
	Moved bool // the file has changed under it
}

const (
	mostFiles     = 200
	claimsOfAFile = 50
)

func filesPage(v *visit) error {
	if path := strings.TrimSpace(v.text("path")); path != "" {
		return v.filePage(path)
	}
	b := filesBody{Question: strings.TrimSpace(v.text("q"))}
	err := v.withStore(func(s store.Engine) error {
		if p, err := v.con.claims.Catch(v.ctx(), s); err != nil || !p.Ready {
			return err
		}
		values, err := v.con.claims.Values(s.Owner(), facet.File, b.Question, mostFiles)
		for _, x := range values {
			b.Files = append(b.Files, facetValue{Label: x.Value, Count: x.Count, Path: pathOf("files") + "?path=" + escapeQuery(x.Value)})
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.page("files", page{Title: "Files", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}

func (v *visit) filePage(path string) error {
	b := fileBody{Now: v.now(), Path: path, Old: v.text("old") != ""}
	from := v.number("from", 0, 0, 1<<30)
	err := v.withStore(func(s store.Engine) (err error) {
		b.View, err = provenance.Of(v.ctx(), s, provenance.Query{Target: path, Expired: b.Old, Superseded: b.Old, Offset: from, Limit: claimsOfAFile},
			provenance.Options{Now: v.con.o.Now, DecayDays: v.con.l.Config().Knowledge.DecayDays, Root: v.con.l.RootOf(v.owner())})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range b.View.Claims {
		f := fileClaim{Claim: c}
		for _, p := range c.Evidence {
			f.Moved = f.Moved || p.Matches && p.State != provenance.Stands
		}
		if f.Moved {
			b.Stale++
		}
		b.Claims = append(b.Claims, f)
	}
	if n := from + len(b.Claims); n < b.View.Total && len(b.Claims) > 0 {
		b.Next = with(v.r.URL, "from", strconv.Itoa(n))
	}
	return v.page("file", page{Title: "What rests on a file", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}
