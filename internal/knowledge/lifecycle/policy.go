package lifecycle

import "time"

// Never switches a rule of a policy off.
const Never = -1

// Policy says how many days things are kept. Never, or anything below 0, keeps them
// for good. Default has the usual windows; the zero value is no policy at all, as
// it lets most things go at once.
type Policy struct {
	MemoryReinforceWindowDays int // approved patterns that were not seen again become candidates
	ConfidenceDecayDays       int // verified claims without new evidence count as inferred; 0 leaves it to the configuration: see Decay
	ArchiveDecisionsDays      int // files of superseded decisions, from the last change of the file
	ArchiveSupersededDays     int // from the day that a claim was superseded
	ArchiveExpiredDays        int // from the day that a claim expired
	JournalGraceDays          int // messages of a session, from the day that it was harvested
	DoneJobsDays              int // jobs that are done
	EventsDays                int // files of events, from the last one in it
	SessionsDays              int // what is known of a session beside its messages
	EphemeralStateDays        int // state files that are marked ephemeral, from the last write
}

// Default returns the policy of a project that has no file.
func Default() Policy {
	var p Policy
	for _, k := range keys {
		*k.at(&p) = k.fallback
	}
	return p
}

// JournalGrace is how long the messages of a harvested session stay; for a policy
// that keeps them for good, a hundred years.
func (p Policy) JournalGrace() time.Duration { return days(p.JournalGraceDays) }

// Decay returns the policy with its own days until a verified claim counts as
// inferred, or else the configuration's, of which 0 means that nothing decays.
func (p Policy) Decay(configured int) Policy {
	if p.ConfidenceDecayDays == 0 {
		if p.ConfidenceDecayDays = configured; configured <= 0 {
			p.ConfidenceDecayDays = Never
		}
	}
	return p
}

const day = 24 * time.Hour

func days(n int) time.Duration {
	if n < 0 {
		return 100 * 365 * day
	}
	return time.Duration(n) * day
}

// before is the time that something must be older than, and false for a rule that
// is switched off.
func before(now time.Time, n int) (time.Time, bool) { return now.Add(-days(n)), n >= 0 }

// key is one setting of the file.
type key struct {
	name     string
	fallback int
	least    int // beside Never
	doc      string
	at       func(*Policy) *int
}

// most bounds every key: a hundred years.
const most = 36500

var keys = []key{
	{"memory_reinforce_window_days", 90, 1, "An approved pattern that no session has seen again for so long becomes a candidate, to be reviewed anew. " +
		"Candidates stay as they are.", func(p *Policy) *int { return &p.MemoryReinforceWindowDays }},
	{"confidence_decay_days", 0, 0, "A verified claim without new evidence for so long counts as inferred. Nothing is written: a tier is computed when " +
		"it is needed. 0: as knowledge.decay_days in config.yaml says, which is 90 by default.",
		func(p *Policy) *int { return &p.ConfidenceDecayDays }},
	{"archive_decisions_after_days", 30, 0, "The file of a decision that was superseded, and did not change for so long, moves to the folder archive " +
		"beside it. It is found there as before, and is not told unasked.", func(p *Policy) *int { return &p.ArchiveDecisionsDays }},
	{"archive_superseded_after_days", 30, 0, "A claim that was superseded so long ago is archived. Archived claims stay in the store, " +
		"and ken recall --archived finds them.", func(p *Policy) *int { return &p.ArchiveSupersededDays }},
	{"archive_expired_after_days", 0, 0, "A claim that expired so long ago is archived.", func(p *Policy) *int { return &p.ArchiveExpiredDays }},
	{"journal_grace_days", 7, 0, "The messages of a session are deleted so long after it was harvested.", func(p *Policy) *int { return &p.JournalGraceDays }},
	{"done_jobs_days", 30, 0, "Jobs that are done are forgotten after so long. Dead ones stay until somebody decides.", func(p *Policy) *int { return &p.DoneJobsDays }},
	{"events_days", 90, 0, "Files of events to which nothing was added for so long are deleted.", func(p *Policy) *int { return &p.EventsDays }},
	{"sessions_days", 365, 0, "What ken sessions shows of a harvested session is forgotten after so long, counted from its end.",
		func(p *Policy) *int { return &p.SessionsDays }},
	{"ephemeral_state_days", 0, 0, "State files that .ken/.kenignore names are deleted when nothing was written to them for so long.",
		func(p *Policy) *int { return &p.EphemeralStateDays }},
}
