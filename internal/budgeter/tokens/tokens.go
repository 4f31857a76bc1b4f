// Package tokens counts tokens as OpenAI's tokenizers do, without network access. It is separate
// from budgeter so that programs that don't count tokens don't include the vocabularies of about
// two megabytes.
//
// The count is exact for the models of these encodings and an estimate for all others. It does not
// include the few tokens that chat formats add for each message.
package tokens

import (
	"bufio"
	"compress/flate"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/pkoukk/tiktoken-go"
)

// defaultEncoding is used for models that the library's tables don't contain.
const defaultEncoding = tiktoken.MODEL_O200K_BASE

// encodings are loaded once per process. Loading one takes 50 to 120 ms and about twenty megabytes.
var encodings = map[string]func() (*tiktoken.Tiktoken, error){
	tiktoken.MODEL_O200K_BASE:  once(tiktoken.MODEL_O200K_BASE),
	tiktoken.MODEL_CL100K_BASE: once(tiktoken.MODEL_CL100K_BASE),
	tiktoken.MODEL_P50K_BASE:   once(tiktoken.MODEL_P50K_BASE),
	tiktoken.MODEL_P50K_EDIT:   once(tiktoken.MODEL_P50K_EDIT),
	tiktoken.MODEL_R50K_BASE:   once(tiktoken.MODEL_R50K_BASE),
}

func once(name string) func() (*tiktoken.Tiktoken, error) {
	return sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return load(name) })
}

var loading sync.Mutex // guards the library's loader, which is global

func load(name string) (*tiktoken.Tiktoken, error) {
	loading.Lock()
	defer loading.Unlock()
	tiktoken.SetBpeLoader(ranks{})
	return tiktoken.GetEncoding(name)
}

// Counter returns a function that counts the tokens of a text. model is the name of a model or of
// an encoding, such as gpt-4o or cl100k_base. For an unknown name or "", defaultEncoding is used.
// The first call for an encoding loads it. The function is safe for concurrent use. Control tokens
// in a text are counted as plain text.
func Counter(model string) (func(text string) int, error) {
	name := encodingOf(model)
	enc, err := encodings[name]()
	if err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", name, err)
	}
	return func(text string) int { return len(enc.EncodeOrdinary(text)) }, nil
}

// encodingOf returns the name of the encoding that Counter uses for model.
func encodingOf(model string) string {
	if _, ok := encodings[model]; ok {
		return model
	}
	name, longest := tiktoken.MODEL_TO_ENCODING[model], 0
	for prefix, encoding := range tiktoken.MODEL_PREFIX_TO_ENCODING {
		if len(prefix) > longest && strings.HasPrefix(model, prefix) {
			name, longest = encoding, len(prefix)
		}
	}
	if _, ok := encodings[name]; !ok {
		return defaultEncoding
	}
	return name
}

// The vocabularies of OpenAI's tokenizers, under the licence in LICENSE.tiktoken. In the form that
// OpenAI publishes they would take four times as much space in the program: see TestVocabularies,
// which also writes these files.
//
//go:embed *.flate
var vocabularies embed.FS

// ranks loads vocabularies for the library.
type ranks struct{}

// LoadTiktokenBpe returns the rank of each token of a vocabulary. The vocabulary's name is the last
// part of the address from which the library would fetch it.
func (ranks) LoadTiktokenBpe(address string) (map[string]int, error) {
	name := strings.TrimSuffix(path.Base(address), ".tiktoken")
	f, err := vocabularies.Open(name + ".flate")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	all, err := unpack(f)
	if err != nil {
		return nil, fmt.Errorf("read vocabulary %s: %w", name, err)
	}
	return all, nil
}

// unpack reads a vocabulary: the number of tokens, the difference of each rank to the previous one,
// the length of each token, and the tokens.
func unpack(packed io.Reader) (map[string]int, error) {
	r := bufio.NewReader(flate.NewReader(packed))
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	const most = 1 << 20
	if n > most {
		return nil, fmt.Errorf("%d tokens, and %d is the most", n, most)
	}
	steps := make([]uint64, n)
	for i := range steps {
		if steps[i], err = binary.ReadUvarint(r); err != nil {
			return nil, err
		}
	}
	lengths := make([]byte, n)
	if _, err := io.ReadFull(r, lengths); err != nil {
		return nil, err
	}
	all, rank, token := make(map[string]int, n), -1, make([]byte, 255)
	for i, length := range lengths {
		if _, err := io.ReadFull(r, token[:length]); err != nil {
			return nil, err
		}
		rank += int(steps[i])
		all[string(token[:length])] = rank
	}
	return all, nil
}
