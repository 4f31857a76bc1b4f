package connect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/configfile"
)

// change is the old and the new text of one file. A nil text means that the file does
// not exist.
type change struct {
	path    string
	oldText []byte // the current text
	base    []byte // the text without Ken's settings
	newText []byte
	undo    []configfile.Undo
	whole   bool
	used    bool // Ken has settings in the file after the change

	folders []string // created for the file, innermost first
}

// plan lists the changes of a connect or disconnect.
type plan struct {
	agent   string
	record  *record // the existing record; nil without one
	changes []*change
}

// newPlan starts a plan by removing the recorded settings of an agent from its files.
func newPlan(agent string) (*plan, error) {
	r, err := readRecord(agent)
	if err != nil {
		return nil, err
	}
	p := &plan{agent: agent, record: r}
	if r == nil {
		return p, nil
	}
	for i := range r.Files {
		f := &r.Files[i]
		c := &change{path: f.Path, folders: f.Folders, whole: f.Whole}
		if c.oldText, err = readFile(f.Path); err != nil {
			return nil, err
		}
		if c.base, err = r.without(f, c.oldText); err != nil {
			return nil, err
		}
		c.newText = c.base
		p.changes = append(p.changes, c)
	}
	return p, nil
}

// connect adds the settings of a way.
func (p *plan) connect(targets []target) error {
	for i := range targets {
		t := &targets[i]
		if err := checkLink(t.path); err != nil {
			return err
		}
		n := slices.IndexFunc(p.changes, func(c *change) bool { return c.path == t.path })
		if n < 0 {
			text, err := readFile(t.path)
			if err != nil {
				return err
			}
			p.changes = append(p.changes, &change{path: t.path, oldText: text, base: text})
			n = len(p.changes) - 1
		}
		if err := p.changes[n].add(t); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) add(t *target) (err error) {
	c.used = true
	if t.whole != "" {
		if c.base != nil && !bytes.HasPrefix(c.base, []byte(ownFile)) {
			return &ken.Error{Code: ken.CodeExists, Field: c.path, Msg: "is there already, and not written by ken", Try: "Move it away, and try again."}
		}
		c.whole, c.base, c.newText = true, nil, []byte(t.whole)
		return nil
	}
	from := c.base
	if len(bytes.TrimSpace(from)) == 0 {
		from = []byte(t.empty)
	}
	if c.newText, c.undo, err = configfile.Set(c.path, from, t.settings); err != nil {
		return err
	}
	if len(c.undo) == 0 { // all settings exist already
		c.newText = c.base
	}
	return nil
}

// disconnect removes a way's settings from files without a record, for example files
// copied from another machine.
func (p *plan) disconnect(targets []target) error {
	for i := range targets {
		t := &targets[i]
		if slices.ContainsFunc(p.changes, func(c *change) bool { return c.path == t.path }) {
			continue
		}
		text, err := readFile(t.path)
		if err != nil {
			return err
		}
		c := &change{path: t.path, oldText: text, newText: text}
		switch {
		case text == nil:
			continue
		case t.whole != "":
			if bytes.HasPrefix(text, []byte(ownFile)) {
				c.newText = nil
			}
		default:
			if c.newText, err = configfile.Unset(t.path, text, undoOf(t.settings)); err != nil {
				return err
			}
		}
		p.changes = append(p.changes, c)
	}
	return nil
}

// undoOf returns an Undo for settings without a record.
func undoOf(settings []configfile.Setting) []configfile.Undo {
	return cli.Map(settings, func(s *configfile.Setting) configfile.Undo {
		return configfile.Undo{Path: s.Path, Value: s.Value, Item: s.Item, Mark: s.Mark, Made: len(s.Path)}
	})
}

// changed returns the changes with different old and new texts.
func (p *plan) changed() (out []*change) {
	for _, c := range p.changes {
		if !bytes.Equal(c.oldText, c.newText) || (c.oldText == nil) != (c.newText == nil) {
			out = append(out, c)
		}
	}
	return out
}

// apply stores the backups and writes the files. by is how the agent is connected; "" disconnects it.
func (p *plan) apply(by string, now time.Time) error {
	if by != "" {
		if err := p.keep(by, now); err != nil {
			return err
		}
	}
	for _, c := range p.changed() {
		if err := c.write(); err != nil {
			return err
		}
	}
	if by == "" && p.record != nil {
		return p.record.remove()
	}
	return nil
}

// keep writes the record and the backups. It runs before any file is changed.
func (p *plan) keep(by string, now time.Time) error {
	r := record{Agent: p.agent, By: by, At: now.UTC()}
	var before [][]byte
	for _, c := range p.changes {
		if !c.used {
			continue
		}
		for dir := filepath.Dir(c.path); ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
				break
			}
			c.folders = append(c.folders, dir)
		}
		r.Files = append(r.Files, recordedFile{Path: c.path, Folders: c.folders, After: sum(c.newText), Whole: c.whole, Undo: c.undo})
		before = append(before, c.base)
	}
	return r.write(before)
}

// write writes the new text, unless the file has changed since it was read.
func (c *change) write() error {
	now, err := readFile(c.path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.oldText) {
		return &ken.Error{Code: ken.CodeUnavailable, Field: c.path, Msg: "has changed since it was read; it was not changed", Try: "Run the command again."}
	}
	if c.newText == nil {
		err := os.Remove(c.path)
		for _, dir := range c.folders {
			_ = os.Remove(dir) // fails if it is not empty, because others use it by now
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", c.path, err)
	}
	return writeFile(c.path, c.newText, 0o644)
}

// isConnected reports whether the settings of a way are in the agent's files.
func isConnected(targets []target) (bool, error) {
	for i := range targets {
		t := &targets[i]
		text, err := readFile(t.path)
		if err != nil || text == nil {
			return false, err
		}
		if t.whole != "" {
			if string(text) != t.whole {
				return false, nil
			}
			continue
		}
		if _, undo, err := configfile.Set(t.path, text, t.settings); err != nil || len(undo) > 0 {
			return false, err
		}
	}
	return true, nil
}
