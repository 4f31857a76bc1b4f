package remote

import (
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// version is of the protocol: frames, hello, and what the messages mean. Their form
// is compared by itself, see forms.
const version = 2

// Kinds of frames.
const (
	kHello   = 'h' // client: JSON of a hello
	kWelcome = 'w' // server: JSON of a welcome
	kAnswer  = 'a' // server: an answer, then what was asked for
	kBye     = 'b' // server, to who watches: a bye
	kBeat    = 'c' // server, to who watches: it is there
	// The rest is what a client asks.
	kWatch byte = 128 + iota
	kImport
	kQuery
	kTransition
	kSupersede
	kHistory
	kGet
	kByKey
	kReinforce
	kArchive
	kForget
	kGlances
	kRecords
	kKeyword
	kVector
	kCosines
	kPinned
	kNewest
	kSight
	kHas
	kCounts
	kDocumentHashes
	kPutDocuments
	kRemoveDocuments
	kTouchDocuments
	kOrphans
	kPruneOrphans
	kEvents
	kWait
	kVerifyLog
	kEmbedMissing
	kCompact
	kRebuild
	kCopy
	kView
	kUpdate
	kShelfGet
	kShelfScan
	kShelfStage
	kShelfCommit
	kShelfEnd
	kAssign
	kKnown
	kOutlines
	kNames
	kReferring
	kCheck
	kFaults
)

// answer is the head of every answer. What was asked for follows, be there an error
// or not.
type answer struct {
	Commit uint64 // of the store when it began to answer
	Err    *fault
}

// bye is the server's last word.
type bye struct {
	Evicted bool // it goes on living, and has no more room for this store
}

type nothing struct{}

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
	Page []store.Located
	Next store.Ref
	Done bool
}

type recordsRequest struct {
	Refs []store.Ref
	// Sight asks for the records' rows too.
	Sight bool
}

type recordsAnswer struct {
	Records []store.Record
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

// sightRequest asks for what is known of these records, and of so many refs from
// From on.
type sightRequest struct {
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

// forms lists the types of all messages, for the fingerprint that both sides
// compare.
var forms = []any{answer{}, bye{}, copyRequest{}, importRequest{}, []outcome{}, ken.Query{}, []ken.Claim{}, transitionRequest{}, supersedeRequest{}, oneClaim{},
	[]ken.ClaimEvent{}, glancesRequest{}, glancesAnswer{}, recordsRequest{}, recordsAnswer{}, searchRequest{}, searchAnswer{}, cosinesRequest{},
	sightRequest{}, countsRequest{}, counts{}, documentsRequest{}, map[string]store.Known{}, eventsRequest{}, []*store.Event{}, store.LogReport{}, store.CheckReport{}, []store.Fault{},
	shelfRequest{}, shelfAnswer{}, changes{}, class{}, analysis.Form{}, store.Row{}, assignRequest{}, outlinesRequest{}, outlinesAnswer{},
	namesRequest{}, namesAnswer{}, referringRequest{}, referringAnswer{}}
