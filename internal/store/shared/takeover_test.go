package shared_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// TestAnIdleClientTakesOver checks that a client without pending calls also takes over,
// and that its OnHold is called.
func TestAnIdleClientTakesOver(t *testing.T) {
	dir := t.TempDir()
	first := shared.NewOwners(dir, 0, shared.Options{})
	s := open(t, first)
	id := write(t, s, claim(t, "the port is 8080"))
	held := make(chan string, 8)
	second := owners(t, dir, shared.Options{OnHold: func(owner string) { held <- owner }})
	other := open(t, second)
	if second.Holds("") || len(held) > 0 {
		t.Fatal("it holds the folder already")
	}
	must(t, first.Close())
	if owner := <-held; owner != ken.DefaultOwner || !second.Holds("") {
		t.Errorf("it holds %q", owner)
	}
	if !other.Has(id) || other.Len() != 1 {
		t.Error("what the first one wrote is not there")
	}
}

// TestWhoOpensFirstHearsThatItHolds checks that OnHold is also called at the first opening.
func TestWhoOpensFirstHearsThatItHolds(t *testing.T) {
	held := make(chan string, 8)
	w := owners(t, t.TempDir(), shared.Options{OnHold: func(owner string) { held <- owner }})
	_, release, err := w.Get(t.Context(), "ada")
	must(t, err)
	release()
	if owner := <-held; owner != "ada" {
		t.Errorf("it holds %q", owner)
	}
}

// TestProcessesComeAndGo starts and regularly ends processes while others write. No call
// may fail, and all writes must be there.
func TestProcessesComeAndGo(t *testing.T) {
	dir := t.TempDir()
	const rounds, writers = 12, 3
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds { // as short commands do
				all := shared.NewOwners(dir, 0, shared.Options{Wait: time.Hour}) // on a slow disk the others hold the folder for longer than the default
				s, release, err := all.Get(t.Context(), "")
				if err != nil {
					t.Error(err)
					return
				}
				text := fmt.Sprintf("writer %d was here for the time %d", w, i)
				if _, err := s.WriteClaim(t.Context(), claim(t, text)); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("n", append(tx.Get("n"), 'x')) }); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if got := texts(t, s, text); !slices.Contains(got, text) {
					t.Errorf("%s: not found, but %q", text, got)
				}
				release()
				if err := all.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := open(t, owners(t, dir, shared.Options{}))
	if v, _ := get(t, s.Shelf(), "n"); len(v) != rounds*writers || s.Len() != rounds*writers {
		t.Errorf("%d updates and %d claims of %d", len(v), s.Len(), rounds*writers)
	}
	if _, err := s.VerifyLog(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAnEngineOutlivesItsHolders checks that an engine that Get has returned stays usable
// when the role of its process changes.
func TestAnEngineOutlivesItsHolders(t *testing.T) {
	dir := t.TempDir()
	var all []*shared.Owners
	var engines []store.Engine
	for range 4 {
		w := shared.NewOwners(dir, 0, shared.Options{})
		all, engines = append(all, w), append(engines, open(t, w))
	}
	ids := []string{write(t, engines[0], claim(t, "the port is 8080"))}
	for len(all) > 1 {
		waits := make(chan error, 1)
		last := engines[len(engines)-1]
		seq := last.Seq()
		go func() { waits <- last.Wait(t.Context(), seq) }()
		for i, w := range all { // whoever holds it now
			if w.Holds("") {
				must(t, w.Close())
				all, engines = slices.Delete(all, i, i+1), slices.Delete(engines, i, i+1)
				break
			}
		}
		for i, s := range engines {
			ids = append(ids, write(t, s, claim(t, fmt.Sprintf("%d are left, and this is %d", len(all), i))))
			for _, id := range ids {
				if _, err := s.Get(t.Context(), id); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		}
		if slices.Contains(engines, last) {
			must(t, <-waits)
		} else if err := <-waits; !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("of a closed process, it waits until %v", err)
		}
	}
	must(t, all[0].Close())
}

// TestLeftoversOfADeadHolder checks that the files of a killed process do not prevent others
// from opening the store.
func TestLeftoversOfADeadHolder(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, dir string){
		"a socket that nobody listens on": func(t *testing.T, dir string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "ken.sock")})
			must(t, err)
			l.SetUnlinkOnClose(false)
			must(t, l.Close())
		},
		"a file in its place": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "ken.sock"), []byte("mine"), 0o600))
		},
		"a folder in its place": func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "ken.sock"), 0o700)) },
		"who held it": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "holder.json"), []byte(`{"pid":1,"network":"unix","address":"/nowhere","token":"x"}`), 0o600))
		},
		"half of that": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "holder.json"), []byte(`{"pid":1,"netw`), 0o600))
		},
		"an address of somebody else": func(t *testing.T, dir string) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			must(t, err)
			t.Cleanup(func() { _ = l.Close() })
			must(t, os.WriteFile(filepath.Join(dir, "holder.json"), fmt.Appendf(nil, `{"pid":1,"network":"tcp","address":%q,"token":"x"}`, l.Addr()), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := shortDir(t)
			dir := filepath.Join(root, ken.DefaultOwner)
			must(t, os.MkdirAll(dir, 0o700))
			leave(t, dir)
			o := shared.Options{RuntimeDir: shortDir(t)}
			write(t, open(t, owners(t, root, o)), claim(t, "the port is 8080"))
			w := owners(t, root, o)
			if got := texts(t, open(t, w), "port"); len(got) != 1 || w.Holds("") {
				t.Errorf("another process finds %q, and holds the folder: %v", got, w.Holds(""))
			}
		})
	}
}

