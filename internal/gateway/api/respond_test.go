package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/middleware/inspect"
)

func TestProblems(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	evidence := `"evidence":[{"kind":"decision","id":"d"}]`
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
		says                     []string
	}{
		{"no route", "GET", "/api/nothing", "", nil, 404, "no_route", nil},
		{"an empty part", "GET", "/api/claims//history", "", nil, 404, "no_route", nil},
		{"a part too many", "GET", "/api/claims/", "", nil, 404, "no_route", nil},
		{"a part that goes up", "GET", "/api/claims/../stats", "", nil, 404, "no_route", nil},
		{"method", "PUT", "/api/claims", "", nil, 405, "method_not_allowed", []string{"GET, HEAD, OPTIONS, POST"}},
		{"method of one claim", "PATCH", "/api/claims/" + c.ID, "", nil, 405, "method_not_allowed", []string{"DELETE, GET, HEAD, OPTIONS"}},
		{"parameter", "GET", "/api/claims?stauts=observed", "", nil, 400, "invalid", []string{"stauts", "Did you mean status?"}},
		{"parameter that is like none", "GET", "/api/claims?wildebeest=1", "", nil, 400, "invalid", []string{"Use some of", "tag"}},
		{"parameter where there are none", "GET", "/api/stats?x=1", "", nil, 400, "invalid", []string{"no parameters"}},
		{"twice", "GET", "/api/claims?limit=1&limit=2", "", nil, 400, "invalid", []string{"limit", "more than once"}},
		{"limit", "GET", "/api/claims?limit=501", "", nil, 400, "invalid", []string{"limit", "1 to 500"}},
		{"limit that is no number", "GET", "/api/claims?limit=ten", "", nil, 400, "invalid", []string{"limit"}},
		{"limit with a sign", "GET", "/api/claims?limit=%2B5", "", nil, 400, "invalid", []string{"limit"}},
		{"value of a set", "GET", "/api/claims?status=true", "", nil, 400, "invalid", []string{"status", "observed, inferred"}},
		{"scope", "GET", "/api/claims?scope=repo", "", nil, 400, "invalid", []string{"scope", "type:id"}},
		{"kind", "GET", "/api/claims?kind=No%20Kind", "", nil, 400, "invalid", []string{"kind"}},
		{"flag", "GET", "/api/claims?archived=maybe", "", nil, 400, "invalid", []string{"archived"}},
		{"cursor", "GET", "/api/claims?cursor=!!", "", nil, 400, "invalid", []string{"cursor"}},
		{"query", "GET", "/api/claims?limit=%zz", "", nil, 400, "invalid", []string{"query"}},
		{"question missing", "GET", "/api/search", "", nil, 400, "invalid", []string{"q", "missing"}},
		{"question empty", "GET", "/api/search?q=%20", "", nil, 400, "invalid", []string{"q", "empty"}},
		{"question that is not UTF-8", "GET", "/api/search?q=%ff", "", nil, 400, "invalid", []string{"UTF-8"}},
		{"question too long", "GET", "/api/search?q=" + strings.Repeat("a", 9000), "", nil, 400, "invalid", []string{"9000 bytes"}},
		{"accept", "GET", "/api/claims", "", []string{"Accept", "text/html"}, 406, "not_acceptable", []string{"application/json"}},
		{"accept refuses it by name", "GET", "/api/claims", "", []string{"Accept", "application/json;q=0, */*"}, 406, "not_acceptable", nil},
		{"form", "POST", "/api/claims", "text=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", nil},
		{"plain text", "POST", "/api/claims", "{}", []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type", nil},
		{"no type", "POST", "/api/claims/" + c.ID + "/verify", "", []string{"Content-Type", ""}, 415, "unsupported_media_type", nil},
		{"latin", "POST", "/api/claims", "{}", []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported_media_type", nil},
		{"cross-site", "POST", "/api/claims", "{}", []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_site", nil},
		{"another port of this machine", "POST", "/api/claims", "{}", []string{"Sec-Fetch-Site", "same-site"}, 403, "cross_site", nil},
		{"another origin", "DELETE", "/api/claims/" + c.ID, "", []string{"Origin", "https://evil.example"}, 403, "cross_site", nil},
		{"not JSON", "POST", "/api/claims", "{", nil, 400, "invalid", []string{"body", "not valid JSON"}},
		{"text that is not UTF-8", "POST", "/api/claims", "{\"text\":\"caf\xe9\"}", nil, 400, "invalid", []string{"text", "UTF-8"}},
		{"part of a list that is not UTF-8", "POST", "/api/claims", "{\"text\":\"x\",\"tags\":[\"b\",\"a\xff\"]}", nil, 400, "invalid", []string{"tags[1]", "UTF-8"}},
		{"evidence that is not UTF-8", "POST", "/api/claims", "{\"text\":\"x\",\"evidence\":[{\"kind\":\"file\",\"path\":\"\xc3\"}]}", nil, 400, "invalid", []string{"evidence[0].path", "UTF-8"}},
		{"message that is not UTF-8", "POST", "/api/turns", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xf0\x9f\"}]}", nil, 400, "invalid", []string{"messages[0].content", "UTF-8"}},
		{"name that is not UTF-8", "POST", "/api/entities/a%ffb/describe", `{"type":"system"}`, nil, 400, "invalid", []string{"name", "UTF-8"}},
		{"tag that is empty", "POST", "/api/claims", `{"text":"x","tags":["a"," "]}`, nil, 400, "invalid", []string{"tags[1]", "empty"}},
		{"entity that is empty", "POST", "/api/claims", `{"text":"x","entities":[""]}`, nil, 400, "invalid", []string{"entities[0]", "empty"}},
		{"thing that is empty", "POST", "/api/claims", `{"text":"x","about":["a","b","\t"]}`, nil, 400, "invalid", []string{"about[2]", "empty"}},
		{"description that says nothing", "POST", "/api/entities/parser/describe", "{}", nil, 400, "invalid", []string{"text", "empty", "parser"}},
		{"description of spaces", "POST", "/api/entities/parser/describe", `{"type":" ","text":"\n"}`, nil, 400, "invalid", []string{"text", "empty"}},
		{"entity that was not described", "GET", "/api/entities/parser", "", nil, 404, "not_found", nil},
		{"address without a host", "POST", "/api/claims", `{"text":"x","evidence":[{"kind":"file","path":"a.go"},{"kind":"url","url":"http://"}]}`, nil, 400, "invalid", []string{"evidence[1].url", "web page"}},
		{"address that is a script", "POST", "/api/constraints", `{"text":"Never wait.","evidence":[{"kind":"url","url":"javascript:alert(1)"}]}`, nil, 400, "invalid", []string{"evidence[0].url", "web page"}},
		{"address that is a path", "POST", "/api/dependencies", `{"source":"a1","type":"uses","target":"b1","evidence":[{"kind":"url","url":"docs/a.md"}]}`, nil, 400, "invalid", []string{"evidence[0].url", "web page"}},
		{"address that is a file", "POST", "/api/claims/" + c.ID + "/verify", `{"evidence":[{"kind":"url","url":"file:///etc/hosts"}]}`, nil, 400, "invalid", []string{"evidence[0].url", "web page"}},
		{"two values", "POST", "/api/claims", "{} {}", nil, 400, "invalid", []string{"body", "follows"}},
		{"an array", "POST", "/api/claims", "[]", nil, 400, "invalid", nil},
		{"unknown field", "POST", "/api/claims", `{"text":"x","evidnce":[]}`, nil, 400, "invalid", []string{"evidnce", "Did you mean evidence?"}},
		{"unknown field further in", "POST", "/api/claims", `{"text":"x","evidence":[{"kid":"file"}]}`, nil, 400, "invalid", []string{"evidence[0].kid", "kind"}},
		{"field in another case", "POST", "/api/claims", `{"Text":"x"}`, nil, 400, "invalid", []string{"Text", "Did you mean text?"}},
		{"field twice", "POST", "/api/claims", `{"text":"x","text":"y"}`, nil, 400, "invalid", []string{"text", "twice"}},
		{"field of another type", "POST", "/api/claims", `{"text":1}`, nil, 400, "invalid", []string{"text", "number", "string"}},
		{"field that is no time", "POST", "/api/claims", `{"text":"x","expires_at":"soon"}`, nil, 400, "invalid", []string{"RFC 3339"}},
		{"no evidence", "POST", "/api/claims", `{"text":"x","evidence":[]}`, nil, 400, "invalid", []string{"evidence", "empty"}},
		{"empty text", "POST", "/api/claims", `{"text":" ",` + evidence + `}`, nil, 400, "invalid", []string{"text", "empty"}},
		{"evidence that lacks something", "POST", "/api/claims", `{"text":"x","evidence":[{"kind":"file"}]}`, nil, 400, "invalid", []string{"evidence[0]", "path"}},
		{"status that nothing is", "POST", "/api/claims", `{"text":"x","status":"true",` + evidence + `}`, nil, 400, "invalid", []string{"status"}},
		{"confidence", "POST", "/api/claims", `{"text":"x","confidence":2,` + evidence + `}`, nil, 400, "invalid", []string{"confidence"}},
		{"document", "POST", "/api/claims", `{"text":"x","kind":"document",` + evidence + `}`, nil, 409, "refused", []string{"kind"}},
		{"dispute without a reason", "POST", "/api/claims/" + c.ID + "/dispute", "{}", nil, 400, "invalid", []string{"reason"}},
		{"supersede by nothing", "POST", "/api/claims/" + c.ID + "/supersede", "{}", nil, 400, "invalid", []string{"by"}},
		{"body where there is none", "POST", "/api/attention/000000000000/dismiss", `{"x":1}`, nil, 400, "invalid", []string{"x"}},
		{"no item", "POST", "/api/attention/000000000000/dismiss", "", nil, 404, "not_found", []string{"item"}},
		{"collection that is misspelled", "GET", "/api/serch?q=x", "", nil, 404, "no_route", []string{"Did you mean /api/search?"}},
		{"collection in the singular", "GET", "/api/entity/payments", "", nil, 404, "no_route", []string{"/api/entities/{name}?"}},
		{"part that is misspelled", "GET", "/api/claims/" + c.ID + "/histroy", "", nil, 404, "no_route", []string{"/api/claims/{id}/history?"}},
		{"no part of a collection", "GET", "/api/jobs/1/2/3", "", nil, 404, "no_route", []string{"Use one of /api/jobs, /api/jobs/{job}, /api/jobs/{job}/retry."}},
		{"nothing like a path", "GET", "/api/weather", "", nil, 404, "no_route", []string{"openapi.json"}},
		{"no problem", "GET", "/api/problems/none", "", nil, 404, "not_found", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := k.ask(tt.method, tt.path, tt.body, tt.headers...)
			a.problem(tt.status, tt.code, tt.says...)
			if tt.status == 405 && a.header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}

// Each type of problem can be looked up where it says.
func TestProblemTypesAreServed(t *testing.T) {
	k := newKit(t).as(access.Principal{})
	p := k.ask(http.MethodGet, "/api/claims", nil).problem(http.StatusUnauthorized, "unauthorized")
	got := get[api.ProblemType](k, p.Type)
	if got.Type != p.Type || got.Title != p.Title || got.Status != p.Status || got.About == "" {
		t.Errorf("got %+v, want as in %+v", got, p)
	}
}

// The documentation lists every code but one that a gateway never sends, and each can be looked up.
func TestEveryCodeIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t)
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") || !strings.ContainsAny(cells[2], "45") || strings.Contains(cells[1], "/") {
			continue
		}
		for code := range strings.SplitSeq(strings.ReplaceAll(cells[1], "`", ""), ",") {
			if got := get[api.ProblemType](k, "/api/problems/"+strings.TrimSpace(code)); !strings.Contains(cells[2], strconv.Itoa(got.Status)) {
				t.Errorf("%s: status %d, documented %s", code, got.Status, cells[2])
			}
		}
	}
	for _, code := range api.Codes() {
		if code != "unauthorized" && !strings.Contains(string(doc), "`"+code+"`") {
			t.Errorf("docs/http.md lacks %s", code)
		}
	}
}

