package trust

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kenlayer/ken"
)

const secretName = "secret"

// secret returns this user's secret from the folder dir. With make, it creates one if there
// is none.
func secret(dir string, make bool) ([]byte, error) {
	path := filepath.Join(dir, secretName)
	s, err := readSecret(path)
	if _, known := errors.AsType[*ken.Error](err); err == nil || known || !make {
		return s, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, noFolder(err)
	}
	if err := writeNew(path, []byte(rand.Text()+rand.Text()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, noFolder(err)
	}
	return readSecret(path) // another process may have been first
}

// readSecret reads the secret. It refuses a file that others could have read or written,
// such as one that came from git or an archive.
func readSecret(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &ken.Error{Code: ken.CodeRefused, Msg: path + " can be read by other users",
			Try: "Delete it; Ken makes another, and asks about states that were made before."}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if s := strings.TrimSpace(string(b)); len(s) >= 32 {
		return []byte(s), nil
	}
	return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: path + " is damaged", Try: "Delete it; Ken makes another, and asks about states that were made before."}
}

// writeNew writes a file atomically. It fails with fs.ErrExist if the file exists.
func writeNew(path string, b []byte) error {
	tmp, err := writeTemp(path, b)
	if err != nil {
		return err
	}
	defer os.Remove(tmp) // it has another name by now, or was not needed
	err = os.Link(tmp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: at worst, a second process reads half a secret, and
	// reports that.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// writeTemp writes b to a new file beside path that only this user can read.
func writeTemp(path string, b []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// seal returns a MAC that proves that a mark was made with the secret.
func seal(secret []byte, parts ...string) string {
	m := hmac.New(sha256.New, secret)
	for _, p := range parts {
		fmt.Fprintf(m, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(m.Sum(nil))
}

func sealed(secret []byte, mac string, parts ...string) bool {
	return hmac.Equal([]byte(mac), []byte(seal(secret, parts...)))
}