// shortDir returns a folder whose path is short enough for a socket in it.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "k")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// TestASocketThatIsRemovedIsMadeAgain checks that a holder restores its socket and
// holder.json after another program has deleted them.
func TestASocketThatIsRemovedIsMadeAgain(t *testing.T) {
	root := shortDir(t)
	o := shared.Options{CheckSocket: time.Millisecond}
	first := owners(t, root, o)
	id := write(t, open(t, first), claim(t, "the port is 8080"))
	client := open(t, owners(t, root, o))
	dir := filepath.Join(root, ken.DefaultOwner)
	for i, name := range []string{"ken.sock", "holder.json", "ken.sock"} {
		must(t, os.Remove(filepath.Join(dir, name)))
		w := owners(t, root, o)
		if s := open(t, w); !s.Has(id) || w.Holds("") || !first.Holds("") {
			t.Errorf("%d, without %s: it is there %v, holds %v", i, name, s.Has(id), w.Holds(""))
		}
		write(t, client, claim(t, "written all the time, "+name)) // connections that were open stay so
	}
}

// TestAHolderThatCouldNotBeFoundIsFoundAgain checks that a holder that can't write
// holder.json, as on a full disk, tries until it succeeds.
func TestAHolderThatCouldNotBeFoundIsFoundAgain(t *testing.T) {
	root := shortDir(t)
	o := shared.Options{CheckSocket: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	first := owners(t, root, o)
	id := write(t, open(t, first), claim(t, "the port is 8080"))
	dir := filepath.Join(root, ken.DefaultOwner)
	names := filepath.Join(dir, "holder.json")
	eventually(t, "something is in the way", func() bool { // before the file is made again; a folder that is not empty is not replaced
		return os.Remove(names) == nil && os.MkdirAll(filepath.Join(names, "something"), 0o700) == nil
	})
	eventually(t, "nobody is served", func() bool {
		_, err := os.Lstat(filepath.Join(dir, "ken.sock"))
		return errors.Is(err, os.ErrNotExist)
	})
	must(t, os.RemoveAll(names))
	if s := open(t, owners(t, root, o)); !s.Has(id) || !first.Holds("") {
		t.Error("the claim is not there")
	}
}

// TestTheSocketIsTheUsersAlone checks that other users of the machine can't connect.
func TestTheSocketIsTheUsersAlone(t *testing.T) {
	root := shortDir(t)
	dir := filepath.Join(root, ken.DefaultOwner)
	must(t, os.MkdirAll(dir, 0o755)) // as somebody made it by hand
	open(t, owners(t, root, shared.Options{}))
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "ken.sock"): 0o600, filepath.Join(dir, "holder.json"): 0o600} {
		fi, err := os.Stat(name)
		if must(t, err); fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode(), want)
		}
	}
	if h := bolt.ReadHolder(dir); h.Network != "unix" || len(h.Token) < 32 {
		t.Errorf("it says %+v", h)
	}
}