func TestBodyThatIsTooLarge(t *testing.T) {
	k := newKit(t)
	small := api.New(k.layer, api.Options{MaxBody: 100})
	k.api = small
	k.ask(http.MethodPost, "/api/claims", `{"text":"`+strings.Repeat("a", 200)+`"}`).problem(http.StatusRequestEntityTooLarge, "too_large", "100 bytes")
}

// A body that nests without end is refused, not a crash.
func TestBodyThatNestsWithoutEnd(t *testing.T) {
	k := newKit(t)
	for _, body := range []string{strings.Repeat("[", 1<<20), `{"body":` + strings.Repeat(`{"a":`, 100_000)} {
		k.ask(http.MethodPost, "/api/claims", body).problem(http.StatusBadRequest, "invalid", "body")
	}
}

// What was sent comes back in an error cut and without what a terminal obeys.
func TestProblemsQuoteWithCare(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodGet, "/api/claims?%1b%5b2J"+strings.Repeat("a", 500)+"=1", nil).want(http.StatusBadRequest)
	if strings.Contains(string(a.body), "\\u001b") || len(a.body) > 600 {
		t.Errorf("got %s", a.body)
	}
}

func TestOptionsListsTheMethods(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodOptions, "/api/claims", nil).want(http.StatusNoContent)
	if got := a.header.Get("Allow"); got != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow %q", got)
	}
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin is let in")
	}
}

