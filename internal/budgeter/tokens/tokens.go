// Package tokens counts tokens as OpenAI's tokenizers do, without a network. It
// stands apart from budgeter so that programs that don't count don't carry the
// vocabularies, some two megabytes.
//
// The count is exact for the models that the encodings were made for and an
// estimate for all others. Chat formats add a few tokens for each message; those
// are not counted.
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

// DefaultEncoding is used for every model that the tokenizer's tables don't know.
const DefaultEncoding = tiktoken.MODEL_O200K_BASE

// encodings are loaded once in the life of the process: each load takes 50 to 120
// ms and some twenty megabytes.
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

var loading sync.Mutex // guards the loader, which is a global of the library

func load(name string) (*tiktoken.Tiktoken, error) {
	loading.Lock()
	defer loading.Unlock()
	tiktoken.SetBpeLoader(ranks{})
	return tiktoken.GetEncoding(name)
}

// Counter returns a function that counts the tokens of a text. model is the name
// of a model or of an encoding, such as gpt-4o or cl100k_base; one that is not
// known, or "", counts with DefaultEncoding. The first call for an encoding loads
// it. The function is safe for concurrent use; control tokens in a text count as
// the plain text that they are.
func Counter(model string) (func(text string) int, error) {
	name := Encoding(model)
	enc, err := encodings[name]()
	if err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", name, err)
	}
	return func(text string) int { return len(enc.EncodeOrdinary(text)) }, nil
}

// Encoding returns the name of the encoding that Counter uses for model.
func Encoding(model string) string {
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
		return DefaultEncoding
	}
	return name
}

// The vocabularies of OpenAI's tokenizers, under the licence in LICENSE.tiktoken. As OpenAI
// publishes them they take four times as much of the program: see TestVocabularies, which
// also writes these files.
//
//go:embed *.flate
var vocabularies embed.FS

// ranks reads vocabularies for the library that counts.
type ranks struct{}

// LoadTiktokenBpe returns the rank of each token of a vocabulary. Its name is the end of the address
// where the library would fetch it.
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

// unpack reads a vocabulary: the number of tokens, how far each rank is from the one before,
// how long each token is, and the tokens in a row.
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
