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

// Command is what is run.
type Command struct {
	Args []string // the program first; not empty
	Dir  string   // to run it in; "" is the current one

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Direct gives the command the streams themselves, so that it sees a terminal where
	// there is one. Its output is not looked at then.
	Direct bool

	Signals <-chan os.Signal // that are passed on to it; nil passes none: see Signals
	Now     func() time.Time // default time.Now
}

// Result is how a command ended.
type Result struct {
	Args    []string // as they were given
	Started time.Time
	Took    time.Duration

	Exit   int       // as shells count: 127 not found, 126 not to be started, 128 and the signal's number
	Signal os.Signal // that ended it; nil for none
	// Interrupted is the first signal that came from outside and asks to end; nil for
	// none. How the command ended after that says nothing of it.
	Interrupted os.Signal
	Err         error // it could not be started

	Tests    []outcome.Test // what its output says of tests
	Complete bool           // these are all
}

// Exit statuses of what could not be started.
const (
	exitNotFound   = 127
	exitNotStarted = 126
	exitSignalled  = 128
)

// Run runs a command to its end, however long that takes.
func Run(c Command) Result {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	r := Result{Args: slices.Clone(c.Args), Started: now(), Complete: true}
	cmd := exec.CommandContext(context.Background(), c.Args[0], c.Args[1:]...) // it ends when it ends, or by a signal
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	out, errs := &tee{to: c.Stdout}, &tee{to: c.Stderr}
	if !c.Direct {
		if sameStream(c.Stdout, c.Stderr) { // by one pipe, lines stay in their order
			errs = out
		}
		r.Err = errors.Join(out.open(), errs.open())
		cmd.Stdout, cmd.Stderr = out.in, errs.in
	}
	if r.Err == nil {
		r.Err = cmd.Start()
	}
	out.began(r.Err == nil)
	errs.began(r.Err == nil)
	if r.Err != nil {
		r.Took, r.Exit = now().Sub(r.Started), exitNotStarted
		if errors.Is(r.Err, exec.ErrNotFound) || errors.Is(r.Err, fs.ErrNotExist) {
			r.Exit = exitNotFound
		}
		return r
	}
	stop := forward(cmd.Process, c.Signals, &r)
	_ = cmd.Wait() // the state says it
	stop()
	r.Took = now().Sub(r.Started)
	out.drain()
	errs.drain()
	r.Exit = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal, r.Exit = ws.Signal(), exitSignalled+int(ws.Signal())
	}
	r.Tests, r.Complete = mergeResults(out, errs)
	return r
}

// forward passes signals on until stop is called.
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
					_ = p.Signal(sig) // it may be over
				}
			}
		}
	}()
	return func() { close(over); <-done }
}

// mergeResults are the results of two outputs. What only the second tells of comes behind.
func mergeResults(out, errs *tee) (all []outcome.Test, complete bool) {
	all, first := out.stream.Tests()
	if out == errs {
		return all, first
	}
	more, second := errs.stream.Tests()
	for _, t := range more {
		if !slices.ContainsFunc(all, func(o outcome.Test) bool { return o.Name == t.Name }) {
			all = append(all, t)
		}
	}
	return all, first && second
}

// sameStream reports whether two streams are the same.
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

// maxCommand bounds a command line that is kept, in bytes.
const maxCommand = 400

// Line is a command as a shell would be given it, without secrets, at most 400 bytes of
// it.
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

// What is given by a name that says that it is secret is left out, however harmless it
// looks: the value of an option, in a word of its own or in one with it, or of a variable.
const (
	hidden     = "[secret]"
	secretName = `(?:passw(?:or)?d|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)(?:[_-]?value)?`
	aValue     = `(?:'[^']*'|"[^"]*"|[^\s'"]\S*)`
)

var (
	secretFlag  = lazyregexp.New(`(?i)^--?[\w-]*` + secretName + `$`)
	secretValue = lazyregexp.New(`(?i)((?:--?[\w-]*` + secretName + `(?:=|\s+)|\b\w*` + secretName + `=))` + aValue)
)

// quote writes a word so that a shell reads it as one.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r) || r > 127
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// exitIsReliable reports whether the exit status speaks for what the output tells of: not one of
// a filter behind a pipe.
func exitIsReliable(args []string) bool {
	name := filepath.Base(args[0])
	if !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, name) {
		return true
	}
	return shell.Parse(Line(args), "").Honest
}

// places are the names, besides its own, under which a group of tests is looked for: the
// folder of a Go package, the path of a file.
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

// moduleAt is the path of the module that a go.mod names; "" for none.
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

// drained is how long the pipe of a command that is over may be silent before what it
// left running, and holds the other end, is waited for no more. Whoever reads our output
// may take as long as it likes. Tests change it.
var drained = 2 * time.Second

// tee passes an output on and looks at it.
type tee struct {
	to     io.Writer // nil for nobody
	stream outcome.Stream

	from, in *os.File // the pipe: in is the command's; nil when there is none
	over     atomic.Bool
	done     chan struct{}
}

// open makes the pipe, once.
func (t *tee) open() (err error) {
	if t.from == nil {
		t.from, t.in, err = os.Pipe()
	}
	return err
}

// began starts to pass on, once the command has its end of the pipe, or gives the pipe
// up when it never will.
func (t *tee) began(yes bool) {
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

// pass ends when nobody holds the other end any more, when nobody reads ours, or when
// drain says so. It closes the pipe: a command that writes on is told.
func (t *tee) pass() {
	defer close(t.done)
	defer t.from.Close() // it was only read
	buf := make([]byte, 32<<10)
	for {
		if t.over.Load() {
			_ = t.from.SetReadDeadline(time.Now().Add(drained)) // where there are none, the end is waited for
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

// drain waits for the rest of the output of a command that is over.
func (t *tee) drain() {
	if t.from == nil {
		return
	}
	t.over.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drained))
	<-t.done
}
