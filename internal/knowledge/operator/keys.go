package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/durable"
)

// Key is a key of the gateway that a person handed out. Only its hash is kept.
type Key struct {
	config.GatewayKey
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"` // zero for one that was not
}

// Ended reports whether a key opens nothing any more.
func (k *Key) Ended(now time.Time) bool {
	return !k.Revoked.IsZero() || !k.Expires.IsZero() && !now.Before(k.Expires)
}

// Keys are the keys that were handed out, in a file that this user alone can read. It is
// safe for concurrent use, and so is the file, by any number of processes.
type Keys struct {
	path string
	now  func() time.Time

	mu   sync.Mutex // guards what follows
	seen fs.FileInfo
}

// KeysPath returns the path of the keys file in a state folder.
func KeysPath(state string) string { return filepath.Join(state, ".gateway", "keys.json") }

// OpenKeys returns the keys in a file, which need not exist. Default for now is time.Now.
func OpenKeys(path string, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{path: path, now: now}
}

// keyFile is the file's content.
type keyFile struct {
	Keys []Key `json:"keys"`
}

// List returns every key, revoked ones too, by name. Errors: ErrCorrupt for a file that
// can't be read, ErrRefused for one that others can write.
func (s *Keys) List() ([]Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load()
}

// load reads the file. s.mu is held.
func (s *Keys) load() ([]Key, error) {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.seen = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	s.seen = info // a change after this is noticed
	const others = 0o022
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&others != 0 {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: filepath.Base(s.path), Msg: "others can write it, or it is no regular file",
			Try: "Check who wrote " + s.path + ", and run chmod 600 on it."}
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	var f keyFile
	if err = json.Unmarshal(b, &f); err == nil {
		err = valid(f.Keys)
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Field: filepath.Base(s.path), Msg: "the keys can't be read", Err: err,
			Try: "Restore " + s.path + ", or move it away and make new keys."}
	}
	return f.Keys, nil
}

// valid checks keys as those of the configuration are checked.
func valid(keys []Key) error {
	c := config.Default()
	for i := range keys {
		c.Gateway.Keys = append(c.Gateway.Keys, keys[i].GatewayKey)
	}
	return c.Validate()
}

// Changed reports whether the file is another one than s last read. It costs a look at
// the file's name, and is meant to be asked often; who wants to know it keeps a Keys
// of their own.
func (s *Keys) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.seen != nil
	case err != nil:
		return false // nothing better can be read
	case s.seen == nil:
		return true
	}
	return !os.SameFile(info, s.seen) || !info.ModTime().Equal(s.seen.ModTime()) || info.Size() != s.seen.Size()
}

// Create makes a key, and returns it: it can't be shown again. Of k, Hash is not used.
// configured are the keys of the configuration, whose names are taken. A name of a key
// that was revoked can be used again. Errors: ErrExists for a name that is taken,
// ErrInvalid for what no key can have.
func (s *Keys) Create(ctx context.Context, k config.GatewayKey, configured []config.GatewayKey) (secret string, made Key, err error) {
	if slices.ContainsFunc(configured, func(c config.GatewayKey) bool { return c.Name == k.Name }) {
		return "", made, nameTaken(k.Name, "Choose another name, or change that key under gateway.keys.")
	}
	secret = access.NewKey()
	k.Hash = access.HashKey(secret).String()
	made = Key{GatewayKey: k, Created: s.now().UTC().Truncate(time.Second)}
	err = s.change(ctx, func(keys []Key) ([]Key, error) {
		i := slices.IndexFunc(keys, func(have Key) bool { return have.Name == k.Name })
		switch {
		case i < 0:
			keys = append(keys, made)
		case keys[i].Revoked.IsZero():
			return nil, nameTaken(k.Name, "Choose another name, or revoke that key first.")
		default:
			keys[i] = made
		}
		if err := valid([]Key{made}); err != nil {
			return nil, named(err)
		}
		return keys, nil
	})
	if err != nil {
		return "", Key{}, err
	}
	return secret, made, nil
}

// named gives an error about a key the name of the field alone.
func named(err error) error {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		e.Field = strings.TrimPrefix(e.Field, "gateway.keys[0].")
	}
	return err
}

func nameTaken(name, try string) error {
	return &ken.Error{Code: ken.CodeExists, Field: "name", Msg: "there is a key called " + name, Try: try}
}

// Revoke ends a key. It stays in the list, so that usage of it has a name. Errors:
// ErrNotFound for a name that no key has, also where it was revoked before.
func (s *Keys) Revoke(ctx context.Context, name string) (revoked Key, err error) {
	err = s.change(ctx, func(keys []Key) ([]Key, error) {
		for i := range keys {
			if keys[i].Name == name && keys[i].Revoked.IsZero() {
				keys[i].Revoked = s.now().UTC().Truncate(time.Second)
				revoked = keys[i]
				return keys, nil
			}
		}
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "no key is called " + name,
			Try: "List them with ken key list; a key under gateway.keys is taken out there."}
	})
	return revoked, err
}

// change replaces the file, one process at a time.
func (s *Keys) change(ctx context.Context, fn func([]Key) ([]Key, error)) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for keys: %w", err)
	}
	const retry = 5 * time.Millisecond
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, retry); !ok {
		return errors.Join(fmt.Errorf("lock the keys: %w", err), lock.Close())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	keys, err := s.load()
	if err != nil {
		return err
	}
	if keys, err = fn(keys); err != nil {
		return err
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	b, err := json.MarshalIndent(keyFile{keys}, "", "  ")
	if err == nil {
		err = durable.WriteFile(s.path, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the keys: %w", err)
	}
	return nil
}
