package console

import (
	"bytes"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"

	"github.com/kenlayer/ken"
)

// slowly shows a page of which a part takes its time: what stands before that part is
// sent at once, and the part when it is there. The template of the page puts .Body.Later
// where the part goes; fill returns the part's template and its data. What it fails with
// is told in the part's place, since the page has begun.
func (v *visit) slowly(name string, p page, body map[string]any, fill func() (part string, data any, err error)) error {
	mark := secret()
	hole := []byte("<!--" + hex.EncodeToString(mark[:]) + "-->")
	body["Later"] = template.HTML(hole) // hexadecimal digits
	p.Body = body
	whole, err := v.render(name, p)
	if err != nil {
		return err
	}
	before, after, ok := bytes.Cut(whole, hole)
	if !ok {
		return errors.New("page " + name + " has no place for its slow part")
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(max(p.Status, http.StatusOK))
	if v.r.Method == http.MethodHead {
		return nil
	}
	_, _ = v.w.Write(before) // the visitor is gone, if it or what follows fails
	_ = http.NewResponseController(v.w).Flush()
	_, _ = v.w.Write(v.part(name, fill))
	_, _ = v.w.Write(after)
	return nil
}

// part renders the slow part of a page, or what went wrong with it.
func (v *visit) part(name string, fill func() (string, any, error)) []byte {
	part, data, err := fill()
	if err == nil {
		var b bytes.Buffer
		var t *template.Template
		if t, err = templates.page(name); err == nil {
			if err = t.ExecuteTemplate(&b, part, map[string]any{"Visit": v.frame(), "Body": data}); err == nil {
				return b.Bytes()
			}
		}
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && v.ctx().Err() == nil {
		v.con.o.Log.Error("a part of a page failed", "page", name, "cause", err, "try", ken.Hint(err))
	}
	return []byte(`<div class="note danger" role="alert"><p>` + template.HTMLEscapeString(p.Msg) + `</p><p>` + template.HTMLEscapeString(p.Try) + `</p></div>`)
}
