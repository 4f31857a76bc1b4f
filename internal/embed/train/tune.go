package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Tune trains base further with pairs and returns a new table; base is not changed.
// Words that are frequent in the pairs and that base splits into pieces become tokens.
// Their first row is the sum of their pieces' rows, so that nothing changes before the
// first step. Errors are *ken.Error of code invalid or corrupt, as Train's, or the
// context's own.
func Tune(ctx context.Context, base *table.Model, pairs []Pair, o Options) (*table.Model, error) {
	o = o.tuneDefaults(len(pairs))
	o.Dim = base.Dim()
	o.Info.Base = base.Model()
	r := &run{o: &o}
	return r.all(ctx, pairs, func() error {
		words, err := countWords(ctx, pairs, &o)
		if err != nil {
			return err
		}
		r.state.Dim = o.Dim
		r.state.Tokens, r.state.rows = extend(base, words, o.Tokens)
		return r.cut(ctx, pairs)
	})
}

// extend copies base's tokens and rows and adds at most n frequent words.
func extend(base *table.Model, words counts, n int) ([]string, *rows) {
	v := base.Vocabulary()
	var tokens []string
	for i := range v.Len() {
		tokens = append(tokens, v.Token(i))
	}
	for _, w := range words.ranked(minCount * countScale) {
		if n == 0 {
			break
		}
		if _, known := v.ID(w); !known {
			tokens = append(tokens, w)
			n--
		}
	}
	t := newRows(len(tokens), base.Dim())
	piece := make([]float32, base.Dim())
	for i, w := range tokens {
		if i < v.Len() {
			base.Row(t.row(i), i)
			continue
		}
		for _, id := range v.Append(nil, w) {
			base.Row(piece, int(id))
			vek32.Add_Inplace(t.row(i), piece)
		}
	}
	return tokens, t
}

// recipe is incremented whenever the same pairs and options give a different table, so
// that no run continues a checkpoint of another recipe.
const recipe = 1

// state is the content of a checkpoint: everything that later steps depend on.
type state struct {
	Key    string   `json:"key"`    // of pairs and options
	Epochs int      `json:"epochs"` // that are done
	Step   int      `json:"step"`   // steps that are done
	Dim    int      `json:"dim"`
	Tokens []string `json:"tokens"`
	rows   *rows
}

// key returns a hash of pairs and options.
func key(ctx context.Context, pairs []Pair, o *Options) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, recipe, o.Dim, o.Tokens, o.Epochs, o.Batch, o.Rate, o.Temperature, o.Hard, o.Seed, o.Info.Base, len(pairs))
	if o.Teacher != nil {
		fmt.Fprintln(h, o.Teacher.Model())
	}
	weighed := map[string]bool{}
	for i, p := range pairs {
		if i%4096 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !weighed[p.Src] {
			weighed[p.Src] = true
			fmt.Fprintln(h, p.Src, o.Weight(p.Src))
		}
		var b [24]byte
		binary.LittleEndian.PutUint64(b[:], hashText(p.Q))
		binary.LittleEndian.PutUint64(b[8:], hashText(p.P))
		binary.LittleEndian.PutUint64(b[16:], hashText(p.Src))
		h.Write(b[:])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}

const checkpointMagic = "KENTRAIN"

// save atomically writes a checkpoint: magic, the length of the state's JSON, the JSON,
// the arrays of rows, and a CRC-32C of all that.
func (s *state) save(path string) error {
	about, err := json.Marshal(s)
	if err != nil {
		return err
	}
	err = durable.Replace(path, 0o600, func(f io.Writer) error {
		sum := crc32.New(castagnoli)
		w := io.MultiWriter(f, sum)
		head := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), uint32(len(about)))
		if _, err := w.Write(append(head, about...)); err != nil {
			return err
		}
		for _, part := range []any{s.rows.values, s.rows.moment, s.rows.square, s.rows.seen} {
			if err := binary.Write(w, binary.LittleEndian, part); err != nil {
				return err
			}
		}
		return binary.Write(f, binary.LittleEndian, sum.Sum32())
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &ken.Error{Code: ken.CodeInvalid, Msg: "write checkpoint", Err: err, Try: "Name a file in a folder that is there and writable."}
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// load reads a checkpoint. It returns nil if there is none. A checkpoint of other pairs
// or options is an error, so that it is not overwritten.
func load(path, key string) (*state, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var s *state
		if s, err = parseState(data); err == nil {
			if s.Key != key {
				return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "checkpoint " + path + " is of a run with other pairs or options",
					Try: "Give those again, delete the file, or name another one."}
			}
			return s, nil
		}
	}
	return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "read checkpoint " + path, Err: err, Try: "Delete the file; the run then starts over."}
}

func parseState(data []byte) (*state, error) {
	n := len(checkpointMagic)
	if len(data) < n+8 || string(data[:n]) != checkpointMagic {
		return nil, errors.New("it is no checkpoint")
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("the checksum differs")
	}
	about := int(binary.LittleEndian.Uint32(body[n:]))
	rest := body[n+4:]
	if about > len(rest) {
		return nil, errors.New("it is cut off")
	}
	s := &state{}
	if err := json.Unmarshal(rest[:about], s); err != nil {
		return nil, err
	}
	rest = rest[about:]
	tokens := len(s.Tokens)
	if s.Dim < 1 || s.Dim > 1<<12 || s.Epochs < 0 || s.Step < 0 || len(rest) != tokens*(8*s.Dim+8) {
		return nil, errors.New("its sizes contradict each other")
	}
	s.rows = newRows(tokens, s.Dim)
	for _, part := range []any{s.rows.values, s.rows.moment, s.rows.square, s.rows.seen} {
		n, err := binary.Decode(rest, binary.LittleEndian, part)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return s, nil
}
