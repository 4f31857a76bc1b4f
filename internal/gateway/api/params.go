package api

import (
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/run/jobs"
)

// Bounds of a page.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// Parameters that several routes share.
var (
	pLimit = &param{name: "limit", form: formNumber, low: 1, high: maxLimit, def: strconv.Itoa(defaultLimit),
		about: "The most entries of a page."}
	pCursor = &param{name: "cursor", about: "Where to go on: the value of next in the page before, with the same other parameters."}
	pKind   = &param{name: "kind", form: formKind, many: true, about: "Only claims of this kind.", example: "fact"}
	pStatus = &param{name: "status", many: true, enum: texts(ken.Statuses()), about: "Only claims of this status."}
	pScope  = &param{name: "scope", form: formScope, many: true, about: "Only claims of exactly this scope, as type:id.",
		example: "repo:github.com/acme/payments"}
	pTrust = &param{name: "min_trust", enum: []string{"external", "agent", "operator"},
		about: "The least trusted speaker; default from the configuration."}
	pReason = &param{name: "reason", about: "Why. It is kept in the log, so name nothing that must be forgotten."}
)

// Parameters of one route each.
var (
	pQuestion = &param{name: "q", must: true, about: "What is asked.", example: "how are payments retried?"}
	pType     = &param{name: "type", enum: []string{typeKnowledge, typeDocument, typeAll}, def: typeKnowledge,
		about: "What to look for: knowledge, which is claims; document, which is pieces of the repository; or all."}
	pMode = &param{name: "mode", enum: []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector)},
		about: "How to search; default is the best that the embedder allows."}
	pFloor   = &param{name: "floor", form: formFlag, def: "false", about: "Find nothing unless it bears on the question surely enough for a turn."}
	pExplain = &param{name: "explain", form: formFlag, def: "false", about: "Say what the question was read as, how each result was ranked and what was left out."}

	pTag        = &param{name: "tag", many: true, about: "Only claims with all of these tags.", example: "payments"}
	pSession    = &param{name: "session", about: "Only what belongs to this session."}
	pProject    = &param{name: "project", about: "Only claims of this project."}
	pConstraint = &param{name: "constraint", form: formFlag, def: "false", about: "Only constraints."}
	pArchived   = &param{name: "archived", form: formFlag, def: "false", about: "Archived claims too."}

	pName       = &param{name: "name", about: "A name or a part of one; all of them without it.", example: "payments"}
	pEntity     = &param{name: "entity", must: true, about: "The entity, under any of its names.", example: "payments"}
	pSuperseded = &param{name: "superseded", form: formFlag, def: "false", about: "What was replaced, too."}
	pDepth      = &param{name: "depth", form: formNumber, low: 1, high: entity.MaxDepth, def: "1", about: "How many dependencies away to look."}
	pSource     = &param{name: "source", must: true, about: "What depends.", example: "payments"}
	pRelation   = &param{name: "relation", must: true, enum: structure.DependencyTypes(), about: "How it depends."}
	pTarget     = &param{name: "target", must: true, about: "What it depends on.", example: "ledger"}
	pAbout      = &param{name: "about", about: "Only tasks about this entity.", example: "ledger"}
	pTaskStatus = &param{name: "task_status", many: true, enum: texts(task.Statuses()), about: "Only tasks in this state; by default those that are not over."}

	pClaim    = &param{name: "claim", must: true, about: "The id of the claim that is asked about."}
	pAll      = &param{name: "all", form: formFlag, def: "false", about: "What was dismissed, too."}
	pDays     = &param{name: "days", form: formNumber, low: 1, high: maxDays, def: "30", about: "How many days, today included."}
	pJobState = &param{name: "state", many: true, enum: texts([]jobs.State{jobs.Queued, jobs.Running, jobs.Done, jobs.Dead}),
		about: "Only jobs in this state."}
)

// pathParams says what the parts of a path that vary are.
var pathParams = map[string]string{
	"id":      "The id.",
	"turn":    "The turn's id, as the gateway's answer names it in X-Ken-Turn.",
	"session": "The session's id, whole.",
	"item":    "The item's id: 12 hexadecimal digits.",
	"job":     "The job's id, whole.",
	"name":    "The entity's name, or another of its names.",
	"task":    "The task's id, such as T-0001.",
	"code":    "The last part of a problem's type.",
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
