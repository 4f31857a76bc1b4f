package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

const (
	frameHead = 5 // length 4, kind 1
	// maxFrame bounds a frame's body in bytes, so that garbage is not read as a huge
	// length. The largest valid bodies are lists of all files of a repository.
	maxFrame = 256 << 20
	// maxHello bounds a frame's body in bytes during the handshake.
	maxHello = 64 << 10
	// frameStep is how many bytes readFrame allocates at first for a body.
	frameStep = 256 << 10
)

// frame is one message.
type frame struct {
	kind byte
	body []byte
}

// startFrame truncates b and appends room for a frame's head.
func startFrame(b []byte) []byte { return append(b[:0], 0, 0, 0, 0, 0) }

// sendFrame writes a frame. b is startFrame's result with the body appended.
func sendFrame(w io.Writer, kind byte, b []byte) error {
	if len(b)-frameHead > maxFrame {
		return errTooLarge
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-frameHead))
	b[4] = kind
	_, err := w.Write(b)
	return err
}

var errTooLarge = errors.New("the message is too large")

// readFrame reads one frame whose body has at most limit bytes. It allocates memory as the
// body arrives, whatever length the head claims. It returns io.EOF if r ends before the
// frame's first byte.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > limit {
		return frame{}, fmt.Errorf("%w: %d bytes", errTooLarge, n)
	}
	f := frame{kind: head[4]}
	for have := 0; have < n; have = len(f.body) {
		f.body = slices.Grow(f.body, min(n-have, max(frameStep, have)))
		f.body = f.body[:min(n, cap(f.body))]
		if _, err := io.ReadFull(r, f.body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return frame{}, err
		}
	}
	return f, nil
}

// fault is an error in encodable form. It keeps what errors.Is and errors.As need, the
// text, and the wrapped errors.
type fault struct {
	Sort   uint8
	Text   string // the whole text; empty for faultKen, which has Msg and Try
	Code   ken.Code
	Field  string
	Msg    string
	Try    string
	Causes []fault
}

// Sorts of faults. faultKnown+i is the error known[i].
const (
	faultPlain = iota // an error without causes
	faultWrap         // an error that wraps Causes
	faultKen
	faultKnown
)

// known are the errors that callers pass to errors.Is.
var known = []error{context.Canceled, context.DeadlineExceeded, fs.ErrPermission, fs.ErrNotExist}

// maxCauses bounds how deep toFault follows wrapped errors.
const maxCauses = 16

// toFault returns err as a fault, and nil for nil.
func toFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := faultOf(err, maxCauses)
	return &f
}

func faultOf(err error, deep int) fault {
	if deep == 0 {
		return fault{Text: err.Error()}
	}
	causes := func(errs ...error) (out []fault) {
		for _, e := range errs {
			if e != nil {
				out = append(out, faultOf(e, deep-1))
			}
		}
		return out
	}
	if e, ok := err.(*ken.Error); ok { //nolint:errorlint // each link of the chain by itself
		return fault{Sort: faultKen, Code: e.Code, Field: e.Field, Msg: e.Msg, Try: e.Try, Causes: causes(e.Err)}
	}
	switch e := err.(type) { //nolint:errorlint // each link of the chain by itself
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return fault{Sort: faultWrap, Text: err.Error(), Causes: causes(inner)}
		}
	case interface{ Unwrap() []error }:
		return fault{Sort: faultWrap, Text: err.Error(), Causes: causes(e.Unwrap()...)}
	}
	for i, k := range known {
		if errors.Is(err, k) {
			return fault{Sort: faultKnown + uint8(i), Text: err.Error()}
		}
	}
	return fault{Text: err.Error()}
}

// err returns the error that f describes, and nil for nil.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	var causes []error
	for i := range f.Causes {
		causes = append(causes, f.Causes[i].err())
	}
	switch k := int(f.Sort) - faultKnown; {
	case f.Sort == faultKen:
		e := &ken.Error{Code: f.Code, Field: f.Field, Msg: f.Msg, Try: f.Try}
		if len(causes) > 0 {
			e.Err = causes[0]
		}
		return e
	case k >= 0 && k < len(known):
		if f.Text == known[k].Error() {
			return known[k]
		}
		causes = []error{known[k]}
	}
	return &remoteError{strings.ToValidUTF8(f.Text, "\uFFFD"), causes}
}

// remoteError is an error that another process returned.
type remoteError struct {
	text   string
	causes []error
}

