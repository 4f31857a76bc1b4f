package ken

import "time"

// Tier is how far a claim may be believed, computed from its evidence and never
// stored or asked of a model. The zero value is Guessed.
type Tier uint8

// Tiers, weakest first, so that a larger tier is a stronger one.
const (
	Guessed  Tier = iota // nothing that still stands
	Assumed              // words alone: messages, assertions, unhashed pages
	Inferred             // one hard piece, or something outside the conversation
	Verified             // two distinct hard pieces, or a person's verification
)

var tierNames = [...]string{"Guessed", "Assumed", "Inferred", "Verified"}

// String returns the tier's name as it appears in blocks and receipts.
func (t Tier) String() string { return enumName(tierNames[:], int(t)) }

// MarshalText writes the name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name; an unknown one is an error.
func (t *Tier) UnmarshalText(b []byte) error {
	i, err := enumValue("tier", tierNames[:], string(b))
	*t = Tier(i)
	return err
}

// Support is what a claim's evidence amounts to, apart from the passing of
// time: the projection keeps it, and a turn only compares two timestamps.
type Support struct {
	Tier     Tier      // before decay
	Trust    Trust     // of the least trusted piece
	NewestAt time.Time // when the newest piece was collected
}

// At applies decay: a Verified support with no new evidence for more than
// decayDays days is Inferred. decayDays <= 0 means that nothing decays.
func (s Support) At(now time.Time, decayDays int) Tier {
	if s.Tier == Verified && decayDays > 0 && now.Sub(s.NewestAt) > time.Duration(decayDays)*24*time.Hour {
		return Inferred
	}
	return s.Tier
}

// Support weighs the claim's evidence. stands says whether a piece still holds
// (a file whose content changed does not); nil means that every piece stands.
// A piece without a time of its own is as old as the claim.
func (c *Claim) Support(stands func(Evidence) bool) Support {
	s := Support{Trust: TrustOperator, NewestAt: c.CreatedAt}
	if len(c.Evidence) == 0 {
		s.Trust = TrustExternal
	}
	type piece struct {
		kind EvidenceKind
		ref  string
	}
	hard := map[piece]struct{}{}
	var words, backed, human bool
	for _, e := range c.Evidence {
		s.Trust = min(s.Trust, max(e.Speaker(), TrustExternal))
		if stands != nil && !stands(e) {
			continue
		}
		if e.FetchedAt.After(s.NewestAt) {
			s.NewestAt = e.FetchedAt
		}
		switch {
		case e.Hard():
			hard[piece{e.Kind, e.Reference()}] = struct{}{}
		case e.Backed():
			backed = true
		default:
			words = true
		}
		human = human || e.Kind == EvidenceHumanAssertion
	}
	switch {
	case len(hard) >= 2, human && c.Status == StatusVerified:
		s.Tier = Verified
	case len(hard) == 1, backed:
		s.Tier = Inferred
	case words:
		s.Tier = Assumed
	}
	return s
}
