package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// acceptable reports an Accept header that excludes the only type that there is.
func acceptable(r *http.Request, media string) error {
	lines := r.Header.Values("Accept")
	if len(lines) == 0 {
		return nil
	}
	kind, _, _ := strings.Cut(media, "/")
	best, weight := 0, 0.0 // how exactly a range fits, and what it is worth
	for _, part := range strings.Split(strings.Join(lines, ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		exact := map[string]int{"*/*": 1, kind + "/*": 2, media: 3}[name]
		if exact < best || exact == 0 {
			continue
		}
		q := 1.0
		if given, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
				continue
			}
		}
		if exact > best || q > weight {
			best, weight = exact, q
		}
	}
	if best > 0 && weight > 0 {
		return nil
	}
	p := problemf(codeAccept, "This is served as %s alone.", media)
	p.Try = "Accept " + media + "."
	return p
}

// sameSite refuses a change that a browser sends for a page of another site. Those
// that no browser sent have neither header. A page of the same site but another
// origin, such as another port of this machine, is another site here.
func sameSite(r *http.Request) error {
	if http.NewCrossOriginProtection().Check(r) == nil {
		return nil
	}
	p := problemf(codeCrossSite, "A page of another origin asked a browser to send this.")
	p.Try = "Send it from a program, or from a page of this origin."
	return p
}

// isJSON reports whether a content type is JSON in UTF-8. A form can't send it, so
// that a page of another site can't without being refused first.
func isJSON(contentType string) bool {
	name, params, err := mime.ParseMediaType(contentType)
	charset, given := params["charset"]
	return err == nil && name == mediaJSON && (!given || strings.EqualFold(charset, "utf-8"))
}
