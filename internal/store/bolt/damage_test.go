package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// damages is how many places are damaged in a usual run; KEN_DAMAGES says another number.
const damages = 60

// ledger holds the data that was written to a store, by id and by shelf key.
type ledger struct {
	texts map[string]string
	shelf map[string]string
}

// furnished returns a folder with claims with a history, chunks of files, and a shelf. Its file is the same
// byte by byte in every run, so that a seed always damages the same places.
func furnished(t *testing.T) (string, ledger) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 1)
	dir, ctx := t.TempDir(), context.Background()
	o := quiet()
	now, made := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), 0
	o.Now = func() time.Time { return now }
	o.NewID = func() string { made++; return fmt.Sprintf("01890000-0000-7000-8000-1%011d", made) }
	s := open(t, dir, o)
	led := ledger{map[string]string{}, map[string]string{}}
	var ids []string
	for i := range 120 {
		c := claim(t, fmt.Sprintf("the port of service%d is %d", i, 8000+i))
		c.Key = fmt.Sprint("port-", i)
		id := write(t, s, c)
		ids = append(ids, id)
		led.texts[id] = c.Text
	}
	for i, id := range ids {
		var err error
		switch i % 4 {
		case 1:
			err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified})
		case 2:
			err = s.Reinforce(ctx, id, []ken.Evidence{ken.FromAgentAssertion("again", "")}, ken.Actor{})
		case 3:
			key := fmt.Sprintf("journal/%d", i)
			led.shelf[key] = strings.Repeat(fmt.Sprintf("record %d; ", i), 20)
			err = s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put(key, []byte(led.shelf[key])) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	chunk := claim(t, "func main starts the server")
	chunk.ID, chunk.Kind = "01890000-0000-7000-8000-000000000001", ken.KindDocument
	if err := s.PutDocuments(ctx, []store.Document{{Path: "main.go", Chunks: []ken.Claim{chunk}}}); err != nil {
		t.Fatal(err)
	}
	led.texts[chunk.ID] = chunk.Text
	closeStore(t, s)
	orderPages(t, filepath.Join(dir, "ken.db"))
	return dir, led
}

// orderPages copies a store's file bucket by bucket. bbolt itself places the pages of a transaction, and chooses among
// free pages, in the random order of a map.
func orderPages(t *testing.T, path string) {
	t.Helper()
	from, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := bbolt.Open(path+".ordered", 0o600, &bbolt.Options{FreelistType: bbolt.FreelistArrayType})
	if err != nil {
		t.Fatal(err)
	}
	err = from.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return to.Update(func(tx *bbolt.Tx) error {
				copied, err := tx.CreateBucket(name)
				return errors.Join(err, b.ForEach(copied.Put))
			})
		})
	})
	same := to.Update(func(*bbolt.Tx) error { return nil }) // so that the state before the last one has every bucket, too
	if err := errors.Join(err, same, from.Close(), to.Close(), os.Rename(path+".ordered", path)); err != nil {
		t.Fatal(err)
	}
}

func quiet() bolt.Options {
	return bolt.Options{Embedder: embedtest.Bag{}, Log: slog.New(slog.DiscardHandler)}
}

// damage changes a file in one place and says how.
func damage(rng *rand.Rand, b []byte) (out []byte, how string) {
	const page = 4096
	at := rng.IntN(len(b))
	from := at / page * page
	switch kind := rng.IntN(7); kind {
	case 0:
		b[at] ^= 1 << rng.IntN(8)
		return b, fmt.Sprintf("bit of byte %d flipped", at)
	case 1, 2: // a digit of what a claim says, in the log or in its row
		if i := bytes.Index(b[at:], []byte("is 80")); i >= 0 {
			at += i + 3
			b[at+2+rng.IntN(2)] ^= 1
			return b, fmt.Sprintf("digit behind byte %d changed", at)
		}
		fallthrough
	case 3:
		clear(b[at:min(at+16, len(b))])
		return b, fmt.Sprintf("16 bytes from %d zeroed", at)
	case 4:
		clear(b[from:min(from+page, len(b))])
		return b, fmt.Sprintf("page %d zeroed", from/page)
	case 5:
		for i := from; i < min(from+page, len(b)); i++ {
			b[i] = byte(rng.Uint32())
		}
		return b, fmt.Sprintf("page %d overwritten", from/page)
	default:
		other := rng.IntN(len(b)/page) * page
		tmp := bytes.Clone(b[from : from+page])
		copy(b[from:from+page], b[other:other+page])
		copy(b[other:other+page], tmp)
		return b, fmt.Sprintf("pages %d and %d swapped", from/page, other/page)
	}
}

