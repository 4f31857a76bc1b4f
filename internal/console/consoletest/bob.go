package consoletest

import (
	"fmt"
	"time"

	"github.com/kenlayer/ken"
)

// bobs is what another owner knows of the same project, with a word that must not show
// for anybody else.
func (f *furnisher) bobs() []step {
	var steps []step
	for i, text := range []string{
		"The payments of %s go through the bank at night.", "The ledger of %s is kept by Bob alone.", "Calls to the bank for %s are made seven times.",
		"Refunds of %s are never possible.", "Deploys of %s go out on Sundays.", "The auditors have never heard of %s.",
	} {
		t := told{fmt.Sprint("bob ", i+1), 20*day - time.Duration(i)*time.Hour, fmt.Sprintf(text, BobWord), like(func(c *ken.Claim) {
			c.Actor, c.Source, c.Tags, c.Entities, c.Aspect = ken.Actor{Type: "user", ID: "bob"}, BobWord, []string{BobWord}, []string{BobWord, "payments"}, "behaviour"
			c.Session, c.Heading = "s-"+BobWord, BobWord
			c.Evidence = []ken.Evidence{ken.FromUserStatement("s-"+BobWord, "m1")}
			switch i {
			case 4:
				c.Kind = ken.KindHot
			case 5:
				c.Kind, c.Status = ken.KindPattern, ken.StatusHypothesis
			}
		})}
		steps = append(steps, f.learnFor(Bob, t))
	}
	return steps
}
