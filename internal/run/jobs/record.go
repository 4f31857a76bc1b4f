package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const (
	jobPrefix   = "jobs/job/"
	statePrefix = "jobs/state/"
	clockKey    = "jobs/clock" // the latest time that a job was written at
)

// ID is the id of the job of this kind and key: 32 hexadecimal digits.
func ID(kind, key string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(kind)) + ":" + kind + key))
	return hex.EncodeToString(sum[:16])
}

// when is the time that a job is sorted by within its state.
func (j *Job) when() time.Time {
	switch j.State {
	case Queued:
		return j.Due
	case Running:
		return j.Lease
	}
	return j.Finished
}

// indexKey is where the job stands in the index. Microseconds since 1970, shifted
// so that they sort as text, span every year that JSON can say.
func (j *Job) indexKey() string {
	return fmt.Sprintf("%s%s/%016x/%s", statePrefix, j.State, uint64(j.when().UnixMicro())^1<<63, j.ID)
}

// entry is one line of the index.
type entry struct {
	key  string
	id   string
	kind string
	at   time.Time
}

// index yields the jobs of a state, earliest first, without reading them.
func index(r store.ShelfReader, s State) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		prefix := statePrefix + string(s) + "/"
		for key, kind := range r.Scan(prefix) {
			stamp, id, _ := strings.Cut(key[len(prefix):], "/")
			n, err := strconv.ParseUint(stamp, 16, 64)
			if err != nil || len(stamp) != 16 {
				continue // not a key of this package, and out of its order
			}
			if !yield(entry{key, id, string(kind), time.UnixMicro(int64(n ^ 1<<63)).UTC()}) {
				return
			}
		}
	}
}

// load reads a job; nil when there is none.
func load(r store.ShelfReader, id string) (*Job, error) {
	b := r.Get(jobPrefix + id)
	if b == nil {
		return nil, nil
	}
	return decode(id, b)
}

func decode(id string, b []byte) (*Job, error) {
	var j Job
	err := json.Unmarshal(b, &j)
	if err == nil && j.ID != id {
		err = fmt.Errorf("it says that its id is %q", j.ID)
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "job " + id + " can't be read", Err: err,
			Try: "Remove it, and do what it was for by hand."}
	}
	return &j, nil
}

// save writes a job in place of old, which is nil for a new one.
func save(tx store.ShelfTx, old, j *Job) error {
	if old != nil && old.indexKey() != j.indexKey() {
		if err := tx.Delete(old.indexKey()); err != nil {
			return err
		}
	}
	b, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	if j.Since.After(latest(tx)) {
		if err := setLatest(tx, j.Since); err != nil {
			return err
		}
	}
	if err := tx.Put(jobPrefix+j.ID, b); err != nil {
		return err
	}
	return tx.Put(j.indexKey(), []byte(j.Kind))
}

// latest is the latest time that a job was written at, by whatever queue; zero
// when none was, or the note can't be read.
func latest(r store.ShelfReader) time.Time {
	var at time.Time
	if at.UnmarshalText(r.Get(clockKey)) != nil {
		return time.Time{}
	}
	return at
}

func setLatest(tx store.ShelfTx, at time.Time) error {
	b, err := at.MarshalText()
	if err != nil {
		return fmt.Errorf("write the time: %w", err)
	}
	return tx.Put(clockKey, b)
}

// drop removes a job that was read from the shelf.
func drop(tx store.ShelfTx, j *Job) error {
	if err := tx.Delete(j.indexKey()); err != nil {
		return err
	}
	return tx.Delete(jobPrefix + j.ID)
}
