package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/projectfile"
)

// maxState bounds plan.json: far beyond what a thousand agents leave.
const maxState = 16 << 20

// memory is plan.json.
type memory struct {
	Version int                   `json:"version"`
	Run     runInfo               `json:"run"` // the last one
	Agents  map[string]remembered `json:"agents"`
}

type runInfo struct {
	ID      string    `json:"id,omitempty"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
}

type remembered struct {
	State    State     `json:"state"`
	Declared string    `json:"declared"` // a hash of what it declares
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

const memoryVersion = 1

// read reads plan.json, if there is one.
func (k *keeper) read() error {
	k.memory = memory{Version: memoryVersion, Agents: map[string]remembered{}}
	f, err := k.folder.Read(stateName, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return k.damaged(err)
	}
	var m memory
	dec := json.NewDecoder(bytes.NewReader(f.Bytes))
	switch err := dec.Decode(&m); {
	case err != nil:
		return k.damaged(err)
	case dec.More():
		return k.damaged(errors.New("more than one value"))
	case m.Version != memoryVersion:
		return k.damaged(fmt.Errorf("version %d, and not %d", m.Version, memoryVersion))
	}
	k.was, k.Run = f.Bytes, m.Run
	if m.Agents != nil {
		k.Agents = m.Agents
	}
	return nil
}

func (k *keeper) damaged(err error) error {
	return &ken.Error{Code: ken.CodeCorrupt, Field: filepath.Join(k.dir, stateName), Msg: "can't be read, and was left alone",
		Try: "Delete the file: then it is not known who succeeded before, and all agents run.", Err: err}
}

// save writes plan.json, if it has changed. After it failed once it does nothing: one
// complaint is enough.
func (k *keeper) save() error {
	if k == nil || k.broken {
		return nil
	}
	b, err := json.MarshalIndent(k.memory, "", "  ")
	if err != nil {
		return err
	}
	if b = append(b, '\n'); bytes.Equal(b, k.was) {
		return nil
	}
	if err := k.folder.Commit(projectfile.Change{Path: stateName, Was: k.was, Now: b}); err != nil {
		k.broken = true
		return fmt.Errorf("remember who succeeded: %w", err)
	}
	k.was = b
	return nil
}

func (k *keeper) succeeded(a plan.Agent) bool {
	if k == nil {
		return false
	}
	r := k.Agents[a.Name]
	return r.State == Succeeded && r.Declared == declared(a)
}

func (k *keeper) forget(agent string) {
	if k != nil {
		delete(k.Agents, agent)
	}
}

func (k *keeper) remember(a plan.Agent, o *Outcome) {
	if k != nil {
		k.Agents[a.Name] = remembered{o.State, declared(a), o.Started.UTC(), o.Ended.UTC(), o.Reason}
	}
}

// declared is a hash of what makes an agent's work what it is: not how long it may take.
func declared(a plan.Agent) string {
	a.Timeout = 0
	b, err := json.Marshal(a)
	if err != nil {
		panic("runner: " + err.Error()) // texts alone
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
