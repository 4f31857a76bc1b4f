package consoletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

//go:embed all:testdata/project
var projectFiles embed.FS

const projectRoot = "testdata/project"

// staleFile is a file that claims rest on and that changed afterwards.
const staleFile = "retry/backoff.go"

// hostileFile is a file's name that means something in HTML. embed refuses it, so it is
// not below testdata.
const hostileFile = `docs/<img src=x onerror=window.pwned=1>.md`

// files writes the project's files and its configuration.
func (f *furnisher) files() error {
	err := fs.WalkDir(projectFiles, projectRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := projectFiles.ReadFile(path)
		if err != nil {
			return err
		}
		// A go.mod of its own would keep the folder out of this module, and of embed.
		name := strings.TrimPrefix(strings.TrimSuffix(path, ".txt"), projectRoot+"/")
		return f.write(name, b)
	})
	if err != nil {
		return err
	}
	if err := f.write(hostileFile, []byte("# <script>window.pwned=1</script>\n\nA page whose name is a picture.\n")); err != nil {
		return err
	}
	return f.write(".ken/config.yaml", []byte(f.config()))
}

func (f *furnisher) write(name string, b []byte) error {
	path := filepath.Join(f.project.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// config lets the three keys in. What is found must not depend on the machine's load, so
// that the deadline is long.
func (f *furnisher) config() string {
	var b strings.Builder
	b.WriteString("retrieval:\n  deadline: 30s\ngateway:\n  keys:\n")
	k := f.project.Keys
	key := func(name, secret, owner, rights string) {
		fmt.Fprintf(&b, "    - {name: %s, hash: %q, owner: %s, project: payments, rights: [%s]}\n", name, access.HashKey(secret), owner, rights)
	}
	key("operator", k.Operator, ken.DefaultOwner, "chat, read, write, operate")
	key("reader", k.Reader, ken.DefaultOwner, "read")
	key("other", k.Other, Bob, "chat, read, write, operate")
	return b.String()
}

// fileEvidence points at a file of the project as it is now.
func (f *furnisher) fileEvidence(path string, line int) (ken.Evidence, error) {
	b, err := os.ReadFile(filepath.Join(f.project.Dir, filepath.FromSlash(path)))
	if err != nil {
		return ken.Evidence{}, err
	}
	e := ken.FromFile(path, Repo, commit)
	sum := sha256.Sum256(b)
	e.Line, e.ContentHash, e.FetchedAt = line, "sha256:"+hex.EncodeToString(sum[:]), f.clock.Now()
	return e, nil
}

// edit changes a file that claims rest on.
func (f *furnisher) edit(path, old, now string) error {
	name := filepath.Join(f.project.Dir, filepath.FromSlash(path))
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), old) {
		return fmt.Errorf("%s does not say %q", path, old)
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(string(b), old, now)), 0o644)
}

var (
	ana   = ken.Actor{Type: "user", ID: "ana"}
	tidy  = ken.Actor{Type: "system", ID: "lifecycle"}
	build = ken.Actor{Type: "agent", ID: builder}
)

