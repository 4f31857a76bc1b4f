package learning

import "cmp"

// Figures summarizes reports. Every share is between 0 and 1.
type Figures struct {
	Cases     int     `json:"cases"`
	Claims    int     `json:"claims"`
	Junk      float64 `json:"junk"`   // share of the claims: junk, half or unsaid
	Keep      int     `json:"keep"`   // sentences worth keeping
	Recall    float64 `json:"recall"` // share of these that a claim states
	Rules     int     `json:"rules"`  // direct and indirect rules about a thing that a turn mentions
	Surfaced  float64 `json:"rules_surfaced"`
	Indirect  int     `json:"indirect"`
	IndirectS float64 `json:"indirect_surfaced"`
	False     int     `json:"false_rules"`      // claims that are rules, from sentences that are not
	FalseC    int     `json:"false_candidates"` // the same for candidate rules
	Plain     int     `json:"plain"`            // sentences that are not rules
	Things    int     `json:"things"`           // claims from sentences that are about something
	Right     float64 `json:"right_thing"`      // share of these whose primary entity is that thing
	Updates   int     `json:"updates"`
	Updated   float64 `json:"updated"`         // the new value is in the block, and the old one not as equally true
	Lost      int     `json:"false_updates"`   // claims that were treated as replaced but still hold
	Foreign   int     `json:"foreign_updates"` // claims that a session of another case marked as replaced
	Asked     int     `json:"asked"`
	Answered  float64 `json:"answered"` // share of the questions of the day after
	Later     int     `json:"asked_later"`
	LaterA    float64 `json:"answered_later"` // share after four more sessions
}

// Sum summarizes reports.
func Sum(reports []Report) (f Figures) {
	f.Cases = len(reports)
	count := func(n *int, sum *float64, right bool) {
		if *n++; right {
			*sum++
		}
	}
	for i := range reports {
		r := &reports[i]
		f.Keep += r.Keep
		f.Recall += float64(r.Kept)
		f.Plain += r.Plain
		f.Lost += len(r.Lost)
		f.Foreign += len(r.Foreign)
		for j := range r.Claims {
			k := &r.Claims[j]
			count(&f.Claims, &f.Junk, k.Verdict == Bad || k.Verdict == Half || k.Verdict == Unsaid)
			if k.Reads == "" && k.Rule != "" {
				f.False++
			}
			if k.Reads == "" && k.Candidate {
				f.FalseC++
			}
			if k.Verdict == Good && len(k.About) > 0 {
				count(&f.Things, &f.Right, k.rightThing())
			}
		}
		for j := range r.Answers {
			switch a := &r.Answers[j]; a.Kind {
			case "update":
				count(&f.Updates, &f.Updated, a.Right)
			case "ask":
				count(&f.Asked, &f.Answered, a.Right)
			case "later":
				count(&f.Later, &f.LaterA, a.Right)
			case "rule":
				count(&f.Rules, &f.Surfaced, a.Right)
				if a.Rule == "indirect" {
					count(&f.Indirect, &f.IndirectS, a.Right)
				}
			}
		}
	}
	for _, s := range []struct {
		sum *float64
		n   int
	}{{&f.Junk, f.Claims}, {&f.Recall, f.Keep}, {&f.Surfaced, f.Rules}, {&f.IndirectS, f.Indirect}, {&f.Right, f.Things}, {&f.Updated, f.Updates}, {&f.Answered, f.Asked}, {&f.LaterA, f.Later}} {
		*s.sum /= float64(cmp.Or(s.n, 1))
	}
	return f
}
