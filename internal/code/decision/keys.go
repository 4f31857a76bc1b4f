package decision

// The meanings of keys, whether in front matter, in lines below the title or in tables.
const (
	meansID           = "id"
	meansTitle        = "title"
	meansStatus       = "status"
	meansDate         = "date"
	meansDeciders     = "deciders"
	meansConsulted    = "consulted"
	meansInformed     = "informed"
	meansTags         = "tags"
	meansGoverns      = "governs"
	meansSupersedes   = "supersedes"
	meansSupersededBy = "superseded_by"
	meansEither       = "supersedes or superseded_by" // one line for both, as some templates have it
)

// meaning says what a key means, by its folded name.
var meaning = map[string]string{
	"id": meansID, "adr": meansID, "number": meansID,
	"title":  meansTitle,
	"status": meansStatus, "state": meansStatus,
	"date": meansDate, "decided": meansDate, "decidedon": meansDate, "datedecided": meansDate, "lastupdated": "", "created": meansDate,
	"deciders": meansDeciders, "decider": meansDeciders, "decisionmakers": meansDeciders, "decisionmaker": meansDeciders, "author": meansDeciders, "authors": meansDeciders,
	"owner": meansDeciders, "owners": meansDeciders, "decidedby": meansDeciders,
	"consulted": meansConsulted, "informed": meansInformed,
	"tags": meansTags, "tag": meansTags, "labels": meansTags, "keywords": meansTags, "categories": meansTags,
	"governs": meansGoverns, "appliesto": meansGoverns, "affects": meansGoverns, "scope": "", "paths": meansGoverns,
	"supersedes": meansSupersedes, "superseding": meansSupersedes, "replaces": meansSupersedes, "supercedes": meansSupersedes,
	"supersededby": meansSupersededBy, "replacedby": meansSupersededBy, "supercededby": meansSupersededBy,
	"supersedes/supersededby": meansEither, "supersedes/superseded": meansEither,
}