// TestLongPathsHaveTheirSocketElsewhere checks a folder whose path is too long for a
// socket. The socket is in a private folder of the user. If that folder can't be
// trusted, the holder listens on a loopback port.
func TestLongPathsHaveTheirSocketElsewhere(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	for name, tt := range map[string]struct {
		runtime func(t testing.TB) string
		network string
	}{
		"private": {shortDir, "unix"},
		"open to others": {func(t testing.TB) string {
			dir := shortDir(t)
			must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint("ken-", os.Getuid())), 0o700))
			must(t, os.Chmod(filepath.Join(dir, fmt.Sprint("ken-", os.Getuid())), 0o777))
			return dir
		}, "tcp"},
		"a link": {func(t testing.TB) string {
			dir := shortDir(t)
			must(t, os.Symlink(t.TempDir(), filepath.Join(dir, fmt.Sprint("ken-", os.Getuid()))))
			return dir
		}, "tcp"},
		"too long itself": {func(testing.TB) string { return long }, "tcp"},
		"not there":       {func(t testing.TB) string { return filepath.Join(t.TempDir(), "none") }, "tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			o := shared.Options{RuntimeDir: tt.runtime(t)}
			root := filepath.Join(long, name)
			first := shared.NewOwners(root, 0, o)
			s := open(t, first)
			write(t, s, claim(t, "the port is 8080"))
			if h := bolt.ReadHolder(s.Dir()); h.Network != tt.network {
				t.Errorf("it is served at %s %s, want %s", h.Network, h.Address, tt.network)
			}
			second := owners(t, root, o)
			other := open(t, second)
			if got := texts(t, other, "port"); len(got) != 1 || second.Holds("") {
				t.Errorf("another process finds %q, holds %v", got, second.Holds(""))
			}
			must(t, first.Close())
			write(t, other, claim(t, "after the takeover the port is 9090"))
		})
	}
}

// TestAHolderThatCantBeReachedIsNamed checks the error for a holder that serves no
// clients, as one of an old version, or that does not answer: it names the holder.
func TestAHolderThatCantBeReachedIsNamed(t *testing.T) {
	root := t.TempDir()
	s, err := bolt.Open(t.Context(), filepath.Join(root, ken.DefaultOwner), bolt.Options{})
	must(t, err)
	w := owners(t, root, shared.Options{Wait: 50 * time.Millisecond})
	_, _, err = w.Get(t.Context(), "")
	if !errors.Is(err, ken.ErrHeld) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) || ken.Hint(err) == "" {
		t.Errorf("it says %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Get(over, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
	must(t, s.Close())
	write(t, open(t, w), claim(t, "the port is 8080"))
}

// TestFaultsOfTheFolder checks that the first process and all later ones return the
// actual error of a faulty folder.
func TestFaultsOfTheFolder(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, ken.DefaultOwner)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "ken.db"), bytes.Repeat([]byte("no database "), 4000), 0o600))
	w := owners(t, root, shared.Options{})
	for range 2 {
		if _, _, err := w.Get(t.Context(), ""); !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" {
			t.Errorf("a broken file: %v", err)
		}
	}
	must(t, os.RemoveAll(dir))
	s, err := bolt.Open(t.Context(), dir, bolt.Options{Owner: "ada"})
	must(t, err)
	must(t, s.Close())
	if _, _, err := w.Get(t.Context(), ""); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("another owner's folder: %v", err)
	}
	must(t, os.RemoveAll(dir))
	write(t, open(t, w), claim(t, "the port is 8080")) // and once it is repaired it works
}

// TestAFolderThatCantBeWritten checks that a folder without write permission is a
// permission error, unless another process serves it.
func TestAFolderThatCantBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("everything can be written by root")
	}
	root := shortDir(t)
	first := shared.NewOwners(root, 0, shared.Options{})
	write(t, open(t, first), claim(t, "the port is 8080"))
	file := filepath.Join(root, ken.DefaultOwner, "ken.db")
	must(t, os.Chmod(file, 0o400))
	w := owners(t, root, shared.Options{Log: slog.New(slog.DiscardHandler)})
	if got := texts(t, open(t, w), "port"); len(got) != 1 {
		t.Errorf("of the store that another process serves, it finds %q", got)
	}
	must(t, first.Close())
	w = owners(t, root, shared.Options{})
	if _, _, err := w.Get(t.Context(), ""); !errors.Is(err, os.ErrPermission) {
		t.Errorf("it says %v", err)
	}
}