func TestWhatBrowsersOfThisOriginAndProgramsSend(t *testing.T) {
	k := newKit(t)
	for i, headers := range [][]string{
		{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"},
		{"Sec-Fetch-Site", "none"},
		{"Origin", "http://example.com"}, // the host of httptest's requests
		{},
	} {
		k.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: fmt.Sprint("claim ", i), Evidence: file()}, headers...).want(http.StatusCreated)
	}
	for _, accept := range []string{"*/*", "application/*", "application/json", "text/html, application/json;q=0.1", "application/problem+json, application/json", ""} {
		k.ask(http.MethodGet, "/api/claims", nil, "Accept", accept).want(http.StatusOK)
	}
}

func TestClaimThatDidNotChangeIsNotSentAgain(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "The port is 8080.", Evidence: file()}).want(http.StatusCreated)
	var c inspect.Claim
	a.into(&c)
	path, tag := "/api/claims/"+c.ID, a.header.Get("ETag")
	if got := a.header.Get("Location"); got != path || tag == "" {
		t.Fatalf("Location %s, ETag %s", got, tag)
	}
	for _, paths := range []string{path, path + "/history", path + "/evidence"} {
		tag := k.ask(http.MethodGet, paths, nil).want(http.StatusOK).header.Get("ETag")
		for _, given := range []string{tag, `"x", ` + tag, "W/" + tag, "*"} {
			if got := k.ask(http.MethodGet, paths, nil, "If-None-Match", given).want(http.StatusNotModified).header.Get("ETag"); got != tag {
				t.Errorf("304 with ETag %s", got)
			}
		}
		k.ask(http.MethodGet, paths, nil, "If-None-Match", `"other"`).want(http.StatusOK)
	}
	post[inspect.Claim](k, path+"/verify", api.VerifyRequest{})
	k.ask(http.MethodGet, path, nil, "If-None-Match", tag).want(http.StatusOK)
}