// Error returns the text that the error had in the other process.
func (e *remoteError) Error() string { return e.text }

// Unwrap returns the wrapped errors.
func (e *remoteError) Unwrap() []error { return e.causes }

// LostError reports that the connection broke before the answer came, because the holder
// has ended or has closed the store.
type LostError struct {
	// Sent reports whether the holder may have received the request, so that a write
	// may have been done.
	Sent bool
	// Err is the error of the connection.
	Err error
}

// Error implements error.
func (e *LostError) Error() string { return "lost the process that holds the store: " + e.Err.Error() }

// Unwrap returns an ErrUnavailable that wraps Err.
func (e *LostError) Unwrap() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the process that holds the store has ended", Err: e.Err, Try: "Try again."}
}

// Lost reports in ok whether err is or wraps a LostError, and in sent whether the request
// may still have been executed.
func Lost(err error) (sent, ok bool) {
	l, ok := errors.AsType[*LostError](err)
	return ok && l.Sent, ok
}

// Versions of the protocol, which covers frames, the handshake and the meaning of the
// messages. This program supports the versions from oldest to version. Adding or removing
// fields of messages needs no new version, see peer.go.
const (
	version = 3
	oldest  = 3
)

// Kinds of frames. The number of a kind never changes and is never reused.
const (
	kHello   = 'h' // client: a hello, as JSON
	kWelcome = 'w' // server: a welcome, as JSON
	kSchema  = 's' // client of another build: an introduction, as JSON
	kAnswer  = 'a' // server: an answer, then the result
	kBye     = 'b' // server, on a watch connection: a closeNotice
	kBeat    = 'c' // server, on a watch connection: answer to a heartbeat
	kClass   = 'k' // never sent; names the classes of a sight in the schema

	// The other kinds are requests of a client.
	kWatch           = 133
	kImport          = 134
	kQuery           = 135
	kTransition      = 136
	kSupersede       = 137
	kHistory         = 138
	kGet             = 139
	kByKey           = 140
	kReinforce       = 141
	kArchive         = 142
	kForget          = 143
	kGlances         = 144
	kRecords         = 145
	kKeyword         = 146
	kVector          = 147
	kCosines         = 148
	kPinned          = 149
	kNewest          = 150
	kSight           = 151
	kHas             = 152
	kCounts          = 153
	kDocumentHashes  = 154
	kPutDocuments    = 155
	kRemoveDocuments = 156
	kTouchDocuments  = 157
	kOrphans         = 158
	kPruneOrphans    = 159
	kEvents          = 160
	kWait            = 161
	kVerifyLog       = 162
	kEmbedMissing    = 163
	kCompact         = 164
	kRebuild         = 165
	kCopy            = 166
	kView            = 167
	kUpdate          = 168
	kShelfGet        = 169
	kShelfScan       = 170
	kShelfStage      = 171
	kShelfCommit     = 172
	kShelfEnd        = 173
	kAssign          = 174
	kKnown           = 175
	kOutlines        = 176
	kNames           = 177
	kReferring       = 178
	kCheck           = 179
	kFaults          = 180
	kProgram         = 181
	kMove            = 182
)

// names are the names of the kinds in the schema and in errors. A name never changes.
var names = map[byte]string{
	kAnswer: "answer", kBye: "bye", kClass: "class",
	kWatch: "watch", kImport: "import", kQuery: "query", kTransition: "transition", kSupersede: "supersede", kHistory: "history", kGet: "get",
	kByKey: "by key", kReinforce: "reinforce", kArchive: "archive", kForget: "forget", kGlances: "glances", kRecords: "records", kKeyword: "keyword",
	kVector: "vector", kCosines: "cosines", kPinned: "pinned", kNewest: "newest", kSight: "sight", kHas: "has", kCounts: "counts",
	kDocumentHashes: "document hashes", kPutDocuments: "put documents", kRemoveDocuments: "remove documents", kTouchDocuments: "touch documents",
	kOrphans: "orphans", kPruneOrphans: "prune orphans", kEvents: "events", kWait: "wait", kVerifyLog: "verify log", kEmbedMissing: "embed missing",
	kCompact: "compact", kRebuild: "rebuild", kCopy: "copy", kView: "view", kUpdate: "update", kShelfGet: "shelf get", kShelfScan: "shelf scan",
	kShelfStage: "shelf stage", kShelfCommit: "shelf commit", kShelfEnd: "shelf end", kAssign: "assign", kKnown: "known", kOutlines: "outlines",
	kNames: "names", kReferring: "referring", kCheck: "check", kFaults: "faults", kProgram: "program", kMove: "move",
}

