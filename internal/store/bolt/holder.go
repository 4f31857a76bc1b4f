package bolt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Holder says who has a folder open and where it serves the store. The lock itself
// is the bbolt file's: what stands here may be of a process that is gone.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`

	Network string `json:"network,omitempty"` // unix or tcp; empty: it serves nobody
	Address string `json:"address,omitempty"` // the socket's path, or a loopback address
	Token   string `json:"token,omitempty"`   // what a client has to show
}

const holderFile = "holder.json"

// ReadHolder reads who holds the folder of a store; the zero value when nobody
// says so.
func ReadHolder(dir string) (h Holder) {
	if b, err := os.ReadFile(filepath.Join(dir, holderFile)); err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// command is how this process is called, for people.
func command() string {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		name += " " + os.Args[1]
	}
	return name
}

// write puts the holder's file into place at once: who reads sees it whole or the
// one before. It holds a token, so nobody else may read it.
func (h *Holder) write(dir string) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, holderFile+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, holderFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// HeldError is what opening the folder of a store says while another process has
// it: an ErrHeld that names that process, if it can.
func HeldError(dir string) error {
	e := &ken.Error{Code: ken.CodeHeld, Msg: dir + " is held by another process", Try: "Wait for it to end, or use another --owner or project."}
	h := ReadHolder(dir)
	if h.PID == 0 {
		return e
	}
	e.Msg = fmt.Sprintf("%s is held by %q (process %d) since %s", dir, h.Command, h.PID, h.Since.Format(time.RFC3339))
	e.Try = fmt.Sprintf("Wait for process %d to end, or stop it.", h.PID)
	return e
}

// removeHolder forgets who held the folder, while its lock is still held.
func removeHolder(dir string) error {
	if err := os.Remove(filepath.Join(dir, holderFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
