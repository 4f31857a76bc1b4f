package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// record is an Info as it is kept, with what only the journal needs.
type record struct {
	Info
	Said   int       `json:"said"`           // messages of users and assistants in this part
	Swept  int       `json:"swept"`          // the last part whose messages were deleted
	Upto   uint64    `json:"upto,omitempty"` // as far as a harvest got
	LastAt time.Time `json:"last_at,omitzero"`
	Blocks int       `json:"blocks,omitempty"` // kept of this part
	With   []string  `json:"with,omitempty"`   // processes beside Process that had messages for it since it was opened
}

// maxWith bounds the processes that are remembered of a session.
const maxWith = 8

// lacks reports whether the session is open without the process being among those
// that have it.
func (r *record) lacks(process string) bool {
	return r.State == Open && r.Process != process && !slices.Contains(r.With, process)
}

// joined takes down that a process wrote to the session.
func (r *record) joined(process string) {
	if r.Process == process {
		return
	}
	with := slices.DeleteFunc(append(slices.Clone(r.With), r.Process), func(p string) bool { return p == "" || p == process })
	r.With = with[max(0, len(with)-maxWith):]
	r.Process = process
}

// stamp says whether a session is as it was when somebody looked.
type stamp struct {
	started time.Time
	last    uint64
	swept   int
}

func (r *record) stamp() stamp {
	if r == nil {
		return stamp{}
	}
	return stamp{r.Started, r.Last, r.Swept}
}

// getRecord returns nil for a session that is not there.
func getRecord(r store.ShelfReader, id string) (*record, error) {
	b := r.Get(keyInfo(id))
	if b == nil {
		return nil, nil
	}
	rec := &record{}
	return rec, decodeValue(keyInfo(id), b, rec)
}

// mustRecord is getRecord for a session that has to be there.
func mustRecord(r store.ShelfReader, id string) (*record, error) {
	rec, err := getRecord(r, id)
	if err == nil && rec == nil {
		err = notFound(id)
	}
	return rec, err
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no session " + id, Try: "List them with ken sessions."}
}

func put(tx store.ShelfTx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(key, b)
}

// decodeValue reads what put wrote. It keeps nothing of b.
func decodeValue(key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "can't read " + key, Err: err, Try: "Forget that session, or restore the file."}
	}
	return nil
}

// message is an Entry as it is kept; its key has the number.
type message struct {
	Digest digest            `json:"d"`
	At     time.Time         `json:"at"`
	Role   string            `json:"role"`
	Name   string            `json:"name,omitempty"`
	Text   string            `json:"text,omitempty"`
	Parts  []ken.Part        `json:"parts,omitempty"`
	Calls  []ken.ToolCall    `json:"calls,omitempty"`
	CallID string            `json:"call_id,omitempty"`
	Cut    int               `json:"cut,omitempty"`
	Files  map[string]string `json:"files,omitempty"`
}

func messageOf(e *Entry, d digest) message {
	m := &e.Message
	return message{d, e.At, m.Role, m.Name, m.Text, m.Parts, m.ToolCalls, m.ToolCallID, e.Cut, e.Files}
}

func (m *message) entry(seq uint64) Entry {
	return Entry{Seq: seq, At: m.At, Cut: m.Cut, Files: m.Files, Message: ken.Message{
		Role: m.Role, Name: m.Name, Text: m.Text, Parts: m.Parts, ToolCalls: m.Calls, ToolCallID: m.CallID}}
}

// seqOf reads the number at the end of a message's key.
func seqOf(key string) (seq uint64) {
	for _, c := range []byte(key[max(0, len(key)-20):]) {
		seq = seq*10 + uint64(c-'0')
	}
	return seq
}
