package gateway_test

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

func respond(status int, body string) upstreamtest.Answer {
	return upstreamtest.Answer{Status: status, Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}, {Name: "X-Theirs", Value: "1"}},
		Pieces: [][]byte{[]byte(body)}}
}

// Ken embeds where the upstream can't, and never instead of one that can: vectors
// of two models look alike and must not be mixed.
func TestWhoEmbeds(t *testing.T) {
	m, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	up := upstreamtest.New(t)
	l := layer(t, nil)
	g, alone, away := start(t, l, up.URL), start(t, l, ""), start(t, l, upstreamtest.Refusing(t))
	const ask = `{"model":"text-embedding-3-small","input":"a text"}`
	for _, tt := range []struct {
		name, body string
		g          *gate
		theirs     upstreamtest.Answer
		own        bool
		status     int
	}{
		{"the upstream", ask, g, upstreamtest.Recording("embeddings"), false, 200},
		{"no such path", ask, g, respond(404, `{"error":{"message":"Invalid URL (POST /v1/embeddings)"}}`), true, 200},
		{"no such path, as a page", ask, g, respond(404, `404 page not found`), true, 200},
		{"not allowed", ask, g, respond(405, ``), true, 200},
		{"not implemented", ask, g, respond(501, ``), true, 200},
		{"no such model", ask, g, respond(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`), false, 404},
		{"no such model, named", ask, g, respond(404, `{"error":"model \"text-embedding-3-small\" not found, try pulling it first"}`), false, 404},
		{"refused", ask, g, upstreamtest.Recording("error_401"), false, 401},
		{"failed", ask, g, respond(500, ``), false, 500},
		{"down", ask, away, upstreamtest.Answer{}, false, 502},
		{"no upstream", ask, alone, upstreamtest.Answer{}, true, 200},
		{"asked for", strings.Replace(ask, "text-embedding-3-small", "ken", 1), away, upstreamtest.Answer{}, true, 200},
		{"asked for by name", strings.Replace(ask, "text-embedding-3-small", m.Model(), 1), away, upstreamtest.Answer{}, true, 200},
		{"not JSON", `{"model":`, g, respond(400, `no`), false, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.g == g {
				up.Next(tt.theirs)
			}
			got := post(t, tt.g.URL+"/v1/embeddings", tt.body)
			if got.StatusCode != tt.status {
				t.Fatalf("%d %s", got.StatusCode, got.body)
			}
			if own := gjson.Get(got.body, "model").String() == m.Model(); own != tt.own {
				t.Errorf("by Ken: %t: %.200s", own, got.body)
			}
			if n := got.Header.Get("Content-Length"); tt.own && (n != strconv.Itoa(len(got.body)) || got.Header.Get("X-Theirs") != "") {
				t.Errorf("headers %v for %d bytes", got.Header, len(got.body))
			}
			if !tt.own && tt.g == g && got.body != string(tt.theirs.Body()) {
				t.Errorf("%s", got.body)
			}
		})
	}
}

func TestEmbeddingsOfKens(t *testing.T) {
	m, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, layer(t, nil), "")
	want, err := m.Embed(t.Context(), []string{"the lamp restarts", "a lighthouse"})
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"model":"ken","input":["the lamp restarts","a lighthouse","\u3042"]`
	floats := post(t, g.URL+"/v1/embeddings", input+`}`)
	coded := post(t, g.URL+"/v1/embeddings", input+`,"encoding_format":"base64","dimensions":256}`)
	if n := gjson.Get(floats.body, "data.#").Int(); n != 3 {
		t.Fatalf("%d: %.200s", n, floats.body)
	}
	for i := range 3 {
		at := "data." + strconv.Itoa(i)
		list := gjson.Get(floats.body, at+".embedding").Array()
		b, err := base64.StdEncoding.DecodeString(gjson.Get(coded.body, at+".embedding").String())
		if err != nil || len(b) != 4*m.Dim() || len(list) != m.Dim() || gjson.Get(floats.body, at+".index").Int() != int64(i) {
			t.Fatalf("%d: %d floats, %d bytes, %v", i, len(list), len(b), err)
		}
		for j := range list {
			w := float32(0) // for a script that it has no words of
			if i < 2 {
				w = want[i][j]
			}
			if float32(list[j].Float()) != w || math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:])) != w {
				t.Fatalf("%d, %d: %v, want %v", i, j, list[j], w)
			}
		}
	}
	if n := gjson.Get(floats.body, "usage.prompt_tokens").Int(); n < 5 {
		t.Errorf("%d tokens", n)
	}
}

func TestEmbeddingsThatAreRefused(t *testing.T) {
	g := start(t, layer(t, nil), "")
	for _, tt := range []struct{ name, body, want string }{
		{"dimensions", `{"model":"ken","input":"a","dimensions":64}`, "dimensions"},
		{"format", `{"model":"ken","input":"a","encoding_format":"int8"}`, "encoding_format"},
		{"tokens", `{"model":"ken","input":[1,2]}`, "input"},
		{"token arrays", `{"model":"ken","input":[[1,2]]}`, "input"},
		{"nothing", `{"model":"ken","input":[]}`, "input"},
		{"null", `{"model":"ken","input":null}`, "input"},
		{"no input", `{"model":"ken"}`, "input"},
		{"an empty text", `{"model":"ken","input":["a",""]}`, "text 1 is empty"},
		{"too many", `{"model":"ken","input":["a"` + strings.Repeat(`,"a"`, 2048) + `]}`, "2048"},
		{"not JSON", `{`, "input"},
		{"no body", ``, "upstream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := post(t, g.URL+"/v1/embeddings", tt.body)
			if got.StatusCode < 400 || !strings.Contains(gjson.Get(got.body, "error.message").String(), tt.want) {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
}

// The upstream's list is passed on as it is; Ken's own stands in where there is none.
func TestModels(t *testing.T) {
	up := upstreamtest.New(t)
	g, alone := start(t, layer(t, nil), up.URL), start(t, layer(t, nil), "")
	get := func(g *gate) reply { return do(t, request(t, http.MethodGet, g.URL+"/v1/models", "")) }
	if got := get(g); got.body != string(upstreamtest.Recording("models").Body()) {
		t.Errorf("%s", got.body)
	}
	up.Next(respond(404, "not here"))
	for _, g := range []*gate{g, alone} {
		if got := get(g); got.StatusCode != http.StatusOK || gjson.Get(got.body, "data.0.id").String() != "ken" {
			t.Errorf("%d %s", got.StatusCode, got.body)
		}
	}
	if got := post(t, alone.URL+"/v1/chat/completions", chat(question)); got.StatusCode != http.StatusBadGateway || got.Header.Get("X-Ken-Error") != "no_upstream" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}
