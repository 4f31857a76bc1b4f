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

// Key is a gateway key that a person issued. Only its hash is stored.
type Key struct {
	config.GatewayKey
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"` // zero if it was not revoked
}

// Ended reports whether a key is no longer valid.
func (k *Key) Ended(now time.Time) bool {
	return !k.Revoked.IsZero() || !k.Expires.IsZero() && !now.Before(k.Expires)
}

// Keys are the issued keys, stored in a file that only this user can read. It is safe for
// concurrent use, and several processes may use the file.
type Keys struct {
	path string
	now  func() time.Time

	mu   sync.Mutex // guards the fields below
	seen fs.FileInfo
}

// KeysPath returns the path of the keys file in a state folder.
func KeysPath(state string) string { return filepath.Join(state, ".gateway", "keys.json") }

// OpenKeys returns the keys in a file, which need not exist. The default for now is
// time.Now.
func OpenKeys(path string, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{path: path, now: now}
}

// keyFile is the content of the file.
type keyFile struct {
	Keys []Key `json:"keys"`
}

// List returns every key by name, including revoked ones. Errors: ErrCorrupt for a file
// that can't be parsed, ErrRefused for one that others can write.
func (s *Keys) List() ([]Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load()
}

// load reads the file. The caller holds s.mu.
func (s *Keys) load() ([]Key, error) {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.seen = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	s.seen = info // Changed detects changes after this
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

// valid checks keys in the same way as those of the configuration.
func valid(keys []Key) error {
	c := config.Default()
	for i := range keys {
		c.Gateway.Keys = append(c.Gateway.Keys, keys[i].GatewayKey)
	}
	return c.Validate()
}

// Changed reports whether the file was changed since s last read it. It only stats the
// file, so it may be called often. A caller that needs this result should have its own
// Keys.
func (s *Keys) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.seen != nil
	case err != nil:
		return false // reading it would not help
	case s.seen == nil:
		return true
	}
	return !os.SameFile(info, s.seen) || !info.ModTime().Equal(s.seen.ModTime()) || info.Size() != s.seen.Size()
}

// Create creates a key and returns it: it can't be shown again. k.Hash is ignored.
// configured are the keys of the configuration, whose names are taken. The name of a
// revoked key can be used again. Errors: ErrExists for a name that is taken, ErrInvalid
// for invalid values.
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

// named reduces the field of an error about a key to its last part.
func named(err error) error {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		e.Field = strings.TrimPrefix(e.Field, "gateway.keys[0].")
	}
	return err
}

func nameTaken(name, try string) error {
	return &ken.Error{Code: ken.CodeExists, Field: "name", Msg: "there is a key called " + name, Try: try}
}

// Revoke revokes a key. It stays in the list, so that its usage can be shown with its
// name. Errors: ErrNotFound if no valid key has the name.
func (s *Keys) Revoke(ctx context.Context, name string) (revoked Key, err error) {
	err = s.change(ctx, func(keys []Key) ([]Key, error) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name && k.Revoked.IsZero() })
		if i < 0 {
			return nil, &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "no key is called " + name,
				Try: "List them with ken key list; a key under gateway.keys is taken out there."}
		}
		keys[i].Revoked = s.now().UTC().Truncate(time.Second)
		revoked = keys[i]
		return keys, nil
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
		err = durable.WriteFile(s.path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the keys: %w", err)
	}
	return nil
}
