package store

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
)

// Engine is one owner's store with everything that a layer and its command line
// need of it: the five methods of ken.Store, the read side of a turn, the finer
// writes, the repository's content, the log and the shelf. The store on disk is
// one, and so is what stands for it in a process that does not hold the folder.
//
// Implementations are safe for concurrent use.
type Engine interface {
	ken.Store
	Projections
	Claims
	Documents
	Log

	// Owner is whose claims the store holds.
	Owner() string
	// Dir is the owner's folder.
	Dir() string
	// Len is the number of records, repository chunks included.
	Len() int
	// Refs is how many refs there are or were: every record's is below it.
	Refs() int
	// Shelf is the owner's room for what is not knowledge.
	Shelf() Shelf
	// Embedder is what the store's vectors are made with; nil when it keeps none.
	Embedder() embed.Embedder
	// EmbedMissing embeds the records that have no vector yet and returns how many it
	// did. It stops at the first batch that fails, keeping what it has.
	EmbedMissing(ctx context.Context) (int, error)
	// Compact rewrites the files without what was deleted from the shelf, or forgotten.
	// Writers wait meanwhile.
	Compact(ctx context.Context) error
	// Rebuild throws the claims and the keyword index away and folds them from the
	// log again.
	Rebuild(ctx context.Context) error
	// Check compares the file with itself and with the log, and writes nothing. The
	// error is ctx's; what is wrong is in the report.
	Check(ctx context.Context) (CheckReport, error)
	// Faults lists what is known to be wrong just now; none when all is well. It is quick.
	Faults(ctx context.Context) ([]Fault, error)
}

// Claims is what an engine does with claims beyond ken.Store.
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
	// rule. It reports whether that changed anything; see AssignCommand for what does
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

// Documents is what an engine does with the repository's content.
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

// Outcome is what became of one.
type Outcome struct {
	ID      string
	Changed bool // false: the store held it already
	Err     error
}

// LogReport is what VerifyLog found.
type LogReport struct {
	Owner  string `json:"owner"`
	Events uint64 `json:"events"` // that verified
	Erased uint64 `json:"erased"` // of these, payloads that were forgotten
	Head   string `json:"head"`   // hex hash of the last event; note it elsewhere to prove later that nothing was cut off
}
