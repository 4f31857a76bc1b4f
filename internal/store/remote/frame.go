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
	// maxFrame bounds a frame's body, so that garbage is not taken for a length. The
	// largest true ones are lists of all files of a repository.
	maxFrame = 256 << 20
	// maxHello bounds it before the other side has shown who it is.
	maxHello = 64 << 10
	// frameStep is how much of a body is made room for before more of it has come.
	frameStep = 256 << 10
)

// frame is one message.
type frame struct {
	kind byte
	body []byte
}

// startFrame returns b, emptied, with room for a frame's head.
func startFrame(b []byte) []byte { return append(b[:0], 0, 0, 0, 0, 0) }

// sendFrame writes what was appended to startFrame's result.
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

// readFrame reads one frame whose body has at most limit bytes. Memory is taken as
// the body comes, whatever the head says. io.EOF: there is none, and nothing of one.
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

// fault is an error on its way to another process: what a caller can branch on, what
// a person reads, and the causes.
type fault struct {
	Sort   uint8
	Text   string // in full, where the sort has no parts of its own
	Code   ken.Code
	Field  string
	Msg    string
	Try    string
	Causes []fault
}

// Sorts of faults. Those from faultKnown on are the errors of known, in order.
const (
	faultPlain = iota // a text
	faultWrap         // a text and causes
	faultKen
	faultKnown
)

// known are the errors that callers compare with.
var known = []error{context.Canceled, context.DeadlineExceeded, fs.ErrPermission, fs.ErrNotExist}

// maxCauses bounds how deep causes are followed.
const maxCauses = 16

// toFault returns nil for nil.
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

// err is the error that f stands for; nil for nil.
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

// remoteError is an error of another process.
type remoteError struct {
	text   string
	causes []error
}

// Error returns the text that it had there.
func (e *remoteError) Error() string { return e.text }

// Unwrap returns its causes.
func (e *remoteError) Unwrap() []error { return e.causes }

// LostError is that the connection broke before the answer came: the holder is
// gone, or has let the store go.
type LostError struct {
	// Sent says that the request may have reached the holder: a write may have been
	// done.
	Sent bool
	// Err is what broke.
	Err error
}

// Error says what was lost.
func (e *LostError) Error() string { return "lost the process that holds the store: " + e.Err.Error() }

// Unwrap makes it an ErrUnavailable.
func (e *LostError) Unwrap() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the process that holds the store is gone", Err: e.Err, Try: "Try again."}
}

// Lost reports whether an error is that the connection broke, and whether the
// request may have been served all the same.
func Lost(err error) (sent, ok bool) {
	var l *LostError
	if !errors.As(err, &l) {
		return false, false
	}
	return l.Sent, true
}

// Versions of the protocol: frames, hello, and what the messages mean. This program
// understands those from oldest to version. Fields of messages may come and go without a
// new version, see peer.go.
const (
	version = 3
	oldest  = 3
)

// Kinds of frames. A number is never used again for something else, and is not changed.
const (
	kHello   = 'h' // client: JSON of a hello
	kWelcome = 'w' // server: JSON of a welcome
	kSchema  = 's' // client of another build: JSON of an introduction
	kAnswer  = 'a' // server: an answer, then what was asked for
	kBye     = 'b' // server, to who watches: a bye
	kBeat    = 'c' // server, to who watches: it is there
	kClass   = 'k' // is not sent: it stands for the classes of a sight

	// The rest is what a client asks.
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

// names are those of the kinds in the schema, and in errors. They are not changed either.
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

// answer is the head of every answer. What was asked for follows, be there an error
// or not.
type answer struct {
	Commit uint64 // of the store when it began to answer
	Err    *fault
}

// closeNotice is the server's last word.
type closeNotice struct {
	Evicted bool // it goes on living, and has no more room for this store
}

type empty struct{}

// copyRequest names a folder of this machine.
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
	WithoutWords bool // as Supersede does it
}

// oneClaim asks about one claim, or changes it.
type oneClaim struct {
	Commit   uuid.UUID
	ID       string // or the key
	Evidence []ken.Evidence
	Reason   string
	Actor    ken.Actor
	Later    bool // of Forget: see store.EraseLater
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
	// Sight asks for the records' rows too.
	Sight bool
}

type recordsAnswer struct {
	Records []engine.Record
	Left    int // of the refs, how many were not read: the answer is long enough
	Sight   []byte
}

type searchRequest struct {
	Text   string
	Query  []float32
	Model  string // that made Query; "" is not compared
	Filter ken.Filter
	Limit  int
	Seen   uint64 // the commit as of which the sight of this search is known; 0 for none
}

type searchAnswer struct {
	Result store.Result
	Same   bool // Result.Query is what was asked with
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

// outlinesAnswer brings with the outlines what a turn will ask about the records.
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

// referringAnswer brings the rows of the records.
type referringAnswer struct {
	Refs  []store.Ref
	Sight []byte
}

type cosinesRequest struct {
	Query []float32
	Model string
	Refs  []store.Ref
}

// prefetchRequest asks for what is known of these records, and of so many refs from
// From on.
type prefetchRequest struct {
	Refs  []store.Ref
	From  store.Ref
	N     int
	Reach int // how far around each of Refs
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
	Key    string // or a prefix
	After  string // of a scan: the last key that was seen
	Began  bool   // After counts
	N      int    // most keys
}

type shelfAnswer struct {
	Known  bool // the update was done before
	Keys   []string
	Values [][]byte
	More   bool
}

// changes are of a shelf. A nil value deletes.
type changes struct {
	Keys   []string
	Values [][]byte
}

// class is what many rows share, see sight.go.
type class struct {
	Scope  ken.Scope
	Status ken.Status
	Kind   ken.Kind
	Trust  ken.Trust

	Approved bool
}
