package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// commitPrefix starts the path of a document that is a commit.
const commitPrefix = "git:"

// history brings the commits up to date: the newest without merges that HEAD
// reaches and that touch the root. Commits that a rewritten history has left
// behind, or that the limit no longer admits, go.
func (x *indexer) history(ctx context.Context) error {
	shas, keep, err := x.reachable(ctx)
	if err != nil {
		return err
	}
	if keep {
		return nil
	}
	x.report.Commits = len(shas)
	var fresh []string
	held := make(map[string]bool, len(shas))
	for _, sha := range shas {
		path := commitPrefix + sha
		held[path] = true
		if k, ok := x.known[path]; ok && k.Cut == x.cut {
			x.withheld(path, k)
			continue
		}
		fresh = append(fresh, sha)
	}
	for _, p := range slices.Sorted(maps.Keys(x.known)) {
		if strings.HasPrefix(p, commitPrefix) && !held[p] {
			x.remove(p)
		}
	}
	return x.commits(ctx, fresh, len(shas))
}

// reachable lists the commits that belong into the index, newest first. keep
// says that nobody can tell, so that what is indexed stays.
func (x *indexer) reachable(ctx context.Context) (shas []string, keep bool, err error) {
	switch {
	case x.o.NoHistory:
		x.report.History = "not asked for"
		return nil, false, nil
	case x.tree.top == "":
		x.report.History = "not a git work tree"
		return nil, false, nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		x.report.History = "git is not installed"
		return nil, true, nil //nolint:nilerr // it is reported
	}
	args := []string{"rev-list", "--no-merges", "-n", strconv.Itoa(x.o.MaxCommits), "HEAD", "--"}
	if x.tree.prefix != "" {
		args = append(args, ".")
	}
	out, err := x.git(ctx, args...).Output()
	switch {
	case ctx.Err() != nil:
		return nil, false, fmt.Errorf("list commits: %w", ctx.Err())
	case err == nil:
		return strings.Fields(string(out)), false, nil
	}
	if ref, e := x.git(ctx, "symbolic-ref", "-q", "HEAD").Output(); e == nil {
		if x.git(ctx, "show-ref", "--verify", "-q", strings.TrimSpace(string(ref))).Run() != nil && ctx.Err() == nil {
			x.report.History = "no commits yet"
			return nil, false, nil
		}
	}
	x.report.History = gitFailure(err)
	return nil, true, nil
}

// commits reads and puts the commits that are new.
func (x *indexer) commits(ctx context.Context, fresh []string, total int) error {
	p := Progress{Stage: StageCommits, Done: total - len(fresh), Total: total}
	x.o.Progress(p)
	if len(fresh) == 0 {
		return x.flush(ctx)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := x.git(running, "-c", "log.showRoot=true", "log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8",
		"--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-mailmap", "--no-ext-diff", "--no-textconv",
		"--no-renames", "--ignore-submodules", "--relative", "--name-only", "--format="+logFormat)
	cmd.Stdin = strings.NewReader(strings.Join(fresh, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		x.report.History = gitFailure(err)
		return x.flush(ctx)
	}
	failed := parseLog(out, fresh, func(c commit) error {
		doc := x.commitDocument(c)
		x.put(doc)
		x.withheld(doc.Path, doc.Known)
		x.report.CommitsNew++
		if p.Done++; p.Done%readWindow == 0 {
			x.o.Progress(p)
		}
		return x.flushFull(ctx)
	})
	if failed != nil {
		stop() // parseLog leaves the rest unread
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read git history: %w", ctx.Err())
	case errors.Is(failed, errLogFormat):
		x.report.History = "git: " + failed.Error()
	case failed != nil:
		return failed
	case err != nil:
		x.report.History = gitFailure(err)
	}
	x.o.Progress(p)
	return x.flush(ctx)
}

// git prepares a command in the root that asks nothing, changes nothing, and
// runs no program that the repository's settings name.
func (x *indexer) git(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"}, args...)...)
	cmd.Dir = x.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook's GIT_DIR would name another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	return cmd
}

// gitFailure is git's own first line of complaint, or the error itself.
func gitFailure(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		first, _, _ := strings.Cut(string(exit.Stderr), "\n")
		return "git: " + clip(first, 200)
	}
	return "git: " + err.Error()
}