func TestListThatDidNotChangeIsNotSentAgain(t *testing.T) {
	k := newKit(t)
	k.learn("one")
	tag := k.ask(http.MethodGet, "/api/claims?limit=5", nil).want(http.StatusOK).header.Get("ETag")
	k.ask(http.MethodGet, "/api/claims?limit=5", nil, "If-None-Match", tag).want(http.StatusNotModified)
	if other := k.ask(http.MethodGet, "/api/claims?limit=6", nil, "If-None-Match", tag).want(http.StatusOK).header.Get("ETag"); other == tag {
		t.Error("another query has the same version")
	}
	if other := k.as(operator("bert")).ask(http.MethodGet, "/api/claims?limit=5", nil).header.Get("ETag"); other == tag {
		t.Error("another owner's list has the same version")
	}
	k.learn("two")
	if n := len(get[api.ClaimList](k, "/api/claims?limit=5", "If-None-Match", tag).Claims); n != 2 {
		t.Errorf("%d claims", n)
	}
}

// Who waits for another's change of a claim waits for as long as it likes, and nobody
// waits for the change of another claim, such as one that takes minutes to forget.
func TestAChangeThatTakesLong(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	release, err := k.api.Hold(t.Context(), "anna", c.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i := range 100 { // more than there could be locks for claims to share
		other := k.learn(fmt.Sprintf("The port of service %d is %d.", i, 8000+i))
		post[inspect.Claim](k, "/api/claims/"+other.ID+"/verify", api.VerifyRequest{})
	}
	ctx, cancel := context.WithCancel(access.With(t.Context(), k.who))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/claims/"+c.ID+"/verify", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	var waiting sync.WaitGroup
	waiting.Go(func() { k.api.ServeHTTP(w, r) })
	cancel()
	waiting.Wait()
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Two operators look at the same claim; the second to act is told that it is another.
func TestTwoOperatorsDoNotOverwriteEachOther(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	path := "/api/claims/" + c.ID
	tag := k.ask(http.MethodGet, path, nil).header.Get("ETag")
	a := k.ask(http.MethodPost, path+"/dispute", api.DisputeRequest{Reason: "it is 9090"}, "If-Match", tag).want(http.StatusOK)
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", tag).problem(http.StatusPreconditionFailed, "precondition_failed", "Read it again")
	k.ask(http.MethodDelete, path, nil, "If-Match", tag).problem(http.StatusPreconditionFailed, "precondition_failed")
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", "W/"+a.header.Get("ETag")).want(http.StatusPreconditionFailed) // a weak one proves nothing
	if got := get[inspect.Claim](k, path); got.Status != ken.StatusDisputed {
		t.Fatalf("status %s", got.Status)
	}
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", a.header.Get("ETag")).want(http.StatusOK)
	k.ask(http.MethodPost, path+"/dispute", api.DisputeRequest{Reason: "again"}, "If-Match", "*").want(http.StatusOK)
}

// Of many who act at once on the same version one succeeds.
func TestManyOperatorsAtOnce(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	path := "/api/claims/" + c.ID
	tag := k.ask(http.MethodGet, path, nil).header.Get("ETag")
	status := make([]int, 16)
	var wg sync.WaitGroup
	for i := range status {
		wg.Go(func() {
			status[i] = k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{Note: "looked"}, "If-Match", tag).status
		})
	}
	wg.Wait()
	won := 0
	for _, s := range status {
		switch s {
		case http.StatusOK:
			won++
		case http.StatusPreconditionFailed:
		default:
			t.Errorf("status %d", s)
		}
	}
	if won != 1 {
		t.Errorf("%d succeeded: %v", won, status)
	}
}

func TestTags(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  []string
	}{
		{nil, nil},
		{[]string{`"a"`}, []string{`"a"`}},
		{[]string{`"a", W/"b"`, `*`}, []string{`"a"`, `W/"b"`, `*`}},
		{[]string{`"a,b" ,"c"`}, []string{`"a,b"`, `"c"`}},
		{[]string{`a, "b"`}, []string{`"b"`}},
		{[]string{`"a`}, nil},
		{[]string{``, ` , ,`}, nil},
	} {
		if got := api.Tags(tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.lines, got, tt.want)
		}
	}
}
