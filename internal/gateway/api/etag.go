package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// tagOf is the strong version of a body: a hash of it.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// tagged is a reply with its body's version.
func tagged(v any) (*reply, error) {
	body, err := encode(v)
	if err != nil {
		return nil, err
	}
	return &reply{raw: body, etag: tagOf(body)}, nil
}

// listTag is the weak version of what follows from the log and the query alone, known
// without making it. Tiers decay as time passes, so an hour is part of it; so is the
// process, whose configuration has a say in them.
func (c *call) listTag(s store.Engine) string {
	sum := sha256.Sum256([]byte(c.who.Owner + "\x00" + c.r.URL.RequestURI() + "\x00" + c.api.instance))
	return fmt.Sprintf(`W/"%d-%d-%s"`, s.Seq(), c.api.o.Now().Unix()/int64(time.Hour/time.Second), hex.EncodeToString(sum[:8]))
}

// unchanged reports whether If-None-Match names this version, by weak comparison.
func unchanged(r *http.Request, etag string) bool {
	for _, t := range tags(r.Header.Values("If-None-Match")) {
		if t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// current reports an If-Match that does not name the claim's present version, by
// strong comparison. Without the header, every version will do.
func (c *call) current(v middleware.ClaimView) error {
	given := c.r.Header.Values("If-Match")
	if len(given) == 0 {
		return nil
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	etag := tagOf(body)
	for _, t := range tags(given) {
		if t == "*" || t == etag {
			return nil
		}
	}
	p := problemf(codePrecondition, "The claim is not the version that If-Match names any more.")
	p.Try, p.header = "Read it again, look at what has changed, and repeat the request with its new ETag.", map[string]string{"ETag": etag}
	return p
}

// tags reads a list of versions. What is none is left out.
func tags(lines []string) (out []string) {
	for _, line := range lines {
		for line != "" {
			line = strings.TrimLeft(line, " \t,")
			if rest, ok := strings.CutPrefix(line, "*"); ok {
				out, line = append(out, "*"), rest
				continue
			}
			weak := ""
			if rest, ok := strings.CutPrefix(line, "W/"); ok {
				weak, line = "W/", rest
			}
			if !strings.HasPrefix(line, `"`) {
				_, line, _ = strings.Cut(line, ",")
				continue
			}
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				break
			}
			out, line = append(out, weak+line[:end+2]), line[end+2:]
		}
	}
	return out
}
