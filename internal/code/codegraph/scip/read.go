package scip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Read reads an index and the files under root to which it refers, and returns their references. The refinement covers
// the names that the index mentions, in references and calls, and in implements and inherits if the index has any of
// these. It returns ken.ErrInvalid, and no refinement, if r is not an index.
func Read(r io.Reader, root string, o Options) (codegraph.Refinement, Report, error) {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return codegraph.Refinement{}, Report{}, &ken.Error{Code: ken.CodeNotFound, Field: "root", Msg: "can't be opened", Err: err}
	}
	defer tree.Close()
	made := o.Made
	if f, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok && made.IsZero() {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			made = info.ModTime()
		}
	}
	in := reader{tree: tree, root: root, made: made, folder: path.Clean(o.Folder), file: o.File, numbers: map[string]int32{}, known: map[string]string{}}
	if o.File == nil {
		in.file = func(string) (codegraph.File, bool) { return codegraph.File{}, false }
	}
	if err := stream(r, in.visit); err != nil {
		return codegraph.Refinement{}, Report{}, &ken.Error{Code: ken.CodeInvalid, Field: "index", Msg: "is no SCIP index, or a broken one",
			Try: "Make it again with its indexer; it is the file that is usually called index.scip.", Err: err}
	}
	ref := in.refinement()
	for _, f := range ref.Files {
		in.report.Edges += len(f.Edges)
	}
	return ref, in.report, nil
}

// reader collects the data of an index.
type reader struct {
	tree   *os.Root
	root   string
	made   time.Time
	folder string
	file   func(path string) (codegraph.File, bool)

	tool    string
	report  Report
	files   []indexed
	numbers map[string]int32  // number of each symbol that is not local
	known   map[string]string // IDs of the graph's declarations in the files of the index, by qualified name
	nodes   []node            // by number of the symbol
}

// node is the state of a symbol.
type node struct {
	id     string // "" until a definition is known
	placed bool   // it is a node of the graph
	kind   uint64 // as in the index
}

// visit reads one field of the index.
func (in *reader) visit(num protowire.Number, v []byte) error {
	switch num {
	case 1:
		m, err := readMetadata(v)
		if err != nil {
			return err
		}
		in.tool, in.report.Tool = m.tool, strings.TrimSpace(m.tool+" "+m.version)
		if in.folder == "." {
			in.folder = in.within(m.root)
		}
	case 2:
		d, err := readDocument(v)
		if err != nil {
			return err
		}
		in.report.Documents++
		in.document(d)
	}
	return nil
}

// within returns the path in the tree of the folder for which an index was made; "." if the folder is outside.
func (in *reader) within(project string) string {
	u, err := url.Parse(project)
	if err != nil || u.Scheme != "file" {
		return "."
	}
	abs, err := filepath.Abs(in.root)
	if err != nil {
		return "."
	}
	rel, err := filepath.Rel(abs, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return "."
	}
	return filepath.ToSlash(rel)
}

// number returns the number of a symbol; -1 for a local one.
func (in *reader) number(symbol []byte) int32 {
	if len(symbol) == 0 || strings.HasPrefix(string(symbol[:min(6, len(symbol))]), "local ") {
		return -1
	}
	if n, ok := in.numbers[string(symbol)]; ok {
		return n
	}
	n := int32(len(in.nodes)) //nolint:gosec // an index of that many symbols does not fit
	in.numbers[string(symbol)] = n
	in.nodes = append(in.nodes, node{})
	return n
}

func (in *reader) skipDocument(path, reason string) {
	if len(in.report.Left) < maxLeft {
		in.report.Left = append(in.report.Left, Left{path, reason})
	}
}

// Source is the Source of refinements made here.
const Source = "scip"

// Options configures Read. The zero value is right for an index made in the root.
type Options struct {
	// File returns the graph's declarations of a file, by its path from the root, so symbols are mapped to existing
	// nodes. The result is used if it has the hash of the present file, or no hash. With nil or false, all nodes come
	// from the index.
	File func(path string) (codegraph.File, bool)

	// Folder is the folder in the tree to which the paths of the index are relative, with slashes. "" means the folder
	// named in the index if it is in the tree, and otherwise the root.
	Folder string

	// Made is the time at which the index was made; files modified later are left out. The zero time means the
	// modification time of r if r is a file, and otherwise no check. Pass the present time to turn the check off.
	Made time.Time
}

// Report counts the contents of an index and their use.
type Report struct {
	Tool      string `json:"tool"`      // the indexer, with its version
	Documents int    `json:"documents"` // in the index
	Files     int    `json:"files"`     // documents whose files are still the indexed ones

	// Missing counts documents whose file can't be read, Stale those whose file has changed.
	Missing int `json:"missing"`
	Stale   int `json:"stale"`

	Symbols int `json:"symbols"` // symbols with a node that are defined in Files
	Placed  int `json:"placed"`  // how many of them are nodes of the graph
	Edges   int `json:"edges"`

	// Left lists the first documents that were left out, with the reason.
	Left []Left `json:"left,omitempty"`
}

// Left is a document that was left out.
type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

const maxLeft = 50

// maxDocument is the maximum size of one document in an index, in bytes.
const maxDocument = 64 << 20

// stream reads an index field by field. The slice passed to visit is valid until visit returns.
func stream(r io.Reader, visit func(num protowire.Number, v []byte) error) error {
	in := &counter{r: bufio.NewReaderSize(r, 1<<16)}
	var buf bytes.Buffer
	for {
		start := in.n
		tag, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) && in.n == start {
			return nil
		}
		if err != nil {
			return broken(start, err)
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return broken(start, errWire)
		}
		switch typ {
		case protowire.VarintType:
			_, err = binary.ReadUvarint(in)
		case protowire.Fixed32Type:
			_, err = io.CopyN(io.Discard, in, 4)
		case protowire.Fixed64Type:
			_, err = io.CopyN(io.Discard, in, 8)
		case protowire.BytesType:
			var size uint64
			if size, err = binary.ReadUvarint(in); err != nil {
				break
			}
			if size > maxDocument {
				return broken(start, fmt.Errorf("a document of %d bytes", size))
			}
			buf.Reset()
			if _, err = io.CopyN(&buf, in, int64(size)); err == nil { // grows with the data that exists, whatever size says
				if err = visit(num, buf.Bytes()); errors.Is(err, errWire) {
					return broken(start, err)
				} else if err != nil {
					return err
				}
			}
		default:
			err = errWire
		}
		if err != nil {
			return broken(start, err)
		}
	}
}

func broken(at int64, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}

// counter is a reader that counts bytes.
type counter struct {
	r *bufio.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
