package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/trust"
)

// Names of files in the folder State.
const (
	stateName = "plan.json"
	lockName  = "plan.lock"
	logFolder = "plan"
)

// stateStore stores which agents succeeded. A nil stateStore stores nothing.
type stateStore struct {
	dir    string
	id     string
	folder *projectfile.Folder
	root   *os.Root
	lock   *flock.Flock
	onDisk []byte // content of plan.json on disk; nil if it does not exist
	broken bool   // writing it has failed
	stateFile
}

// openState opens the state and takes its lock for a run.
func openState(o *Options) (_ *stateStore, err error) {
	if o.State == "" {
		return nil, nil
	}
	k := &stateStore{dir: o.State, id: o.ID}
	defer func() {
		if err != nil {
			_ = k.close() // the first error is reported
		}
	}()
	if err := makeFolder(o.Root, k.dir); err != nil {
		return nil, err
	}
	if k.folder, err = projectfile.Open(k.dir); err != nil {
		return nil, err
	}
	if k.root, err = os.OpenRoot(k.dir); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(k.dir, lockName))
	if info, err := k.root.Lstat(lockName); err == nil && !info.Mode().IsRegular() {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: lock.Path(), Msg: "is no regular file", Try: "Delete it."}
	}
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the state of the plan: %w", err)
	}
	readErr := k.read()
	if !ok {
		_ = lock.Close()
		return nil, k.heldBy(readErr)
	}
	k.lock = lock
	if readErr != nil {
		return nil, readErr
	}
	if err := k.root.Mkdir(logFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of logs: %w", err)
	}
	return k, nil
}

// makeFolder creates the folder for the state, which must not be committed or shared.
func makeFolder(root, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	err := trust.Mark(root, dir)
	if err == nil || errors.Is(err, ken.ErrUnavailable) { // in this case only this process knows the folder
		err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("make the folder of the state: %w", err)
	}
	return nil
}

// heldBy returns an error that names the process that holds the lock.
func (k *stateStore) heldBy(readErr error) error {
	who := ""
	if readErr == nil && k.onDisk != nil && k.Run.Ended.IsZero() {
		who = fmt.Sprintf(": process %d on %s, since %s", k.Run.PID, k.Run.Host, k.Run.Started.UTC().Format(time.DateTime+" UTC"))
	}
	return &ken.Error{Code: ken.CodeHeld, Msg: "another ken plan run is active here" + who, Try: "Wait until it is done, or stop it."}
}

// begin records the start of a run.
func (k *stateStore) begin(now time.Time) error {
	if k == nil {
		return nil
	}
	host, _ := os.Hostname() // "" is acceptable
	k.Run = runInfo{ID: k.id, PID: os.Getpid(), Host: host, Started: now.UTC()}
	return k.save()
}

// end records the end of a run.
func (k *stateStore) end(now time.Time) error {
	if k == nil {
		return nil
	}
	k.Run.Ended = now.UTC()
	return k.save()
}

// close releases the lock and closes the folder.
func (k *stateStore) close() error {
	if k == nil {
		return nil
	}
	var errs []error
	if k.root != nil {
		errs = append(errs, k.root.Close())
	}
	if k.folder != nil {
		errs = append(errs, k.folder.Close())
	}
	if k.lock != nil {
		errs = append(errs, k.lock.Close())
	}
	return errors.Join(errs...)
}

// log returns the path of an agent's log; "" if none is stored.
func (k *stateStore) log(agent string) string {
	if k == nil {
		return ""
	}
	return filepath.Join(k.dir, logFolder, agent+".log")
}

// create creates an agent's log. It replaces a file or link with that name.
func (k *stateStore) create(agent string) (*logFile, error) {
	if k == nil {
		return nil, nil
	}
	if info, err := k.root.Lstat(logFolder); err != nil || !info.IsDir() {
		return nil, errors.Join(err, &ken.Error{Code: ken.CodeRefused, Field: filepath.Join(k.dir, logFolder), Msg: "is no folder", Try: "Delete it."})
	}
	name := logFolder + "/" + agent + ".log"
	if err := k.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := k.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return newLog(f), nil
}

// maxState is the maximum size of plan.json in bytes, far above that for a thousand agents.
const maxState = 16 << 20

// stateFile is plan.json.
type stateFile struct {
	Version int                   `json:"version"`
	Run     runInfo               `json:"run"` // the last one
	Agents  map[string]savedAgent `json:"agents"`
}

type runInfo struct {
	ID      string    `json:"id,omitempty"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
}

type savedAgent struct {
	State    State     `json:"state"`
	Declared string    `json:"declared"` // hash of the agent's declaration
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

const memoryVersion = 1

// read reads plan.json if it exists.
func (k *stateStore) read() error {
	k.stateFile = stateFile{Version: memoryVersion, Agents: map[string]savedAgent{}}
	f, err := k.folder.Read(stateName, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return k.damaged(err)
	}
	var m stateFile
	dec := json.NewDecoder(bytes.NewReader(f.Bytes))
	switch err := dec.Decode(&m); {
	case err != nil:
		return k.damaged(err)
	case dec.More():
		return k.damaged(errors.New("more than one value"))
	case m.Version != memoryVersion:
		return k.damaged(fmt.Errorf("version %d, and not %d", m.Version, memoryVersion))
	}
	k.onDisk, k.Run = f.Bytes, m.Run
	if m.Agents != nil {
		k.Agents = m.Agents
	}
	return nil
}

func (k *stateStore) damaged(err error) error {
	return &ken.Error{Code: ken.CodeCorrupt, Field: filepath.Join(k.dir, stateName), Msg: "can't be read, and was not changed",
		Try: "Delete the file; all agents then run again.", Err: err}
}

// save writes plan.json if it has changed. After a failure it does nothing, so the error is reported once.
func (k *stateStore) save() error {
	if k == nil || k.broken {
		return nil
	}
	b, err := json.MarshalIndent(k.stateFile, "", "  ")
	if err != nil {
		return err
	}
	if b = append(b, '\n'); bytes.Equal(b, k.onDisk) {
		return nil
	}
	if err := k.folder.Commit(projectfile.Change{Path: stateName, Was: k.onDisk, Now: b}); err != nil {
		k.broken = true
		return fmt.Errorf("save which agents succeeded: %w", err)
	}
	k.onDisk = b
	return nil
}

func (k *stateStore) succeeded(a plan.Agent) bool {
	if k == nil {
		return false
	}
	r := k.Agents[a.Name]
	return r.State == Succeeded && r.Declared == declared(a)
}

func (k *stateStore) forget(agent string) {
	if k != nil {
		delete(k.Agents, agent)
	}
}

func (k *stateStore) remember(a plan.Agent, o *Outcome) {
	if k != nil {
		k.Agents[a.Name] = savedAgent{o.State, declared(a), o.Started.UTC(), o.Ended.UTC(), o.Reason}
	}
}

// declared returns a hash of the parts of an agent that affect its work. The timeout does not.
func declared(a plan.Agent) string {
	a.Timeout = 0
	b, err := json.Marshal(a)
	if err != nil {
		panic("runner: " + err.Error()) // can't happen: all fields are strings
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
