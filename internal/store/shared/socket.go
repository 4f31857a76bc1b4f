package shared

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

const (
	socketName = "ken.sock"
	// maxSocket is how long a socket's path may be, less than the 104 bytes that the
	// meanest systems have for it.
	maxSocket = 100
)

// listen opens what other processes connect with: a socket in the store's folder,
// or in the runtime folder, or a loopback port. Only the holder of the folder's
// lock calls it: it removes the socket that a holder before it has left.
func listen(dir, runtime string) (l net.Listener, network, address string, err error) {
	// What is in the folder is nobody else's to look at.
	if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // where it can't be: the socket has its own mode, and a token
	}
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocket {
		if l, err = listenUnix(path); err == nil {
			return l, "unix", path, nil
		}
	}
	private, err2 := privateFolder(runtime)
	if err2 == nil {
		sum := sha256.Sum256([]byte(dir))
		path = filepath.Join(private, hex.EncodeToString(sum[:12])+".sock")
		if len(path) > maxSocket {
			err2 = fmt.Errorf("%s is too long for a socket", path)
		} else if l, err2 = listenUnix(path); err2 == nil {
			return l, "unix", path, nil
		}
	}
	l, err3 := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err3 != nil {
		return nil, "", "", fmt.Errorf("serve the store: %w", errors.Join(err, err2, err3))
	}
	return l, "tcp", l.Addr().String(), nil
}

func listenUnix(path string) (net.Listener, error) {
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case fi.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is no socket of ours", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// privateFolder makes a folder for sockets that is this user's alone, and refuses
// one that is not: in a folder that everybody writes to, somebody else may have made
// it first.
func privateFolder(base string) (string, error) {
	dir := filepath.Join(base, "ken-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 || !ours(fi) {
		return "", fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return dir, nil
}