// changes is what became of claims after they were written, and what an operator is asked
// to look at.
func (f *furnisher) changes() []step {
	steps := []step{
		f.supersede(80*day-time.Hour, retryFive, retryFour, "the outage of 12 March"),
		f.supersede(60*day-time.Hour, retryFour, retryThree, "ADR-0005"),
		f.supersede(16*day-time.Hour, timeoutSure, timeoutMaybe, "newer"),
		f.move(39*day, verified, ken.StatusVerified, "two checks agree", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-39*day), "went through the entries by hand")),
		f.move(37*day, disputed, ken.StatusVerified, "measured for a week", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-37*day), "watched the dashboard")),
		f.move(6*day, disputed, ken.StatusDisputed, "it took eleven seconds on Monday", build, ken.FromToolResult("call_curl_2", "time_total 11.2")),
		{30*day - time.Hour, "contradict", f.contradict},
		f.move(11*day, demoted, ken.StatusHypothesis, ken.ReasonLapsed, tidy),
		{58 * day, "edit " + staleFile, func(context.Context) error { return f.edit(staleFile, "10 * time.Second", "12 * time.Second") }},
		{5*day + time.Hour, "refuse a write", f.refuse},
		f.mark(2*day, attention.ForgetRequested, forgettable, "Ana asked me to forget her extension."),
		f.mark(2*day-time.Hour, attention.DisputeRequested, hotDeploys, "Tom deployed at four today and nobody minded."),
	}
	for i, name := range []string{verified, "finding"} {
		steps = append(steps, f.change(time.Duration(9-i)*day-2*time.Hour, "reinforce "+name, func(ctx context.Context, s store.Engine) error {
			id, err := f.claim(name)
			if err != nil {
				return err
			}
			return s.Reinforce(ctx, id, []ken.Evidence{ken.FromMessage("s-incident", "m7", "seen again")}, build)
		}))
	}
	return steps
}

func (f *furnisher) supersede(ago time.Duration, old, by, reason string) step {
	return f.change(ago, "supersede "+old, func(ctx context.Context, s store.Engine) error {
		was, err := f.claim(old)
		now, err2 := f.claim(by)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		return s.SupersedeFor(ctx, was, now, reason, ana)
	})
}

func (f *furnisher) move(ago time.Duration, name string, to ken.Status, reason string, actor ken.Actor, evidence ...ken.Evidence) step {
	return f.change(ago, string(to)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		return s.Transition(ctx, ken.Transition{ID: id, To: to, Reason: reason, Actor: actor, Evidence: evidence})
	})
}

// contradict has each of two claims speak against the other, as a harvest does that finds
// what it can't decide.
func (f *furnisher) contradict(ctx context.Context) error {
	return f.store(ctx, "", func(s store.Engine) error {
		for _, pair := range [][2]string{{mailInline, mailQueued}, {mailQueued, mailInline}} {
			id, err := f.claim(pair[0])
			other, err2 := f.claim(pair[1])
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: attention.ContradictionReason(other, "queued, or not?"),
				Actor: ken.Actor{Type: "system", ID: "harvest"}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// refuse is an agent's attempt to write what nothing backs.
func (f *furnisher) refuse(ctx context.Context) error {
	h := f.layer.Handle(ken.Turn{Session: "s-incident", Project: "payments", Agent: builder})
	if _, err := h.Learn(ctx, "The bank is always right.", nil); !errors.Is(err, ken.ErrInvalid) {
		return errors.Join(errors.New("a claim without evidence was written"), err)
	}
	return nil
}

func (f *furnisher) mark(ago time.Duration, e attention.Event, name, reason string) step {
	return f.change(ago, string(e)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		_, err = attention.PutMark(ctx, s.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: "s-incident", Actor: build, At: f.clock.Now()})
		return err
	})
}

//go:embed testdata/sweep
var sweepData embed.FS

// Sweeps is where a project keeps the reports of recall sweeps, below its root: NAME.json.
const Sweeps = ".ken/state/sweeps"

// sweeps asks the questions of a small data set by words alone, and then by meaning as
// well, and keeps both reports.
func (f *furnisher) sweeps(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "furnish-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data, err := fs.Sub(sweepData, "testdata")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, data); err != nil {
		return err
	}
	for _, mode := range []evals.Mode{evals.ModeKeyword, evals.ModeHybrid} {
		set, err := dataset.Open(ctx, path.Join(dir, "sweep"), dataset.Options{})
		if err != nil {
			return err
		}
		report, err := evals.Sweep(ctx, evals.Options{Data: set, Modes: []evals.Mode{mode}, Seed: 1, Workers: 1, Set: []evals.Setting{{Key: "retrieval.deadline", Value: "30s"}}})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := report.Write(&b); err != nil {
			return err
		}
		if err := f.write(path.Join(Sweeps, string(mode)+".json"), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
