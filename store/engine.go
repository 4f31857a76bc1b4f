package store

import (
	"context"
	"iter"
	"slices"
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
	// embedded. It stops at the first batch that fails and keeps the earlier ones.
	EmbedMissing(ctx context.Context) (int, error)
	// Compact rewrites the files without deleted shelf entries and forgotten claims.
	// Writers wait meanwhile.
	Compact(ctx context.Context) error
	// Rebuild builds the claims and the keyword index again from the log.
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
	// Claims yields every stored claim that came from the log, oldest first, whatever
	// its status. Repository chunks are left out.
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	// Import writes many claims in one transaction. Each succeeds or fails
	// independently; outcomes are in the order of in.
	Import(ctx context.Context, in []Incoming) []Outcome
	// Reinforce adds evidence to a claim that was observed again.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	// Assign files a claim: what it is about, under which aspect, and whether it is a
	// rule. It reports whether that changed anything; see ken.Assignment. Errors: ErrNotFound; ErrInvalid; ErrRefused for a structural kind.
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	// SupersedeFor is Supersede with a reason and an actor.
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
	// Archive archives a claim that is no longer active.
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
	// TouchDocuments updates what is known of documents whose content is the same.
	TouchDocuments(ctx context.Context, known map[string]Known) error
	// Orphans lists the entries of removed documents that no claim cites, sorted by path.
	Orphans(ctx context.Context) ([]string, error)
	// PruneOrphans removes these entries and returns how many. A document that exists
	// again, or was cited meanwhile, stays.
	PruneOrphans(ctx context.Context, paths []string) (int, error)
}

// Log is the read side of an engine's log.
type Log interface {
	// Events yields the log from a sequence number on, oldest first. It ends after the
	// event that is last when it is reached, or after an error. When an event is
	// yielded, claims and structure already include its change.
	Events(ctx context.Context, from uint64) iter.Seq2[*Event, error]
	// Seq returns the number of the log's last event; 0 while it is empty.
	Seq() uint64
	// Wait returns when the log holds an event after seq, or ctx ends.
	Wait(ctx context.Context, seq uint64) error
	// VerifyLog verifies the hash chain from the first event to the last.
	VerifyLog(ctx context.Context) (LogReport, error)
}

// Incoming is a claim to be written, with its history in another store.
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
	Events uint64 `json:"events"` // that were verified
	Erased uint64 `json:"erased"` // of these, with an erased payload
	Head   string `json:"head"`   // hex hash of the last event; store it elsewhere to prove later that nothing was cut off
}

// Ref identifies a record within an owner's projections: small, stable while the store
// is open, and meaningless elsewhere.
type Ref = uint32

// Row has the properties of a record that ranking and budgeting use without reading it.
type Row struct {
	ID         string
	Facts      ken.Facts
	Support    ken.Support
	CreatedAt  time.Time
	Constraint bool
	// Version changes whenever the record does, so that values derived from it can be
	// cached. It is only meaningful within one store.
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

// Rejected is a record that a search found and the filter rejected.
type Rejected struct {
	Ref    Ref
	Reason ken.CutReason
}

// Result is the answer to a search: hits best first, in a deterministic order.
type Result struct {
	Hits []Hit
	// Values holds the contribution of each term of a keyword query to Share, 0..1: a
	// record with all terms has at least 1. Terms holds the terms. Callers must not
	// change either.
	Values []float32
	Terms  []string
	// Query is the query's vector, for Projections.Cosines; nil from other searches.
	Query []float32
	Cut   []Rejected // rejected records that would have been among the best; not complete
}

// Projections is the read side of one owner's store: what a turn retrieves from.
// Methods are safe for concurrent use, and every one that searches takes a filter.
// Methods skip a Ref whose record was removed, since a record may be removed between
// two calls.
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
	// Pinned lists the claims that belong into every turn, newest first: hot claims,
	// approved patterns, active objectives.
	Pinned(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Newest lists the newest records that pass the filter, newest first; hits have no
	// score. It is fast in a store of any size if the filter names kinds other than
	// fact and document; otherwise it may look at every record. Result.Cut contains at
	// most limit of the records that were rejected. A limit below 1 finds nothing.
	Newest(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Referring returns the records, without repository chunks, that pass the filter
	// and carry one of the names in any spelling, or whose evidence references one of
	// them exactly: see References. The result is sorted by ref, without duplicates.
	// The time grows with the size of the result, not of the store.
	Referring(ctx context.Context, names []string, f *ken.Filter) ([]Ref, error)
	// Row returns the properties of a record.
	Row(ref Ref) (Row, bool)
	// Form returns the analysis.Form of a record's text; zero if the record was
	// removed.
	Form(ref Ref) analysis.Form
	// Around returns up to n records before ref and n after it in the same session or
	// file, nearest first. No filter applies; the caller has to filter.
	Around(ref Ref, n int) (before, after []Ref)
	// Has reports whether a record with this id exists; false once it is forgotten.
	Has(id string) bool
	// Claim reads a record; ErrNotFound if it was removed.
	Claim(ctx context.Context, ref Ref) (ken.Claim, error)
	// Coverage returns the number of records that have a vector of the current model, and
	// the number of all records.
	Coverage() (embedded, total int)
	// Standby returns the model whose vectors are searched besides those of the current
	// one, because some records still lack a vector of it; "" for none. Until then a
	// query of Vector and Cosines may be a vector of the current model followed by one
	// of the standby's, with zeros for a missing one.
	Standby() string
}

// Glance holds the fields of a claim that a scan can test without reading all of it.
type Glance struct {
	Confidence   float64
	SupersededBy string
	Archived     bool
	Candidate    bool // ken.Claim.RuleCandidate
	Expires      bool // it has an expiry time, past or future
}

// Fault is a defect of a store that continues to serve what it can.
type Fault struct {
	Name  FaultName `json:"name"`
	Cause string    `json:"cause"` // for the operator; it may name files
}

// FaultName is the kind of a fault.
type FaultName string

// Faults.
const (
	FaultDamaged  FaultName = "damaged"   // stored data can't be read; writes may be refused
	FaultReadOnly FaultName = "read-only" // the folder can't be written; reads work
	FaultIndex    FaultName = "index"     // new claims are durable, but keyword search doesn't find them yet
	FaultDisk     FaultName = "disk"      // the last write failed: the disk is full or defective
)

// CheckReport is the result of Engine.Check.
type CheckReport struct {
	Owner    string    `json:"owner"`
	Events   uint64    `json:"events"`             // verified events of the log
	Head     string    `json:"head,omitempty"`     // the hash of the last of them
	Claims   int       `json:"claims"`             // claims that were compared with the log
	Values   int       `json:"values"`             // values whose checksums were verified
	Found    int       `json:"found"`              // number of problems
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

// HasAll reports whether records with all of these ids exist.
func HasAll(p Projections, ids []string) bool {
	if r, ok := p.(Remote); ok {
		return r.HasAll(ids)
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !p.Has(id) })
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
	Hash    string    `json:"hash"`           // "sha256:" and hex, of the file's content
	Size    int64     `json:"size"`           // bytes
	ModTime time.Time `json:"mod_time"`       // of the file, or the commit's author date; UTC
	ReadAt  time.Time `json:"read_at"`        // when it was read; a file that was changed shortly before is read again
	Cut     string    `json:"cut"`            // version and settings of the chunker; a change cuts the document again
	Skip    string    `json:"skip,omitempty"` // why it has no chunks

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
