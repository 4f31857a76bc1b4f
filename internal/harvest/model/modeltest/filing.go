package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// filing is a request to file facts under aspects of the things that they are about, and to
// name dependencies of these things.
type filing struct {
	Things []filed `json:"things"`
	Facts  []struct {
		I     int    `json:"i"`
		About string `json:"about"`
		Text  string `json:"text"`
	} `json:"facts"`
}

type filed struct {
	Name      string   `json:"name"`
	Known     []string `json:"known"`
	Aspects   []string `json:"aspects"`
	Suggested []string `json:"suggested"`
}

// filing returns what the request asks to file; nil for other requests.
func (r *Request) filing() *filing {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		var f filing
		text := strings.TrimSuffix(strings.TrimSpace(m.Content), "/no_think")
		if json.Unmarshal([]byte(text), &f) == nil && len(f.Facts) > 0 && len(f.Things) > 0 {
			return &f
		}
	}
	return nil
}

// file answers a filing as a plausible model would. A fact is filed under an aspect whose name
// it contains, or else under the first suggested one. "must" and "never" make it a constraint.
// A name after a word such as "requires" is a dependency. It is deterministic.
func file(w http.ResponseWriter, _ *http.Request, req *Request) {
	f := req.filing()
	var rows []map[string]any
	for _, fact := range f.Facts {
		text := " " + strings.ToLower(fact.Text) + " "
		t := filed{}
		if at := slices.IndexFunc(f.Things, func(t filed) bool { return t.Name == fact.About }); at >= 0 {
			t = f.Things[at]
		}
		row := map[string]any{"i": fact.I, "aspect": t.aspect(text), "kind": kindOf(text), "dep_target": nil, "dep_type": nil}
		for _, v := range [][2]string{{" requires ", "requires"}, {" depends on ", "requires"}, {" is owned by ", "owned_by"}, {" uses ", "uses"}} {
			_, after, ok := strings.Cut(text, v[0])
			at := slices.IndexFunc(t.Known, func(name string) bool { return strings.Contains(after, name) })
			if ok && at >= 0 {
				row["dep_target"], row["dep_type"] = t.Known[at], v[1]
				break
			}
		}
		rows = append(rows, row)
	}
	say(w, req, encode(map[string]any{"facts": rows}), "stop")
}

func (f *filed) aspect(text string) string {
	all := append(append([]string(nil), f.Aspects...), f.Suggested...)
	for _, a := range all {
		if a != "general" && strings.Contains(text, strings.TrimSuffix(a, "s")) {
			return a
		}
	}
	for _, a := range f.Suggested {
		if a != "general" {
			return a
		}
	}
	return "background"
}

func kindOf(text string) string {
	for _, w := range []string{" must ", " never ", " may not ", " at most "} {
		if strings.Contains(text, w) {
			return "constraint"
		}
	}
	return "attribute"
}
