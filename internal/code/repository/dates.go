package repository

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names contents by it
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fileDates says when files were last changed. What a commit holds unchanged has the time of
// the newest commit that changed it; anything else, the modification time. A clone writes
// all files at once, so that their own times say nothing.
//
// Git is asked at most twice a run, and only when a file's content has to be read. As many
// commits are looked at as History reads; what they leave untouched has the oldest one's time.
type fileDates struct {
	blobs  func() map[string]string    // what the last commit holds: path to name of the content
	newest func() map[string]time.Time // by path; "" has the time of the oldest commit
}

// datesOf prepares the dates of files. Without history, or git, all have their modification
// time. want are the paths that will be asked for.
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

// of returns the date of a file with this content. Safe for concurrent use.
func (d *fileDates) of(path string, content []byte, modTime time.Time) time.Time {
	if d.blobs == nil {
		return modTime
	}
	name := d.blobs()[path]
	if name == "" || name != blobName(content, len(name)) && name != blobName(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), len(name)) {
		return modTime
	}
	newest := d.newest()
	if at, ok := newest[path]; ok {
		return at
	}
	if at, ok := newest[""]; ok {
		return at
	}
	return modTime
}

// blobName is git's name of a content, in so many hexadecimal digits.
func blobName(content []byte, digits int) string {
	head := []byte("blob " + strconv.Itoa(len(content)) + "\x00")
	if digits == 2*sha256.Size {
		h := sha256.New()
		h.Write(head)
		h.Write(content)
		return hex.EncodeToString(h.Sum(nil))
	}
	h := sha1.New() //nolint:gosec // git names contents by it
	h.Write(head)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// committed returns the names of the contents that the last commit holds below the root, by
// path; nil where git can't say.
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

// dateFormat begins a commit with an empty token, which no path is, and its time.
const dateFormat = "%x00%ct"

// lastChanges returns the time of the newest commit that changed each of the paths, as far as
// the newest commits say, and under "" the time of the oldest of them.
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
	stop()         // once every path was found, the rest is of no use
	_ = cmd.Wait() // it was stopped, most likely
	return found
}

// parseDates reads the output of git log in dateFormat with -z and --name-only until it
// has the newest time of every path that is pending.
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
