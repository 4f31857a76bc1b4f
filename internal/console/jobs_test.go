package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// dead adds dead jobs of an owner, with their errors.
func dead(c *rig, owner string, errs ...string) (ids []string) {
	c.Helper()
	q := c.layer.Operator().Jobs(owner)
	for i := range errs {
		j, _, err := q.Add(context.Background(), jobs.New{Kind: "test", Key: fmt.Sprint("key ", i), Payload: []byte(`{"n":1}`)})
		if err != nil {
			c.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	_, err := q.Drain(context.Background(), map[string]jobs.Handler{"test": func(_ context.Context, j jobs.Job, _ func(string, int, int)) (string, error) {
		var i int
		if _, err := fmt.Sscanf(j.Key, "key %d", &i); err != nil {
			return "", err
		}
		return "", jobs.Permanent(&ken.Error{Code: ken.CodeInvalid, Msg: errs[i], Try: "Look at it."})
	}})
	if err != nil {
		c.Fatal(err)
	}
	return ids
}

func (c *rig) jobState(owner, id string) jobs.State {
	c.Helper()
	j, err := c.layer.Operator().Jobs(owner).Get(context.Background(), id)
	if err != nil {
		c.Fatal(err)
	}
	return j.State
}

func TestJobsAreListedDeadFirst(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/jobs")
	heads := p.texts("main h2")
	if len(heads) != 2 || heads[0] != "Given up on 1" || heads[1] != "Waiting 1" {
		t.Errorf("the groups are %q", heads)
	}
	p.says("Harvest session s-lost", "the messages of session s-lost are gone", "Try: Remove the job.", "1 attempt", "not before", "Done 7")
	if p.has("main script") {
		t.Error("what a job failed with has become an element")
	}
	if _, p := get(t, c, "/console/jobs?state=done"); len(p.all("article")) != 7 {
		t.Errorf("%d jobs are done", len(p.all("article")))
	}
	if status, _ := get(t, c, "/console/jobs?state=lost"); status != http.StatusBadRequest {
		t.Errorf("a state that is none: %d", status)
	}
	_, empty := get(t, open(t, bare), "/console/jobs")
	empty.says("Nothing waits, nothing runs")
}

func TestAJobRunsAgain(t *testing.T) {
	c := open(t, bare)
	ids := dead(c, ken.DefaultOwner, "one", `two <img src=x onerror=alert(1)>`)
	_, p := get(t, c, "/console/jobs/"+ids[1])
	p.says("two <img src=x onerror=alert(1)>", "Kind test", "Key key 1", `{"n":1}`)
	if p.has("main img") {
		t.Error("what a job failed with has become an element")
	}
	if !p.has(`form[action="/console/jobs/` + ids[1] + `/retry"]`) {
		t.Fatal("no button runs it again")
	}
	status, answer := submit(t, c, p, `form[action="/console/jobs/`+ids[1]+`/retry"]`, nil)
	if status != http.StatusSeeOther || answer.location != "/console/jobs/"+ids[1]+"?did=retried" {
		t.Errorf("retry: %d to %q", status, answer.location)
	}
	if a, b := c.jobState(ken.DefaultOwner, ids[0]), c.jobState(ken.DefaultOwner, ids[1]); a != jobs.Dead || b != jobs.Queued {
		t.Errorf("one is %s, the other %s", a, b)
	}
}

func TestAllDeadJobsRunAgain(t *testing.T) {
	c := open(t, bare)
	ids := dead(c, ken.DefaultOwner, "one", "two", "three")
	others := dead(c, bob.Owner, "four")
	_, p := get(t, c, "/console/jobs")
	if status, answer := submit(t, c, p, `form[action="/console/jobs/retry"]`, nil); status != http.StatusSeeOther || !strings.HasSuffix(answer.location, "did=retried") {
		t.Errorf("retry all: %d to %q", status, answer.location)
	}
	for _, id := range ids {
		if s := c.jobState(ken.DefaultOwner, id); s != jobs.Queued {
			t.Errorf("job %s is %s", id, s)
		}
	}
	if s := c.jobState(bob.Owner, others[0]); s != jobs.Dead {
		t.Errorf("another owner's job is %s", s)
	}
	if _, answer := post(t, c, "/console/jobs/retry", url.Values{}); !strings.HasSuffix(answer.location, "did=nothing") {
		t.Errorf("nothing was dead: %q", answer.location)
	}
}

func TestJobsOfAnotherOwner(t *testing.T) {
	c := open(t, bare)
	id := dead(c, bob.Owner, "mine")[0]
	for _, path := range []string{"/console/jobs/" + id, "/console/jobs/" + id[:8], "/console/jobs/nothing"} {
		if status, _ := get(t, c, path); status != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	if status, _ := post(t, c, "/console/jobs/"+id+"/retry", url.Values{}); status != http.StatusNotFound {
		t.Errorf("retry: %d", status)
	}
	if s := c.jobState(bob.Owner, id); s != jobs.Dead {
		t.Errorf("it is %s", s)
	}
	if status, _ := get(t, c, "/console/jobs/"+id[:8], bob); status != http.StatusNotFound {
		t.Errorf("the beginning of an id: %d", status)
	}
}

func TestJobsHavePages(t *testing.T) {
	c := open(t, bare)
	errs := make([]string, 120)
	for i := range errs {
		errs[i] = fmt.Sprint("failure ", i)
	}
	dead(c, ken.DefaultOwner, errs...)
	_, p := get(t, c, "/console/jobs")
	if n := len(p.all("article")); n != 50 || !p.links("/console/jobs?state=dead") {
		t.Errorf("%d jobs on the first page", n)
	}
	seen, path := 0, "/console/jobs?state=dead"
	for pages := 0; path != "" && pages < 5; pages++ {
		_, p := get(t, c, path)
		seen += len(p.all("article"))
		path = ""
		for _, a := range p.all(`a[rel="next"]`) {
			path = attr(a, "href")
		}
	}
	if seen != 120 {
		t.Errorf("%d jobs on all pages", seen)
	}
}

// A job of a session leads to the session, whatever its id looks like.
func TestJobNamesItsSession(t *testing.T) {
	c := open(t, bare)
	j, _, err := c.layer.Operator().Jobs(ken.DefaultOwner).Add(context.Background(), jobs.New{Kind: session.JobHarvest, Key: "a/b c/1/12"})
	if err != nil {
		t.Fatal(err)
	}
	_, p := get(t, c, "/console/jobs/"+j.ID)
	p.says("Harvest session a/b c")
	if !p.links("/console/sessions/a%2Fb%20c") {
		t.Errorf("no link to the session: %s", p.body)
	}
}
