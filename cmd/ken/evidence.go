package main

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

// evidenceFlags are the flags that say what backs a claim.
type evidenceFlags struct {
	files, urls, tests []string
	command            string
	exit               int
	by, note           string

	flags *pflag.FlagSet
}

func (e *evidenceFlags) add(f *pflag.FlagSet) {
	e.flags = f
	f.StringArrayVar(&e.files, "file", nil, "evidence: a `file` of the project, as it is now (repeatable)")
	f.StringArrayVar(&e.urls, "url", nil, "evidence: the `address` of a web page (repeatable)")
	f.StringArrayVar(&e.tests, "test", nil, "evidence: the `name` of a test that was run (repeatable)")
	f.StringVar(&e.command, "command", "", "evidence: a `command` that was run")
	f.IntVar(&e.exit, "exit", 0, "the exit `status` of --command")
	f.StringVar(&e.by, "by", "", "evidence: the `name` of the person who vouches for it")
	f.StringVar(&e.note, "note", "", "`what` that person checked")
}

// mechanical returns the evidence that is not somebody's word.
func (e *evidenceFlags) mechanical(root string, now time.Time) ([]ken.Evidence, error) {
	if e.flags.Changed("exit") && e.command == "" {
		return nil, usagef("--exit is the status of a --command, and there is none")
	}
	var out []ken.Evidence
	for _, path := range e.files {
		ev, err := fileEvidence(root, path)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	for _, url := range e.urls {
		out = append(out, ken.FromURL(url, now, ""))
	}
	for _, id := range e.tests {
		out = append(out, ken.FromTestResult(id, ""))
	}
	if e.command != "" {
		out = append(out, ken.FromExitCode(e.command, e.exit))
	}
	for i := range out {
		out[i].FetchedAt = now
	}
	return out, nil
}

// asserts reports whether somebody's word was given as evidence.
func (e *evidenceFlags) asserts() bool { return e.by != "" || e.note != "" }

// person is who vouches: the one that was named, else who runs the command.
func (e *evidenceFlags) person() string {
	if e.by != "" {
		return e.by
	}
	return currentUser()
}

// assertion is that person's word.
func (e *evidenceFlags) assertion(now time.Time) ken.Evidence {
	return ken.FromHumanAssertion(e.person(), now, e.note)
}

func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// fileEvidence is a file of the project, named from where the command runs.
func fileEvidence(root, path string) (ken.Evidence, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ken.Evidence{}, fmt.Errorf("find %s: %w", path, err)
	}
	e, err := provenance.Evidence(root, abs)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "--file"
		if why.Code == ken.CodeInvalid {
			return e, usage{why}
		}
	}
	return e, err
}
