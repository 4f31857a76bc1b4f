package observe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Command is a command to run.
type Command struct {
	Args []string // the program first; not empty
	Dir  string   // working directory; "" is the current one

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Direct passes the streams themselves to the command, so that it can use a terminal. Its
	// output is not parsed then.
	Direct bool

	Signals <-chan os.Signal // signals to pass on to the command, see Signals; nil passes none
	Now     func() time.Time // default time.Now
}

// Result says how a command ended.
type Result struct {
	Args    []string // as they were given
	Started time.Time
	Took    time.Duration

	Exit   int       // as shells report it: 127 not found, 126 not executable, 128 plus the signal's number
	Signal os.Signal // the signal that ended it; nil for none
	// Interrupted is the first external signal that asked the command to end; nil for none. The
	// exit status is not meaningful then.
	Interrupted os.Signal
	Err         error // why it could not be started

	Tests  []outcome.Test // test results in its output
	Counts outcome.Counts
}

// Exit statuses of commands that could not be started or were ended by a signal.
const (
	exitNotFound   = 127
	exitNotStarted = 126
	exitSignalled  = 128
)

// Run runs a command until it ends, without a time limit.
func Run(c Command) Result {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	r := Result{Args: slices.Clone(c.Args), Started: now(), Counts: outcome.Counts{Complete: true}}
	cmd := exec.CommandContext(context.Background(), c.Args[0], c.Args[1:]...) // no context: it ends on its own or by a signal
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	out, errs := &tee{to: c.Stdout}, &tee{to: c.Stderr}
	if !c.Direct {
		if sameStream(c.Stdout, c.Stderr) { // one pipe keeps lines of both streams in order
			errs = out
		}
		r.Err = errors.Join(out.open(), errs.open())
		cmd.Stdout, cmd.Stderr = out.in, errs.in
	}
	if r.Err == nil {
		r.Err = cmd.Start()
	}
	out.start(r.Err == nil)
	errs.start(r.Err == nil)
	if r.Err != nil {
		r.Took, r.Exit = now().Sub(r.Started), exitNotStarted
		if errors.Is(r.Err, exec.ErrNotFound) || errors.Is(r.Err, fs.ErrNotExist) {
			r.Exit = exitNotFound
		}
		return r
	}
	stop := forward(cmd.Process, c.Signals, &r)
	_ = cmd.Wait() // the process state has the result
	stop()
	r.Took = now().Sub(r.Started)
	out.drain()
	errs.drain()
	r.Exit = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal, r.Exit = ws.Signal(), exitSignalled+int(ws.Signal())
	}
	r.Tests, r.Counts = mergeResults(out, errs)
	return r
}

// forward passes signals to the process until stop is called.
func forward(p *os.Process, signals <-chan os.Signal, r *Result) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case sig := <-signals:
				if ends(sig) && r.Interrupted == nil {
					r.Interrupted = sig
				}
				if !alreadySignalled(sig) {
					_ = p.Signal(sig) // the process may have ended
				}
			}
		}
	}()
	return func() { close(over); <-done }
}

// mergeResults joins the results of both outputs. Tests that only the second one lists come
// last.
func mergeResults(out, errs *tee) (all []outcome.Test, n outcome.Counts) {
	all, _ = out.stream.Tests()
	n = out.stream.Counts()
	if out == errs {
		return all, n
	}
	more, _ := errs.stream.Tests()
	for _, t := range more {
		if !slices.ContainsFunc(all, func(o outcome.Test) bool { return o.Name == t.Name }) {
			all = append(all, t)
		}
	}
	second := errs.stream.Counts()
	return all, outcome.Counts{Passed: n.Passed + second.Passed, Failed: n.Failed + second.Failed, Complete: n.Complete && second.Complete}
}

// sameStream reports whether two streams are the same file.
func sameStream(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	x, err := f.Stat()
	y, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// maxCommand is the maximum length of a recorded command line, in bytes.
const maxCommand = 400

// Line returns a command as a shell command line without secrets, at most 400 bytes long.
func Line(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if i > 0 && secretFlag.MatchString(args[i-1]) {
			a = hidden
		}
		words[i] = quote(secretValue.ReplaceAllString(a, "${1}"+hidden))
	}
	line := clean.Text(strings.Join(words, " "))
	if len(line) > maxCommand {
		line = strings.ToValidUTF8(line[:maxCommand-len("…")], "") + "…"
	}
	return line
}

