package repository

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names contents by it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fileDates returns the dates of the last changes of files. If the file is as in the last commit, its date is that of
// the newest commit that changed it. Otherwise it is the modification time. A clone writes all files at once, so
// modification times alone would be useless.
//
// Git runs at most twice per Index run, and only if the content of a file has to be read. As many commits are examined
// as History reads. A file that none of them changed gets the time of the oldest one.
type fileDates struct {
	blobs  func() map[string]string    // blob hashes in the last commit, by path
	newest func() map[string]time.Time // by path; "" holds the time of the oldest commit
}

// datesOf prepares the dates of files. Without history or git, all files have their modification time. want are the
// files whose dates will be needed.
func (x *indexer) datesOf(ctx context.Context, want []file) fileDates {
	if x.o.NoHistory || x.tree.top == "" {
		return fileDates{}
	}
	blobs := sync.OnceValue(func() map[string]string { return x.committed(ctx) })
	return fileDates{blobs: blobs, newest: sync.OnceValue(func() map[string]time.Time {
		held, pending := blobs(), map[string]bool{}
		for _, f := range want {
			if held[f.path] != "" {
				pending[f.path] = true
			}
		}
		return x.lastChanges(ctx, pending)
	})}
}

// of returns the date of a file with this content. It is safe for concurrent use.
func (d *fileDates) of(path string, content []byte, modTime time.Time) time.Time {
	if d.blobs == nil {
		return modTime
	}
	name := d.blobs()[path]
	if name == "" || name != blobName(content, len(name)) && name != blobName(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), len(name)) {
		return modTime
	}
	newest := d.newest()
	for _, p := range []string{path, ""} {
		if at, ok := newest[p]; ok {
			return at
		}
	}
	return modTime
}

// blobName returns git's hash of a content, with the given number of hexadecimal digits.
func blobName(content []byte, digits int) string {
	h := sha1.New() //nolint:gosec // git names contents by it
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// committed returns the blob hashes in the last commit below the root, by path. It returns nil if git fails.
func (x *indexer) committed(ctx context.Context) map[string]string {
	out, err := x.git(ctx, "ls-tree", "-r", "-z", "HEAD").Output()
	if err != nil {
		return nil
	}
	blobs := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		about, path, ok := strings.Cut(entry, "\t") // "100644 blob NAME\tPATH"
		if f := strings.Fields(about); ok && len(f) == 3 && f[1] == "blob" {
			blobs[path] = f[2]
		}
	}
	return blobs
}

// dateFormat writes a commit as an empty token, which no path can be, followed by its time.
const dateFormat = "%x00%ct"

// lastChanges returns the time of the newest commit that changed each pending path, if any of the examined commits did,
// and under "" the time of the oldest examined commit.
func (x *indexer) lastChanges(ctx context.Context, pending map[string]bool) map[string]time.Time {
	if len(pending) == 0 {
		return nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	args := []string{"-c", "log.showRoot=true", "log", "--no-merges", "-n", strconv.Itoa(x.o.MaxCommits), "-z",
		"--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-renames", "--ignore-submodules", "--relative", "--name-only", "--format=" + dateFormat, "HEAD", "--"}
	if x.tree.prefix != "" {
		args = append(args, ".")
	}
	cmd := x.git(running, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil
	}
	found := parseDates(out, pending)
	stop()         // once all paths are found, the rest is not needed
	_ = cmd.Wait() // it was stopped, so its error is expected
	return found
}

// parseDates reads the output of git log in dateFormat with -z and --name-only until it has the newest time of each
// pending path.
func parseDates(r io.Reader, pending map[string]bool) map[string]time.Time {
	found := make(map[string]time.Time, len(pending)+1)
	in := bufio.NewReader(r)
	var at time.Time
	for begins := false; len(found) <= len(pending); {
		token, err := in.ReadString(0)
		if err != nil {
			break
		}
		token = token[:len(token)-1]
		switch {
		case token == "":
			begins = true
			continue
		case begins:
			at = unixTime(token)
			found[""] = at
		default:
			path := strings.TrimPrefix(token, "\n")
			if _, ok := found[path]; !ok && pending[path] && !at.IsZero() {
				found[path] = at
			}
		}
		begins = false
	}
	return found
}
