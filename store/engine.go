package store

import (
	"context"
	"iter"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/analysis"
)

// Engine is one owner's store with everything that a layer and its command line
// need: the methods of ken.Store, the reads of a turn, the finer writes, the
// repository's content, the log and the shelf. The store on disk implements it, and
// so does the client that a process uses which does not hold the folder.
//
// Implementations are safe for concurrent use.
type Engine interface {
	ken.Store
	Projections
	Claims
	Documents
	Log

	// Owner is the owner of the claims.
	Owner() string
	// Dir is the owner's folder.
	Dir() string
	// Len is the number of records, repository chunks included.
	Len() int
	// Refs is the upper bound of the refs: every record's ref is below it.
	Refs() int
	// Shelf is the owner's key-value storage for sessions, jobs and the like.
	Shelf() Shelf
	// Embedder makes the store's vectors; nil when it keeps none.
	Embedder() embed.Embedder
	// EmbedMissing embeds the records that have no vector yet and returns how many it
	// did. It stops at the first batch that fails, keeping what it has.
	EmbedMissing(ctx context.Context) (int, error)
	// Compact rewrites the files without deleted shelf entries and forgotten claims.
	// Writers wait meanwhile.
	Compact(ctx context.Context) error
	// Rebuild makes the claims and the keyword index anew from the log.
	Rebuild(ctx context.Context) error
	// Check verifies the file and compares it with the log, and writes nothing. The
	// report lists the problems; an error comes from ctx alone.
	Check(ctx context.Context) (CheckReport, error)
	// Faults lists the faults that the store knows of at this moment. It is quick.
	Faults(ctx context.Context) ([]Fault, error)
}

// Claims holds an engine's operations on claims beyond ken.Store.
type Claims interface {
	// Get reads a claim by its id; ErrNotFound when there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// ByKey reads the claim that holds a key; ErrNotFound when none does.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Scan yields the records that pass the filter and, unless it is nil, want.
	Scan(ctx context.Context, f *ken.Filter, want func(Glance) bool) iter.Seq2[ken.Claim, error]
	// Claims yields every claim of the log that still stands in the projection, by
	// age, whatever its status. Repository chunks are left out.
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	// Import writes many claims in one transaction, each succeeding or failing by
	// itself, and returns the outcomes in order.
	Import(ctx context.Context, in []Incoming) []Outcome
	// Reinforce adds evidence to a claim that was seen again.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	// Assign files a claim: what it is about, under which aspect, and whether it is a
	// rule. It reports whether that changed anything; see ken.Assignment for what does
	// not. Errors: ErrNotFound; ErrInvalid; ErrRefused for a structural kind.
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	// SupersedeFor is Supersede with a reason and an actor.
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
	// Archive puts away a claim that no longer stands.
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error
	// Forget erases a claim and what was derived from it, and returns their ids. After
	// EraseLater their words stay in the files until Compact.
	Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error)
}

// Documents holds an engine's operations on the repository's content.
type Documents interface {
	// DocumentHashes returns what is known of each document, by path.
	DocumentHashes(ctx context.Context) (map[string]Known, error)
	PutDocuments(ctx context.Context, docs []Document) error
	RemoveDocuments(ctx context.Context, paths []string) error
	// TouchDocuments notes what is known now of documents whose content is the same.
	TouchDocuments(ctx context.Context, known map[string]Known) error
	// Orphans lists what is left of documents that are gone and that no claim cites,
	// sorted by path.
	Orphans(ctx context.Context) ([]string, error)
	// PruneOrphans forgets these documents and returns how many; one that is there
	// again, or was cited meanwhile, stays.
	PruneOrphans(ctx context.Context, paths []string) (int, error)
}

// Log is the read side of an engine's log.
type Log interface {
	// Events yields the log from a sequence number on, oldest first. It ends after
	// the last event that is there when it gets to it, or after an error. Who reads an
	// event finds the claims and the structure as it left them, or as a later one did.
	Events(ctx context.Context, from uint64) iter.Seq2[*Event, error]
	// Seq is the number of the log's last event; 0 while it is empty.
	Seq() uint64
	// Wait returns when the log holds an event after seq, or ctx ends.
	Wait(ctx context.Context, seq uint64) error
	// VerifyLog computes the hash chain again, from the first event to the last.
	VerifyLog(ctx context.Context) (LogReport, error)
}