// A value is removed if its name says that it is secret: the value of an option, in the same
// word or the next, or of a variable.
const (
	hidden     = "[secret]"
	secretName = `(?:passw(?:or)?d|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)(?:[_-]?value)?`
	aValue     = `(?:'[^']*'|"[^"]*"|[^\s'"]\S*)`
)

var (
	secretFlag  = lazyregexp.New(`(?i)^--?[\w-]*` + secretName + `$`)
	secretValue = lazyregexp.New(`(?i)((?:--?[\w-]*` + secretName + `(?:=|\s+)|\b\w*` + secretName + `=))` + aValue)
)

// quote quotes a word for a shell, if necessary.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r) || r > 127
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// exitIsReliable reports whether the exit status is that of the command whose output is parsed,
// and not that of a filter after a pipe.
func exitIsReliable(args []string) bool {
	name := filepath.Base(args[0])
	if !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, name) {
		return true
	}
	return shell.Parse(Line(args), "").OwnExit
}

// places returns paths that a group of tests is about: the folder of a Go package, or the path
// of a file.
func (s *Report) places(group string) []string {
	file, _, _ := strings.Cut(group, "::")
	if p, ok := s.inProject(file); ok && p != "." && exists(s.Root, p) {
		return []string{p}
	}
	for dir := s.Dir; ; dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(s.Root, dir); err != nil || !filepath.IsLocal(rel) {
			return nil
		}
		module := moduleAt(filepath.Join(dir, "go.mod"))
		if module == "" {
			if dir == filepath.Dir(dir) {
				return nil
			}
			continue
		}
		below, ok := strings.CutPrefix(group, module+"/")
		if !ok {
			return nil
		}
		if p, ok := s.inProject(filepath.Join(dir, filepath.FromSlash(path.Clean(below)))); ok && exists(s.Root, p) {
			return []string{p}
		}
		return nil
	}
}

// moduleAt returns the module path in a go.mod file; "" if there is none.
func moduleAt(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() // nothing was written
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}

// drainTimeout is how long a command's pipe may be silent after the command has ended. Processes that
// it left running may still hold the other end; after this time they are no longer waited for.
// Writing to our own output may take any time. Tests change it.
var drainTimeout = 2 * time.Second

// tee copies an output and parses it.
type tee struct {
	to     io.Writer // nil discards it
	stream outcome.Stream

	from, in *os.File // the two ends of the pipe; the command writes to in; nil without a pipe
	ended    atomic.Bool
	done     chan struct{}
}

// open creates the pipe, once.
func (t *tee) open() (err error) {
	if t.from == nil {
		t.from, t.in, err = os.Pipe()
	}
	return err
}

// start begins to copy after the command was started. If the command could not be started, it
// closes the pipe.
func (t *tee) start(yes bool) {
	if t.from == nil || t.done != nil {
		return
	}
	t.done = make(chan struct{})
	_ = t.in.Close()
	if !yes {
		_ = t.from.Close()
		close(t.done)
		return
	}
	go t.pass()
}

// pass copies the output until the other end is closed, our output can't be written, or drain's
// deadline passes. It then closes the pipe, so that a command that goes on writing gets an
// error.
func (t *tee) pass() {
	defer close(t.done)
	defer t.from.Close() // it was only read
	buf := make([]byte, 32<<10)
	for {
		if t.ended.Load() {
			_ = t.from.SetReadDeadline(time.Now().Add(drainTimeout)) // without support for deadlines, wait for the end
		}
		n, err := t.from.Read(buf)
		_, _ = t.stream.Write(buf[:n]) // never fails
		if n > 0 && t.to != nil {
			if _, failed := t.to.Write(buf[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drain waits for the rest of the output of a command that has ended.
func (t *tee) drain() {
	if t.from == nil {
		return
	}
	t.ended.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainTimeout))
	<-t.done
}
