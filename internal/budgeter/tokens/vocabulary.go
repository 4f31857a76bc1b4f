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
)

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
