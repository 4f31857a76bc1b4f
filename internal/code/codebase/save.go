package codebase

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/trust"
)

// fileMagic begins a saved file; the readers' signs and the graph follow.
const fileMagic = "ken codebase 1\n"

// Load takes the graph as it was saved last, whatever the files say now. A file that is
// not there, or can't be used, leaves the graph as it is: Build reads everything then.
// The error says why, and is nil when there is no such file.
func (c *Codebase) Load(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	f, err := os.Open(filepath.Join(c.o.State, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the graph: %w", err)
	}
	defer f.Close() // nothing was written
	in := bufio.NewReaderSize(&cancelled{ctx, f}, 256<<10)
	head := make([]byte, len(fileMagic))
	var s signs
	for _, part := range [][]byte{head, s.golang[:], s.lexed[:]} {
		if _, err := io.ReadFull(in, part); err != nil {
			return fmt.Errorf("load the graph: %w", unless(ctx, unusable()))
		}
	}
	if string(head) != fileMagic {
		return fmt.Errorf("load the graph: %w", unusable())
	}
	g, err := codegraph.Load(in)
	if err != nil {
		return fmt.Errorf("load the graph: %w", unless(ctx, err))
	}
	c.graph.Store(g)
	c.read, c.saved, c.governed = s, g.View().Version(), false
	return nil
}

func unusable() error {
	return &ken.Error{Code: ken.CodeCorrupt, Field: FileName, Msg: "is no graph that this version saved", Try: "It is built again; nothing is lost."}
}

// unless returns ctx's error if it has ended, since that explains the other.
func unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// cancelled is a reader that fails once ctx has ended.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// Save keeps the graph for the next process, unless it is there already as it is. What
// other processes save at the same time is in place of it or the other way round, and
// each is whole.
func (c *Codebase) Save() error {
	c.changing.Lock()
	view, s, saved := c.View(), c.read, c.saved
	c.changing.Unlock()
	if view.Version() == saved || s == (signs{}) {
		return nil
	}
	if err := c.write(view, s); err != nil {
		return fmt.Errorf("save the graph: %w", err)
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.saved = view.Version()
	return nil
}

func (c *Codebase) write(view *codegraph.View, s signs) (err error) {
	if err := trust.Mark(c.o.Root, c.o.State); err != nil && !errors.Is(err, ken.ErrUnavailable) {
		return err
	}
	f, err := os.CreateTemp(c.o.State, FileName+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	out := bufio.NewWriter(f)
	_, _ = out.WriteString(fileMagic) // Flush tells the first error
	_, _ = out.Write(s.golang[:])
	_, _ = out.Write(s.lexed[:])
	err = view.Save(out)
	if err == nil {
		err = out.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(c.o.State, FileName))
}
