package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/remote/remotetest"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

var update = flag.Bool("update", false, "add this build's schema to testdata/schemas")

// between serves a new store through a proxy that makes its clients and its server appear to
// each other as another build.
func between(t testing.TB, o storetest.Options, so remote.ServerOptions, po remotetest.Options) (*served, *remotetest.Proxy) {
	t.Helper()
	var p *remotetest.Proxy
	s := serveAs(t, o, so, func(behind string) string {
		path := socket(t)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
		must(t, err)
		p = remotetest.Listen(l, po)
		p.To("unix", behind)
		t.Cleanup(func() { _ = p.Close() }) // it ends with the store, or before
		return path
	})
	return s, p
}

// TestStoreOfAnotherBuild runs against a later build. Its structs have more fields, in another
// order, and the new fields are set in its server's answers.
func TestStoreOfAnotherBuild(t *testing.T) {
	race.SkipLong(t)
	po := remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9"}
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store {
		s, _ := between(t, o, remote.ServerOptions{}, po)
		return s
	})
}

func TestProjectionsOfAnotherBuild(t *testing.T) {
	race.SkipLong(t)
	po := remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9"}
	storetest.RunProjections(t, func(t *testing.T, o storetest.Options) *served {
		s, _ := between(t, o, remote.ServerOptions{}, po)
		return s
	})
}

func TestShelfOfAnotherBuild(t *testing.T) {
	race.SkipLong(t)
	po := remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9"}
	storetest.Shelf(t, func(t *testing.T) store.Shelf {
		s, _ := between(t, storetest.Options{}, remote.ServerOptions{}, po)
		return s.Shelf()
	})
}