// answer is the head of every answer. The result follows; on some errors it is missing.
type answer struct {
	Commit uint64 // the store's last commit when the request began
	Err    *fault
}

// closeNotice is the last message of a server on a connection.
type closeNotice struct {
	Evicted bool // the process keeps running, but has closed this store
}

type empty struct{}

// copyRequest names the destination, a folder on the holder's machine.
type copyRequest struct{ Dir string }

type importRequest struct {
	Commit uuid.UUID
	Claims []store.Incoming
}

type outcome struct {
	ID      string
	Changed bool
	Err     *fault
}

type transitionRequest struct {
	Commit     uuid.UUID
	Transition ken.Transition
}

type supersedeRequest struct {
	Commit       uuid.UUID
	Old, New     string
	Reason       string
	Actor        ken.Actor
	WithoutWords bool // without Reason and Actor: call Supersede, not SupersedeFor
}

// oneClaim is the request of several kinds that read or change one claim.
type oneClaim struct {
	Commit   uuid.UUID
	ID       string // or the key, for kByKey
	Evidence []ken.Evidence
	Reason   string
	Actor    ken.Actor
	Later    bool // for kForget: see store.EraseLater
}

type glancesRequest struct {
	Filter *ken.Filter
	From   store.Ref
	N      int
}

type glancesAnswer struct {
	Page []engine.Located
	Next store.Ref
	Done bool
}

type recordsRequest struct {
	Refs []store.Ref
	// Sight requests the records' rows, too.
	Sight bool
}

type recordsAnswer struct {
	Records []engine.Record
	Left    int // how many refs at the end were not read, because the answer was long enough
	Sight   []byte
}

type searchRequest struct {
	Text   string
	Query  []float32
	Model  string // embedding model of Query; "" skips the comparison with the holder's
	Filter ken.Filter
	Limit  int
	Seen   uint64 // the commit for which the client has this search's sight; 0 for none
}

type searchAnswer struct {
	Result store.Result
	Same   bool // Result.Query equals the request's Query, and is left out
	Sight  []byte
}

type assignRequest struct {
	Commit     uuid.UUID
	Assignment ken.Assignment
}

type outlinesRequest struct {
	Names   []string
	Filter  ken.Filter
	Options store.OutlineOptions
}

// outlinesAnswer has the outlines, and the rows of the records in them.
type outlinesAnswer struct {
	Outlines []store.Outline
	Sight    []byte
}

type namesRequest struct {
	Filter ken.Filter
	After  string
	N      int
}

type namesAnswer struct {
	Page []store.NameCount
	More bool
}

type referringRequest struct {
	Names  []string
	Filter ken.Filter
}

// referringAnswer has the records, and their rows.
type referringAnswer struct {
	Refs  []store.Ref
	Sight []byte
}

type cosinesRequest struct {
	Query []float32
	Model string
	Refs  []store.Ref
}

// prefetchRequest requests the rows and neighbours of Refs, and the rows of N records from
// From on.
type prefetchRequest struct {
	Refs  []store.Ref
	From  store.Ref
	N     int
	Reach int // how many neighbours to each side of each of Refs; 0 for none
}

type countsRequest struct {
	Model string
}

type counts struct {
	Len, Refs       int
	Seq             uint64
	Embedded, Total int
	Standby         string
}

type documentsRequest struct {
	Put    []store.Document
	Remove []string
	Touch  map[string]store.Known
}

type eventsRequest struct {
	From uint64
	N    int
}

type shelfRequest struct {
	Commit uuid.UUID
	Key    string // a key, or the prefix of a scan
	After  string // for a scan: the last key that the client has read
	Began  bool   // the scan continues behind After
	N      int    // the most keys to return
}

type shelfAnswer struct {
	Known  bool // an update with the same commit id was done before
	Keys   []string
	Values [][]byte
	More   bool
}

// changes are changes to a shelf. A nil value deletes the key.
type changes struct {
	Keys   []string
	Values [][]byte
}

// class has the fields of a row that many rows share, see prefetch.go.
type class struct {
	Scope  ken.Scope
	Status ken.Status
	Kind   ken.Kind
	Trust  ken.Trust

	Approved bool
}