// TestOwnersAreApart checks that no call on one owner's store returns data of another
// owner, whether the store is held by this process or by another one.
func TestOwnersAreApart(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	first, second := shared.NewOwners(dir, 2, shared.Options{}), shared.NewOwners(dir, 0, shared.Options{})
	defer func() { must(t, errors.Join(second.Close(), first.Close())) }()
	names := []string{"alice", "bob", "../alice", "", "a/b", "ALICE%2F", "日本"}
	ids := map[string]string{}
	for _, name := range names {
		s, release, err := first.Get(ctx, name)
		if err != nil {
			t.Fatalf("owner %q: %v", name, err)
		}
		ids[name] = write(t, s, claim(t, "the shared word and owner "+name))
		release()
	}
	for _, w := range []*shared.Owners{first, second} {
		for _, name := range names {
			s, release, err := w.Get(ctx, name)
			must(t, err)
			if got := texts(t, s, "shared word"); len(got) != 1 || got[0] != "the shared word and owner "+name {
				t.Errorf("owner %q sees %q", name, got)
			}
			for other, id := range ids {
				if _, err := s.Get(ctx, id); (err == nil) != (other == name) {
					t.Errorf("owner %q asks for the claim of %q: %v", name, other, err)
				}
			}
			release()
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != len(names) {
		t.Errorf("%d folders for %d owners", len(entries), len(names))
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "alice")); err == nil {
		t.Error("an owner's name led out of the folder")
	}
}

func TestClosedOwnersOpenNothing(t *testing.T) {
	w := shared.NewOwners(t.TempDir(), 0, shared.Options{})
	s := open(t, w)
	must(t, w.Close())
	if _, _, err := w.Get(context.Background(), "a"); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := s.WriteClaim(context.Background(), claim(t, "too late")); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("a store of before: %v", err)
	}
	if err := s.Shelf().Update(context.Background(), func(store.ShelfTx) error { return nil }); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("its shelf: %v", err)
	}
}

// TestOwnersLimit checks that stores in use stay open beyond the limit, and idle ones are
// closed.
func TestOwnersLimit(t *testing.T) {
	ctx := context.Background()
	w := shared.NewOwners(t.TempDir(), 1, shared.Options{})
	defer w.Close()
	a, releaseA, err := w.Get(ctx, "a")
	must(t, err)
	_, releaseB, err := w.Get(ctx, "b")
	must(t, err)
	write(t, a, claim(t, "still open"))
	releaseA()
	releaseB()
	_, releaseC, err := w.Get(ctx, "c")
	must(t, err)
	defer releaseC()
	if _, err := a.WriteClaim(ctx, claim(t, "too late")); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("the idle store is still open: %v", err)
	}
	again, releaseA, err := w.Get(ctx, "a")
	must(t, err)
	defer releaseA()
	if got := texts(t, again, "open"); len(got) != 1 {
		t.Errorf("opened again it has %q", got)
	}
}

// TestIdleClientsPinNoStore checks that an idle client does not keep a store open in its
// holder, and that a client that uses the store takes it over.
func TestIdleClientsPinNoStore(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	holder := shared.NewOwners(dir, 1, shared.Options{})
	defer func() { must(t, holder.Close()) }()
	idle, busy := owners(t, dir, shared.Options{}), owners(t, dir, shared.Options{})
	s, release, err := holder.Get(ctx, "a")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	_, releaseIdle, err := idle.Get(ctx, "a")
	must(t, err)
	releaseIdle()
	used, releaseBusy, err := busy.Get(ctx, "a")
	must(t, err)
	defer releaseBusy()
	release()
	_, releaseB, err := holder.Get(ctx, "b") // no room for two
	must(t, err)
	defer releaseB()
	eventually(t, "the one with a use for it takes over", func() bool { return busy.Holds("a") })
	if idle.Holds("a") {
		t.Error("the idle one holds it as well")
	}
	if got := texts(t, used, "port"); len(got) != 1 {
		t.Errorf("it has %q", got)
	}
}

// TestAnEndedContextOpensNothing checks that Get with an ended context opens no store.
func TestAnEndedContextOpensNothing(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	w := owners(t, dir, shared.Options{})
	for i := range 100 {
		if _, _, err := w.Get(over, fmt.Sprint("o", i)); !errors.Is(err, context.Canceled) {
			t.Fatalf("it returns %v", err)
		}
	}
	must(t, w.Close()) // waits for what is being opened
	if made, err := filepath.Glob(filepath.Join(dir, "o*")); err != nil || len(made) > 0 {
		t.Errorf("it has made %q, %v", made, err)
	}
}

// TestGetHonoursItsContext checks that a caller whose context ends does not cancel the
// opening for others.
func TestGetHonoursItsContext(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	w := owners(t, t.TempDir(), shared.Options{})
	if _, _, err := w.Get(over, ""); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
	write(t, open(t, w), claim(t, "the port is 8080"))
}