// compare reads a store in every way. A value that is returned must be what was written; a
// value that can't be returned must be an error with a code, or be reported by Faults. It
// returns the number of claims that are returned.
func (l ledger) compare(t *testing.T, s *bolt.Store, how string) (served int) {
	return l.compareTold(t, s, how, false)
}

// compareTold is compare for a store whose losses may have been reported earlier.
func (l ledger) compareTold(t *testing.T, s *bolt.Store, how string, told bool) (served int) {
	t.Helper()
	ctx := context.Background()
	named := func(err error) bool {
		return errors.Is(err, ken.ErrCorrupt) || errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrUnavailable)
	}
	for id, text := range l.texts {
		switch c, err := s.Get(ctx, id); {
		case err == nil && c.Text != text:
			t.Errorf("%s: %s says %q and not %q", how, id, c.Text, text)
		case err == nil:
			served++
		case !named(err):
			t.Errorf("%s: %v", how, err)
		}
	}
	found, err := s.Query(ctx, ken.Query{Question: "which port has service17", Limit: 20})
	if err != nil && !named(err) {
		t.Errorf("%s: query: %v", how, err)
	}
	for _, c := range found {
		if c.Text != l.texts[c.ID] {
			t.Errorf("%s: a search finds %q as %s", how, c.Text, c.ID)
		}
	}
	missing := 0
	err = s.Shelf().View(ctx, func(r store.ShelfReader) error {
		for key, want := range l.shelf {
			switch got := r.Get(key); {
			case got == nil:
				missing++
			case string(got) != want:
				t.Errorf("%s: the shelf has %q as %s", how, got, key)
			}
		}
		return nil
	})
	if err != nil && !named(err) {
		t.Errorf("%s: shelf: %v", how, err)
	}
	if faults, _ := s.Faults(ctx); !told && err == nil && missing > 0 && len(faults) == 0 {
		// Zeroing or exchanging a page may lose keys that nothing refers to; the check of
		// the pages finds that.
		if report, err := s.Check(ctx); err != nil || len(report.Problems) == 0 {
			t.Errorf("%s: %d records of the shelf are missing, and nothing says so: %v", how, missing, err)
		}
	}
	return served
}

// The store's file is damaged in many places, one at a time. It is never served wrongly,
// never ends the process, and what the log or the rows still have is there after a repair.
func TestDamageIsFoundAndMended(t *testing.T) {
	race.SkipLong(t)
	n := damages
	if long, err := strconv.Atoi(os.Getenv("KEN_DAMAGES")); err == nil {
		n = long
	}
	rng := rand.New(rand.NewPCG(seed.Of(t), 4))
	dir, led := furnished(t)
	path := filepath.Join(dir, "ken.db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var refused, whole, lost, unmended int
	for range n {
		bad, how := damage(rng, bytes.Clone(good))
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, "ken.db.damaged")), os.WriteFile(path, bad, 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := bolt.Open(ctx, dir, quiet())
		told := err != nil
		if err == nil {
			faults, _ := s.Faults(ctx)
			told = len(faults) > 0
			if led.compare(t, s, how) < len(led.texts) {
				lost++
			}
			if err := s.Close(); err != nil && !errors.Is(err, ken.ErrCorrupt) && !errors.Is(err, ken.ErrUnavailable) {
				t.Errorf("%s: close: %v", how, err)
			}
		} else if refused++; !errors.Is(err, ken.ErrCorrupt) && !anotherOwner(err) || ken.Hint(err) == "" {
			t.Errorf("%s: open: %v (%s)", how, err, ken.Hint(err))
		}
		was := err
		_, err = os.Stat(filepath.Join(dir, "ken.db.damaged"))
		mended := err == nil // by opening it
		report, err := bolt.Repair(ctx, dir, quiet())
		if errors.Is(err, ken.ErrHeld) {
			t.Fatalf("%s: opened with %v; %v", how, was, err)
		}
		if err != nil {
			if unmended++; !errors.Is(err, ken.ErrCorrupt) && !anotherOwner(err) {
				t.Errorf("%s: repair: %v", how, err)
			}
			continue
		}
		s, err = bolt.Open(ctx, dir, quiet())
		if err != nil {
			t.Errorf("%s: open after repair (%s): %v", how, &report, err)
			continue
		}
		served := led.compareTold(t, s, how+", repaired", mended || report.Damage())
		if served == len(led.texts) {
			whole++
		} else if !told && !report.Damage() {
			t.Errorf("%s: %d of %d claims are there after a repair that found no damage", how, served, len(led.texts))
		}
		if check, err := s.Check(ctx); err != nil || len(check.Problems) > 0 {
			t.Errorf("%s: after the repair: %v, %v", how, check.Problems, err)
		}
		write(t, s, claim(t, "the store works again"))
		closeStore(t, s)
	}
	t.Logf("%d damages: %d opened with claims missing, %d refused by name; repaired: %d with every claim, %d not at all", n, lost, refused, whole, unmended)
}