func TestAClientOfAnotherBuildReturnsWhatTheStoreReturns(t *testing.T) {
	s, p := between(t, embedding, remote.ServerOptions{}, remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9"})
	_, ids := populate(t, s)
	compareAnswers(t, s, ids)
	if p.Met() == 0 {
		t.Error("the two builds never met")
	}
}

// TestAnEarlierBuild checks that fields that an earlier build lacks are zero, and that the
// other fields are preserved.
func TestAnEarlierBuild(t *testing.T) {
	s, _ := between(t, storetest.Options{}, remote.ServerOptions{}, remotetest.Options{Schema: remotetest.Own().Without("Session"), Version: "v0"})
	c := claim(t, "the port is 8080")
	c.Session, c.Key = "s", "k"
	id := write(t, s, c)
	got, err := s.Get(t.Context(), id)
	must(t, err)
	kept, err := s.disk.Get(t.Context(), id)
	must(t, err)
	for _, c := range []ken.Claim{got, kept} {
		if c.Session != "" || c.Key != "k" || c.Text != "the port is 8080" {
			t.Errorf("%+v", c)
		}
	}
}

// TestAValueThatTheHolderDoesNotKnowIsRefused checks that a request with a non-zero field that
// the holder does not know is refused and changes nothing.
func TestAValueThatTheHolderDoesNotKnowIsRefused(t *testing.T) {
	s, _ := between(t, storetest.Options{}, remote.ServerOptions{}, remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9", Fill: true})
	ctx := t.Context()
	known := write(t, s.disk, claim(t, "the port is 8080"))
	seq := s.disk.Seq()
	_, written := s.WriteClaim(ctx, claim(t, "the host is ada"))
	for name, err := range map[string]error{
		"write":      written,
		"transition": s.Transition(ctx, ken.Transition{ID: known, To: ken.StatusVerified}),
		"reinforce":  s.Reinforce(ctx, known, nil, ken.Actor{}),
		"forget":     second(s.Forget(ctx, known, "", ken.Actor{})),
		"documents":  s.PutDocuments(ctx, []store.Document{{Path: "a.go"}}),
		"shelf":      s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }),
		"read":       second(s.Get(ctx, known)),
	} {
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeRefused || !strings.Contains(e.Field, ".Later") || !strings.Contains(e.Msg, "version v9") || strings.Count(e.Msg, "version ") != 2 || e.Try == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, lost := remote.Lost(err); lost {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.disk.Seq() != seq || s.Broken() {
		t.Errorf("%d events, and there were %d; broken: %t", s.disk.Seq(), seq, s.Broken())
	}
	if v, there := get(t, s.disk.Shelf(), "k"); there {
		t.Errorf("the shelf has %q", v)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAFieldOfAnotherKindIsRefused checks that the handshake fails if a field has another kind
// of type, and that the error names the field.
func TestAFieldOfAnotherKindIsRefused(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket(t))
	must(t, err)
	p := remotetest.Listen(l, remotetest.Options{Schema: remotetest.Own().Retype("WithoutWords", "CreatedAt"), Version: "v9"})
	p.To("unix", s.socket)
	defer func() { must(t, p.Close()) }()
	_, err = remote.Dial(t.Context(), "unix", l.Addr().String(), remote.Options{Owner: ken.DefaultOwner})
	if !errors.Is(err, ken.ErrHeld) || !strings.Contains(err.Error(), "WithoutWords is of kind time there, and of kind bool here") || !strings.Contains(err.Error(), "v9") || ken.Hint(err) == "" {
		t.Errorf("%v", err)
	}
}

// TestEarlierSchemas checks that this build works, as a client and as a server, with every
// schema in testdata/schemas. The folder holds the schema of each build. -update adds a
// schema; existing ones must not change.
func TestEarlierSchemas(t *testing.T) {
	files, err := filepath.Glob("testdata/schemas/*.json")
	must(t, err)
	var last []byte
	kinds := map[byte]string{}
	for _, file := range files {
		last, err = os.ReadFile(file)
		must(t, err)
		for _, m := range remotetest.Read(last).Messages {
			if was := kinds[m.Kind]; was != "" && was != m.Name {
				t.Errorf("%s: kind %d is %q, and was %q", file, m.Kind, m.Name, was)
			}
			kinds[m.Kind] = m.Name
		}
	}
	var mine bytes.Buffer
	must(t, json.Indent(&mine, remotetest.Own().JSON(), "", " "))
	mine.WriteByte('\n')
	if !bytes.Equal(mine.Bytes(), last) {
		if !*update {
			t.Fatal("the messages are others than those of the last schema in testdata/schemas: see whether a field or a kind has gone, then run go test ./internal/store/remote -run EarlierSchemas -update")
		}
		must(t, os.MkdirAll("testdata/schemas", 0o750))
		file := filepath.Join("testdata", "schemas", fmt.Sprintf("%04d.json", len(files)+1))
		must(t, os.WriteFile(file, mine.Bytes(), 0o600))
		files = append(files, file)
	}
	for _, m := range remotetest.Own().Messages {
		if was := kinds[m.Kind]; was != "" && was != m.Name {
			t.Errorf("kind %d is %q, and was %q: take another number", m.Kind, m.Name, was)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			must(t, err)
			s, _ := between(t, embedding, remote.ServerOptions{}, remotetest.Options{Schema: remotetest.Read(b), Version: file})
			populate(t, s)
			id := write(t, s, claim(t, "written by way of another schema"))
			must(t, s.Transition(context.Background(), ken.Transition{ID: id, To: ken.StatusVerified}))
			put(t, s.Shelf(), "key", "value")
			c, err := s.Get(t.Context(), id)
			must(t, err)
			if v, _ := get(t, s.Shelf(), "key"); v != "value" || c.Text != "written by way of another schema" || c.Status != ken.StatusVerified {
				t.Errorf("%q, %+v", v, c)
			}
			res, err := s.Keyword(t.Context(), "schema", &ken.Filter{}, 10)
			must(t, err)
			if row, ok := s.Row(res.Hits[0].Ref); !ok || row.ID != id {
				t.Errorf("%+v", row)
			}
		})
	}
}
