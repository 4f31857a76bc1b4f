package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// jobStates lists the states of a job in the order of the page.
var jobStates = []jobs.State{jobs.Dead, jobs.Running, jobs.Queued, jobs.Done}

const jobsPerPage = 50

// jobsBody holds the data of the job queue: dead, running and queued jobs, or one state
// in full.
type jobsBody struct {
	Now      time.Time
	State    jobs.State // the state in the address; "" for all but done
	States   []choice
	Groups   []jobGroup
	Next     string
	Warnings []string
}

type jobGroup struct {
	State jobs.State
	Title string
	Total int
	Jobs  []jobRow
}

type jobRow struct {
	jobs.Job
	Title string // what it does, in words
	Tone  string
	Retry bool // it can be run now
}

var jobTitles = map[jobs.State]string{jobs.Dead: "Given up on", jobs.Running: "Running", jobs.Queued: "Waiting", jobs.Done: "Done"}

var jobTones = map[jobs.State]string{jobs.Dead: toneDanger, jobs.Running: "info", jobs.Done: toneSuccess}

func jobsPage(v *visit) error {
	b := jobsBody{Now: v.now(), State: jobs.State(v.param("state"))}
	shown := jobStates[:3]
	if b.State != "" {
		if _, ok := jobTitles[b.State]; !ok {
			return &ken.Error{Code: ken.CodeInvalid, Field: "state", Msg: "no job is in such a state", Try: "Choose one of those above the list."}
		}
		shown = []jobs.State{b.State}
	}
	for _, state := range shown {
		list, err := v.con.layer.Operator().Jobs(v.owner()).List(v.ctx(), state)
		warnings, err := splitCorrupt(err)
		if err != nil {
			return err
		}
		for _, w := range warnings { // an unreadable job may have any state
			if !slices.Contains(b.Warnings, w) {
				b.Warnings = append(b.Warnings, w)
			}
		}
		if len(list) > 0 {
			b.Groups = append(b.Groups, v.jobGroup(&b, state, list))
		}
	}
	v.jobChoices(&b)
	return v.page("jobs", page{Title: "Jobs", Section: secHealth, Tab: "Jobs", Live: []string{liveJobs}, Body: b})
}

// jobGroup returns some jobs of a state: those that are due next, or of a finished
// state the latest.
func (v *visit) jobGroup(b *jobsBody, state jobs.State, list []jobs.Job) jobGroup {
	g := jobGroup{State: state, Title: jobTitles[state], Total: len(list)}
	if state == jobs.Dead || state == jobs.Done {
		slices.Reverse(list)
	}
	most := jobsPerPage
	if b.State != "" {
		from := min(v.intParam("from", 0, 0, 1<<30), len(list))
		list = list[from:]
		if len(list) > most {
			b.Next = Prefix + "jobs?state=" + string(state) + "&from=" + strconv.Itoa(from+most)
		}
	}
	g.Jobs = mapped(list[:min(len(list), most)], rowOfJob)
	return g
}

// jobChoices sets the filters of the list, with the latest counts.
func (v *visit) jobChoices(b *jobsBody) {
	n := v.ownerStats()
	name := func(words string, states ...jobs.State) string {
		if n == nil {
			return words
		}
		sum := 0
		for _, s := range states {
			sum += n.Jobs[s]
		}
		return words + " " + count(sum)
	}
	b.States = append(b.States, choice{Name: name("Not done", jobStates[:3]...), Path: Prefix + "jobs", Here: b.State == ""})
	for _, s := range jobStates {
		b.States = append(b.States, choice{Name: name(jobTitles[s], s), Path: Prefix + "jobs?state=" + string(s), Here: b.State == s})
	}
}

func rowOfJob(j *jobs.Job) jobRow {
	return jobRow{Job: *j, Title: jobTitle(j), Tone: jobTones[j.State], Retry: j.State == jobs.Dead || j.State == jobs.Queued}
}

func jobTitle(j *jobs.Job) string {
	if id := jobSession(j); id != "" {
		return "Harvest session " + id
	}
	return j.Kind + " " + j.Key
}

// jobSession returns the session that a job harvests, or "" for another job. The job's
// key has the session, the part and the last message.
func jobSession(j *jobs.Job) string {
	if j.Kind != session.JobHarvest {
		return ""
	}
	parts := strings.Split(j.Key, "/")
	if len(parts) < 3 {
		return ""
	}
	return strings.Join(parts[:len(parts)-2], "/")
}

type jobBody struct {
	Now     time.Time
	Job     jobRow
	Session string // the session that it harvests
	Payload string
}

func jobPage(v *visit) error {
	j, err := v.job()
	if err != nil {
		return err
	}
	b := jobBody{Now: v.now(), Job: rowOfJob(&j), Session: jobSession(&j)}
	if utf8.Valid(j.Payload) {
		b.Payload = string(j.Payload)
	}
	return v.page("job", page{Title: "Job", Section: secHealth, Tab: "Jobs", Live: []string{liveJobs}, Body: b})
}

// job returns the job of the path, by its full id.
func (v *visit) job() (jobs.Job, error) {
	id := v.r.PathValue("id")
	j, err := v.con.layer.Operator().Jobs(v.owner()).Get(v.ctx(), id)
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) || err == nil && j.ID != id {
		return j, &ken.Error{Code: ken.CodeNotFound, Msg: "there is no such job", Try: "It may have been removed: look at the list of jobs."}
	}
	return j, err
}

// retryJob makes a job due now.
func retryJob(v *visit) error {
	j, err := v.job()
	if err != nil {
		return err
	}
	if _, err := v.con.layer.Operator().Jobs(v.owner()).Retry(v.ctx(), j.ID); err != nil {
		return err
	}
	return v.redirectDone(v.returnPath(pathOf("jobs")), "retried")
}

// retryDead makes all dead jobs due now. It skips a job that was retried or removed
// meanwhile.
func retryDead(v *visit) error {
	q := v.con.layer.Operator().Jobs(v.owner())
	list, err := q.List(v.ctx(), jobs.Dead)
	if _, err = splitCorrupt(err); err != nil {
		return err
	}
	did := "nothing"
	for i := range list {
		switch _, err := q.Retry(v.ctx(), list[i].ID); {
		case err == nil:
			did = "retried"
		case !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrRefused):
			return err
		}
	}
	return v.redirectDone(v.returnPath(pathOf("jobs")), did)
}
