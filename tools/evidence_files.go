package tools

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// file is a file of the project with the hash of its whole content.
func (c *Call) file(name, field string) (ken.Evidence, error) {
	e, err := provenance.Evidence(c.r.layer.Root(), name)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		return e, invalid(field+".path", why.Msg, "Check the path, which is relative to the project's root, or use agent_assertion.")
	}
	return e, err
}

var commitHash = lazyregexp.New(`^[0-9a-fA-F]{7,64}$`)

// commit is a commit of the project's repository, if git knows it.
func (c *Call) commit(ctx context.Context, hash, field string) (e ken.Evidence, why string, err error) {
	if hash = strings.TrimSpace(hash); !commitHash.MatchString(hash) {
		return e, "", invalid(field+".commit", clipped(hash)+" is not the hash of a commit", "Give at least 7 hexadecimal digits, as git log shows them.")
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-C", c.r.layer.Root(),
		"log", "-1", "--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-patch", "--encoding=UTF-8", "--format=%H%x00%s", hash, "--")
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
	out, err := cmd.Output()
	if err != nil {
		return e, "git does not know commit " + clipped(hash) + " in the project", nil
	}
	full, subject, _ := strings.Cut(strings.TrimSpace(string(out)), "\x00")
	return ken.FromGitHistory("", full, bounded(subject, 200)), "", nil
}