// Incoming is a claim to be written, with the life that it had elsewhere.
type Incoming struct {
	Claim ken.Claim
	Prior []ken.ClaimEvent
}

// Outcome is the result of importing one claim.
type Outcome struct {
	ID      string
	Changed bool // false: the store held it already
	Err     error
}

// LogReport is the result of VerifyLog.
type LogReport struct {
	Owner  string `json:"owner"`
	Events uint64 `json:"events"` // that verified
	Erased uint64 `json:"erased"` // of these, payloads that were forgotten
	Head   string `json:"head"`   // hex hash of the last event; note it elsewhere to prove later that nothing was cut off
}

// Ref names a record within an owner's projections: small, stable while the
// store is open, and meaningless elsewhere.
type Ref = uint32

// Row has the properties of a record that ranking and budgeting use without reading it.
type Row struct {
	ID         string
	Facts      ken.Facts
	Support    ken.Support
	CreatedAt  time.Time
	Constraint bool
	// Version changes whenever the record does, so that what was made of it can be
	// kept. It means nothing in another store.
	Version uint64
}

// Hit is a record that a search found.
type Hit struct {
	Ref   Ref
	Score float64 // BM25, or cosine in -1..1
	Share float64 // keyword: the part of the query's terms that the record has, 0..1, rare ones counting more; vector: cosine after the mean is taken off, -1..1

	// Parts are the shares of the query's terms in a keyword score, in the order of
	// Result.Values; nil from other searches. Callers must not change it.
	Parts []float32
}

// Rejected is a record that a search found and the filter refused.
type Rejected struct {
	Ref    Ref
	Reason ken.CutReason
}

// Result is the answer to a search: hits best first, in a deterministic order.
type Result struct {
	Hits []Hit
	// Values holds the part of Share that each term of a keyword query stands for,
	// 0..1: a record with all terms has at least 1. Terms names the terms. Callers
	// must not change either.
	Values []float32
	Terms  []string
	// Query is the query's vector, for Projections.Cosines; nil from other searches.
	Query []float32
	Cut   []Rejected // seen among the best and refused; not complete
}

