package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Memory use does not depend on the length of the output.
func TestLogIsBounded(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(f)
	text := bytes.Repeat([]byte("some words of a command\n"), 1365) // what one read of a pipe brings
	for range 1000 {
		if err := l.write(text); err != nil {
			t.Fatal(err)
		}
	}
	if cap(l.held) > 4*chunk || cap(l.tail) > 4*logTail {
		t.Errorf("%d and %d bytes are held after %d", cap(l.held), cap(l.tail), 1000*len(text))
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
}

// Lines in the tail are complete, wherever the tail begins.
func TestLogAroundItsBounds(t *testing.T) {
	for _, size := range []int{0, 1, chunk - 1, chunk, 2*chunk + 1, logHead - 1, logHead, logHead + 1, logHead + logTail, logHead + logTail + 1, logHead + 3*logTail} {
		path := filepath.Join(t.TempDir(), "log")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Repeat([]byte("123456\n"), size/7+1)[:size]
		l := newLog(f)
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 32<<10-1)
			if err := l.write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if size <= logHead+logTail {
			if !bytes.Equal(got, all) {
				t.Errorf("%d bytes became %d", size, len(got))
			}
			continue
		}
		head, tail, cut := bytes.Cut(got, []byte("\n… "))
		_, tail, _ = bytes.Cut(tail, []byte("left out here …\n"))
		if !cut || !bytes.Equal(head, all[:logHead]) || !bytes.HasSuffix(all, tail) || len(tail) > logTail || len(tail) < logTail-7 || !bytes.HasPrefix(tail, []byte("123456\n")) {
			t.Errorf("of %d bytes are %d and %d kept", size, len(head), len(tail))
		}
	}
}
