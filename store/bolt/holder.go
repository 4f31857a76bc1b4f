package bolt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// holder says who has a folder open. The lock itself is the bbolt file's; this
// is only for telling people.
type holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

const holderFile = "holder.json"

func writeHolder(dir string, now time.Time) {
	cmd := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		cmd += " " + os.Args[1]
	}
	b, err := json.Marshal(holder{os.Getpid(), cmd, now.UTC().Truncate(time.Second)})
	if err == nil {
		// Best effort: without it the error below only lacks a name.
		_ = os.WriteFile(filepath.Join(dir, holderFile), b, 0o600)
	}
}

func heldError(dir string) error {
	e := &ken.Error{Code: ken.CodeHeld, Msg: dir + " is held by another process", Try: "Wait for it to end, or use another --owner or project."}
	var h holder
	b, err := os.ReadFile(filepath.Join(dir, holderFile))
	if err != nil || json.Unmarshal(b, &h) != nil || h.PID == 0 {
		return e
	}
	e.Msg = fmt.Sprintf("%s is held by %q (process %d) since %s", dir, h.Command, h.PID, h.Since.Format(time.RFC3339))
	e.Try = fmt.Sprintf("Wait for process %d to end, or stop it.", h.PID)
	return e
}
