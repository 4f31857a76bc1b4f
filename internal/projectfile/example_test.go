package projectfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

func ExampleFolder() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := projectfile.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	release, err := f.Lock(context.Background(), ".ken/state/.example.lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Commit(projectfile.Change{Path: "docs/a.md", Now: []byte("one")}); err != nil {
		fmt.Println(err)
	}
	err = f.Commit(projectfile.Change{Path: "docs/a.md", Was: []byte("two"), Now: []byte("three")})
	fmt.Println(err, errors.Is(err, ken.ErrUnavailable))
	if err := release(); err != nil {
		fmt.Println(err)
	}
	file, err := f.Read("docs/a.md", 100)
	fmt.Println(string(file.Bytes), err)
	// Output:
	// docs/a.md: has changed since it was read; it was left alone true
	// one <nil>
}