// Projections is the read side of one owner's store: what a turn retrieves from.
// Methods are safe for concurrent use and every one that searches takes the
// filter. A Ref that is no longer there is skipped by its reader: a record may
// go between two calls.
type Projections interface {
	Structure

	// Keyword searches the index for the terms of text.
	Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (Result, error)
	// Vector compares with every vector of the model that made query. It fails
	// with ErrInvalid when the dimension differs.
	Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (Result, error)
	// Cosines compares with the vectors of these records, as Vector does for
	// Hit.Share: centred, 0 for a record without a vector.
	Cosines(query []float32, refs []Ref) []float64
	// Pinned lists what belongs into every turn, newest first: hot claims,
	// approved patterns, active objectives.
	Pinned(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Newest lists the newest records that pass the filter, by creation, newest
	// first; hits have no score. It is quick for a filter that names its kinds, fact
	// and document not among them, however large the store: elsewhere it may look at
	// every record. Result.Cut names at most limit of those that were refused on the
	// way; a limit below 1 finds nothing.
	Newest(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Referring returns the records, repository chunks left out, that pass the filter and
	// carry one of the names, however it is written, or whose evidence points at one of
	// them as it is written: see References. By ref, each once. The time it takes grows
	// with what it returns, not with the store.
	Referring(ctx context.Context, names []string, f *ken.Filter) ([]Ref, error)
	// Row returns what is known of a record at hand.
	Row(ref Ref) (Row, bool)
	// Form returns how the record's text speaks; zero when it is gone.
	Form(ref Ref) analysis.Form
	// Around returns up to n records before ref and n after it in the session or
	// the file that it comes from, nearest first. No filter applies: what is done
	// with them is the caller's affair.
	Around(ref Ref, n int) (before, after []Ref)
	// Has reports whether a record of this id is there; false once it is forgotten.
	Has(id string) bool
	// Claim reads a record; ErrNotFound when it is gone.
	Claim(ctx context.Context, ref Ref) (ken.Claim, error)
	// Coverage returns the number of records that have a vector of the current model, and
	// the number of all records.
	Coverage() (embedded, total int)
	// Standby names the model whose vectors are searched beside those of the current
	// one, because records still lack one of those; "" for none. Until then a query of
	// Vector and Cosines may be a vector of the current model followed by one of the
	// standby's, with zeros for the one that is not at hand.
	Standby() string
}

// Glance holds the fields of a claim that a scan can test without reading all of it.
type Glance struct {
	Confidence   float64
	SupersededBy string
	Archived     bool
	Candidate    bool // it is a ken.Claim's RuleCandidate
	Expires      bool // at some time, be it over
}

// Fault is something that is wrong with a store which goes on serving what it can.
type Fault struct {
	Name  FaultName `json:"name"`
	Cause string    `json:"cause"` // for the operator; it may name files
}

// FaultName is the kind of a fault.
type FaultName string

// Faults.
const (
	FaultDamaged  FaultName = "damaged"   // something that was written can't be read; writes may be refused
	FaultReadOnly FaultName = "read-only" // the folder can't be written; everything is read
	FaultIndex    FaultName = "index"     // what is written is durable, and found later
	FaultDisk     FaultName = "disk"      // the last write failed: the disk is full, or fails
)

// CheckReport is the result of Engine.Check.
type CheckReport struct {
	Owner    string    `json:"owner"`
	Events   uint64    `json:"events"`             // of the log, whose hash chain holds
	Head     string    `json:"head,omitempty"`     // the hash of the last of them
	Claims   int       `json:"claims"`             // compared with the log
	Values   int       `json:"values"`             // whose checksums were looked at
	Found    int       `json:"found"`              // problems
	Problems []Problem `json:"problems,omitempty"` // the first hundred
}

// Problem is one thing that a check found.
type Problem struct {
	Part string `json:"part"` // pages, log, index, or the bucket of a value
	What string `json:"what"`
}

// Remote is implemented by projections in another process. It lets a caller fetch many
// records in one round trip.
type Remote interface {
	// HasAll is Has for every id.
	HasAll(ids []string) bool
	// Fetch loads these records ahead, so that Claim is quick. It reports no errors.
	Fetch(ctx context.Context, refs []Ref)
}

// HasAll reports whether all records of these ids are there.
func HasAll(p Projections, ids []string) bool {
	if r, ok := p.(Remote); ok {
		return r.HasAll(ids)
	}
	for _, id := range ids {
		if !p.Has(id) {
			return false
		}
	}
	return true
}

// Fetch announces that the claims of these records are about to be read.
func Fetch(ctx context.Context, p Projections, refs []Ref) {
	if r, ok := p.(Remote); ok && len(refs) > 0 {
		r.Fetch(ctx, refs)
	}
}

// Document is one source of repository content, cut into chunks: a file, or a
// commit. It is not in the log, because the repository is its own truth.
type Document struct {
	// Path is slash-separated and relative to the root; a commit is "git:" and
	// its hash.
	Path string
	Known
	// Chunks are in the order of the source. There are none in a file that is
	// empty or that Known.Skip rules out.
	Chunks []ken.Claim
}

// Known describes a document whose chunks a store holds, so that the next run need not
// read the file. A store keeps it whole and returns it equal, times to the nanosecond.
type Known struct {
	Hash    string    `json:"hash"`           // "sha256:" and hex, of the content as it lies on disk
	Size    int64     `json:"size"`           // bytes
	ModTime time.Time `json:"mod_time"`       // of the file, or the commit's author date; UTC
	ReadAt  time.Time `json:"read_at"`        // when the content was read; UTC
	Cut     string    `json:"cut"`            // version and settings of what cut it; a change cuts it again
	Skip    string    `json:"skip,omitempty"` // why it has no chunks at all

	// Withheld lists the passages left out because they look like secrets.
	Withheld []Withheld `json:"withheld,omitempty"`
}

// Withheld is a passage, or a whole file, kept out because it looks like a
// secret.
type Withheld struct {
	Path string `json:"path,omitempty"` // empty inside Known, where the document has it
	Line int    `json:"line,omitempty"` // where the passage starts; 0 means the whole file
	What string `json:"what"`           // the sort of secret, never the secret
}