// anotherOwner reports whether a store was rejected because it names another owner. A
// damaged letter of the name has the same effect.
func anotherOwner(err error) bool {
	var e *ken.Error
	return errors.As(err, &e) && e.Code == ken.CodeRefused && e.Field == "owner"
}

// A store without its owner's name in the file is damaged, not another owner's.
func TestAStoreThatNamesNoOwnerIsDamaged(t *testing.T) {
	dir, _ := furnished(t)
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("owner")) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err := bolt.Open(t.Context(), dir, quiet()); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("open: %v", err)
		if err == nil {
			closeStore(t, s)
		}
	}
	if _, err := bolt.Repair(t.Context(), dir, quiet()); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("repair: %v", err)
	}
}

// If the end of the log can't be found, the loss is reported, and claims are read from
// their rows.
func TestALogThatHasLostItsEnd(t *testing.T) {
	dir, led := furnished(t)
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		k, _ := tx.Bucket([]byte("events")).Cursor().Last()
		return tx.Bucket([]byte("events")).Delete(bytes.Clone(k))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := bolt.Repair(t.Context(), dir, quiet())
	if err != nil || !report.Damage() {
		t.Fatalf("%v, %v", &report, err)
	}
	s, err := bolt.Open(t.Context(), dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	led.compareTold(t, s, "without its last event, repaired", true)
}

// A bucket that has disappeared is reported, not replaced silently by an empty one: by a repair, and by the
// repair that opening begins.
func TestALostBucketIsReported(t *testing.T) {
	race.SkipLong(t)
	for _, bucket := range []string{"shelf", "claims", "docs", "rows", "trail"} {
		for name, repair := range map[string]bool{"opened": false, "repaired": true} {
			t.Run(bucket+" "+name, func(t *testing.T) {
				dir, led := furnished(t)
				db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
				if err != nil {
					t.Fatal(err)
				}
				err = db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(bucket)) })
				if err := errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				if repair {
					if report, err := bolt.Repair(t.Context(), dir, quiet()); err != nil || !report.Damage() || report.Kept == "" {
						t.Fatalf("%v, %v", &report, err)
					}
				}
				s := open(t, dir, quiet())
				if faults, err := s.Faults(t.Context()); err != nil || (len(faults) == 0) != repair {
					t.Errorf("it reports %v, %v", faults, err)
				}
				if served := led.compareTold(t, s, "without "+bucket, repair); served < len(led.texts)-1 { // a chunk is not in the log
					t.Errorf("%d of %d claims are there", served, len(led.texts))
				}
				if _, err := os.Stat(filepath.Join(dir, "ken.db.damaged")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// change opens the file of a closed store and changes a value of a bucket in place.
func change(t *testing.T, dir, bucket string, holds string, how func(v []byte)) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		n := 0
		err := b.ForEach(func(k, v []byte) error {
			if !bytes.Contains(v, []byte(holds)) {
				return nil
			}
			n++
			v = bytes.Clone(v)
			how(v)
			return b.Put(bytes.Clone(k), v)
		})
		if n == 0 {
			t.Errorf("nothing in %s holds %q", bucket, holds)
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A value that changed in a row, but not in the log, is not returned. It is reported, and a
// rebuild restores it.
func TestADamagedRowIsHealedFromTheLog(t *testing.T) {
	const says = "the port of service17 is 8017"
	dir, led := furnished(t)
	change(t, dir, "claims", says, func(v []byte) { v[bytes.Index(v, []byte(says))+len(says)-4] = '9' })
	ctx := context.Background()
	s := open(t, dir, quiet())
	if n := led.compare(t, s, "a digit of a row"); n != len(led.texts)-1 {
		t.Errorf("%d claims of %d are served", n, len(led.texts))
	}
	if report, err := s.Check(ctx); err != nil || report.Found == 0 {
		t.Errorf("the check finds %+v, %v", report, err)
	}
	if faults, _ := s.Faults(ctx); len(faults) != 1 || faults[0].Name != store.FaultDamaged {
		t.Errorf("faults %v", faults)
	}
	n, failed := 0, error(nil)
	for _, err := range s.Claims(ctx) {
		if failed = err; err == nil {
			n++
		}
	}
	if n != 119 || !errors.Is(failed, ken.ErrCorrupt) {
		t.Errorf("an export has %d claims and ends with %v", n, failed)
	}
	if err := s.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	if n := led.compare(t, s, "rebuilt"); n != len(led.texts) {
		t.Errorf("%d claims of %d are there after a rebuild", n, len(led.texts))
	}
	if faults, _ := s.Faults(ctx); len(faults) > 0 {
		t.Errorf("after a rebuild: %v", faults)
	}
	if report, err := s.Check(ctx); err != nil || report.Found > 0 {
		t.Errorf("after a rebuild the check finds %+v, %v", report, err)
	}
}

// An event that can't be read loses no claim: the claim is read from its row, and the log
// says that an event was lost.
func TestADamagedEventIsSalvagedFromTheRow(t *testing.T) {
	const says = "the port of service21 is 8021"
	for name, how := range map[string]func([]byte){
		"zeroed":                func(v []byte) { clear(v[len(v)/2 : len(v)/2+4]) },
		"a digit":               func(v []byte) { v[bytes.Index(v, []byte(says))+len(says)-4] = '9' },
		"the header of a claim": func(v []byte) { v[10] ^= 1 },
		"the chain":             func(v []byte) { v[80] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			dir, led := furnished(t)
			change(t, dir, "events", says, how)
			ctx := context.Background()
			s := open(t, dir, quiet())
			if err := s.Rebuild(ctx); err != nil {
				t.Fatal(err)
			}
			if n := led.compare(t, s, "rebuilt"); n != len(led.texts) {
				t.Errorf("%d claims of %d are there after a rebuild", n, len(led.texts))
			}
			if _, err := s.VerifyLog(ctx); err != nil {
				t.Errorf("the mended log: %v", err)
			}
			closeStore(t, s)
			s = open(t, dir, quiet())
			if err := s.Rebuild(ctx); err != nil {
				t.Fatal(err)
			}
			if n := led.compare(t, s, "rebuilt again"); n != len(led.texts) {
				t.Errorf("%d claims of %d are there after another rebuild", n, len(led.texts))
			}
		})
	}
}

// When the file changes under an open store, a read is right or returns an error, and the
// process survives.
func TestDamageUnderAStoreThatIsOpen(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 5))
	ctx := context.Background()
	for range damages / 6 {
		dir, led := furnished(t)
		s := open(t, dir, quiet())
		path := filepath.Join(dir, "ken.db")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad, how := damage(rng, bytes.Clone(b))
		if rng.IntN(4) == 0 {
			how, bad = "cut to a quarter", nil
			if err := os.Truncate(path, int64(len(b)/4)); err != nil {
				t.Fatal(err)
			}
		} else if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			t.Fatal(err)
		} else if _, err := f.WriteAt(bad, 0); errors.Join(err, f.Close()) != nil {
			t.Fatal(err)
		}
		led.compare(t, s, "under an open store, "+how)
		c, err := ken.NewClaim("the port of service500 is 8500", ken.FromTestResult("TestPort", "passed"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.WriteClaim(ctx, c); err != nil && !errors.Is(err, ken.ErrUnavailable) && !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("%s: write: %v", how, err)
		}
		_ = s.Close()
	}
}

// The start of the file says where everything else is. If it disappears while the store
// is open, every call returns an error, also concurrent calls and Close.
func TestTheStartOfTheFileIsGone(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"one page":    func(path string) error { return os.Truncate(path, 4096) },
		"a quarter":   func(path string) error { return os.Truncate(path, 64<<10) },
		"overwritten": func(path string) error { return overwrite(path, bytes.Repeat([]byte{0xa5}, 2*4096)) },
		"zeroed":      func(path string) error { return overwrite(path, make([]byte, 2*4096)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, led := furnished(t)
			s := open(t, dir, quiet())
			if err := damage(filepath.Join(dir, "ken.db")); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					led.compareTold(t, s, name, true)
					_ = s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("a", nil) })
				})
			}
			all.Wait()
			report, err := s.Check(t.Context())
			if err == nil && report.Found == 0 {
				t.Error("the check finds nothing")
			}
			c := claim(t, "the port of service500 is 8500")
			if _, err := s.WriteClaim(t.Context(), c); err == nil {
				t.Error("a claim is written")
			}
			if faults, _ := s.Faults(t.Context()); len(faults) == 0 {
				t.Error("no fault is told")
			}
			_ = s.Close()
		})
	}
}

func overwrite(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}
