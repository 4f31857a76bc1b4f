package console

import (
	"net/http"

	"github.com/kenlayer/ken/internal/access"
)

// route is one line of the table: a page, or what a form does.
type route struct {
	method string
	path   string       // a pattern of http.ServeMux, without the method
	right  access.Right // that it needs; "" for none
	serve  func(*visit) error
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes is every route. Whoever may read sees a page; what changes something needs
// operate, and so does what tells of everybody's conversations.
func routes() []route {
	return []route{
		{get, Prefix + "{$}", access.Read, home},
		{get, Prefix + "events", access.Read, events},
		{get, Prefix + "assets/{hash}/{name}", "", asset},
		{get, LoginPath, "", loginForm},
		{post, LoginPath, "", login},
		{post, Prefix + "logout", "", logout},
		{post, Prefix + "theme", "", chooseTheme},
		{post, Prefix + "owner", access.Operate, chooseOwner},

		{get, Prefix + "claims", access.Read, claimsPage},
		{get, Prefix + "claims/{id}", access.Read, claimPage},
		{get, Prefix + "claims/{id}/text", access.Read, claimText},
		{post, Prefix + "claims/{id}/verify", access.Operate, deciding("verified", verifyClaim)},
		{post, Prefix + "claims/{id}/dispute", access.Operate, deciding("disputed", disputeClaim)},
		{post, Prefix + "claims/{id}/archive", access.Operate, deciding("archived", archiveClaim)},
		{post, Prefix + "claims/{id}/supersede", access.Operate, supersedeClaim},
		{get, Prefix + "claims/{id}/forget", access.Operate, forgetPage},
		{post, Prefix + "claims/{id}/forget", access.Operate, forget},
		{get, Prefix + "claims/new", access.Operate, newClaimPage},
		{post, Prefix + "claims", access.Operate, writeClaim},

		// Lenses: what a session learned, what an agent knows, what changed, what rests on a file.
		{get, Prefix + "sessions", access.Operate, sessionsPage},
		{get, Prefix + "sessions/{id}", access.Read, sessionPage},
		{post, Prefix + "sessions/{id}/end", access.Operate, changingSession("ended", endSession)},
		{post, Prefix + "sessions/{id}/harvest", access.Operate, changingSession("harvested", harvestSession)},
		{post, Prefix + "sessions/{id}/forget", access.Operate, changingSession("forgotten", forgetSession)},
		{get, Prefix + "agents", access.Read, agentsPage},
		{get, Prefix + "agents/{name}", access.Read, agentPage},
		{get, Prefix + "changes", access.Read, changesPage},
		{get, Prefix + "files", access.Read, filesPage},

		// What is known by what it is about, and the code.
		{get, Prefix + "entities", access.Read, entitiesPage},
		{post, Prefix + "entities", access.Operate, describeNew},
		{get, Prefix + "entities/{name}", access.Read, entityPage},
		{post, Prefix + "entities/{name}/describe", access.Operate, editing("described", describeEntity)},
		{post, Prefix + "entities/{name}/rename", access.Operate, renameEntity},
		{post, Prefix + "entities/{name}/merge", access.Operate, editing("merged", mergeEntity)},
		{post, Prefix + "entities/{name}/alias", access.Operate, editing("named", aliasEntity)},
		{post, Prefix + "entities/{name}/split", access.Operate, editing("split", splitEntity)},
		{post, Prefix + "entities/{name}/rule", access.Operate, editing("ruled", ruleEntity)},
		{post, Prefix + "entities/{name}/link", access.Operate, editing("linked", linkEntity)},
		{post, Prefix + "entities/{name}/unlink", access.Operate, editing("unlinked", unlinkEntity)},
		{get, Prefix + "tasks", access.Read, tasksPage},
		{get, Prefix + "code", access.Read, codePage},
		{get, Prefix + "code/symbol", access.Read, symbolPage},

		// What turns were given, and what they would be.
		{get, Prefix + "turns", access.Read, turnsPage},
		{get, Prefix + "turns/{id}", access.Read, turnPage},
		{get, Prefix + "turns/{id}/replay", access.Operate, replayPage},
		{get, Prefix + "turns/{id}/whatif", access.Operate, whatifPage},
		{get, Prefix + "try", access.Read, tryPage},

		// The project's decisions, objectives and layers.
		{get, Prefix + "decisions", access.Read, decisionsPage},
		{get, Prefix + "decisions/new", access.Operate, newDecisionPage},
		{get, Prefix + "decisions/{id}", access.Read, decisionPage},
		{post, Prefix + "decisions", access.Operate, writeDecision},
		{post, Prefix + "decisions/{id}/status", access.Operate, changingDecision(moveDecision)},
		{post, Prefix + "decisions/{id}/supersede", access.Operate, changingDecision(supersedeDecision)},
		{post, Prefix + "decisions/{id}/archive", access.Operate, changingDecision(archiveDecision)},
		{get, Prefix + "objectives", access.Read, objectivesPage},
		{get, Prefix + "objectives/new", access.Operate, newObjectivePage},
		{get, Prefix + "objectives/{id}", access.Read, objectivePage},
		{post, Prefix + "objectives", access.Operate, writeObjective},
		{post, Prefix + "objectives/{id}", access.Operate, changingObjective(editObjective)},
		{post, Prefix + "objectives/{id}/status", access.Operate, changingObjective(moveObjective)},
		{post, Prefix + "objectives/{id}/task", access.Operate, changingObjective(addTask)},
		{post, Prefix + "objectives/{id}/done", access.Operate, changingObjective(tickTask)},
		{post, Prefix + "objectives/{id}/link", access.Operate, changingObjective(linkObjective)},
		{get, Prefix + "drift", access.Read, driftPage},
		{get, Prefix + "drift/proposal", access.Read, driftProposal},

		// How Ken does.
		{get, Prefix + "health", access.Read, healthPage},
		{get, Prefix + "jobs", access.Operate, jobsPage},
		{post, Prefix + "jobs/retry", access.Operate, retryDead},
		{get, Prefix + "jobs/{id}", access.Operate, jobPage},
		{post, Prefix + "jobs/{id}/retry", access.Operate, retryJob},
		{get, Prefix + "sweeps", access.Read, sweepsPage},
		{get, Prefix + "keys", access.Read, keysPage},
		{post, Prefix + "keys", access.Operate, createKey},
		{post, Prefix + "keys/{name}/revoke", access.Operate, revokeKey},

		// What waits for a person.
		{get, Prefix + "review", access.Read, reviewPage},
		{post, Prefix + "review", access.Operate, review},
		{get, Prefix + "attention", access.Read, attentionPage},
		{get, Prefix + "attention/{item}", access.Read, attentionItemPage},
		{post, Prefix + "attention/{item}/{what}", access.Operate, settle},
	}
}
