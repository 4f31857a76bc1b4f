package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// writeBody is the form of a new claim, as it was filled in.
type writeBody struct {
	Kinds    []ken.Kind
	Statuses []ken.Status
}

func newClaimPage(v *visit) error {
	return v.page("write", page{Title: "Write a claim", Section: secStore, Tab: "Claims", Body: writeBody{
		Kinds:    []ken.Kind{ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindPlaybook, ken.KindFinding},
		Statuses: []ken.Status{ken.StatusObserved, ken.StatusVerified, ken.StatusHypothesis}}})
}

// writeClaim writes what a person says, on that person's word, and on a file or an
// address if one is named.
func writeClaim(v *visit) error {
	now := v.now().UTC()
	c, err := ken.NewClaim(strings.TrimSpace(v.text("text")), ken.FromHumanAssertion(v.who.Name, now, strings.TrimSpace(v.text("note"))))
	if err != nil {
		return err
	}
	if path := strings.TrimSpace(v.text("file")); path != "" {
		e, err := v.fileEvidence(path)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	if url := strings.TrimSpace(v.text("url")); url != "" {
		c.Evidence = append(c.Evidence, ken.FromURL(url, now, ""))
	}
	c.Kind, c.Status, c.Heading = ken.Kind(v.text("kind")), ken.Status(v.text("status")), strings.TrimSpace(v.text("heading"))
	c.Tags, c.Entities, c.Constraint = commas(v.text("tags")), commas(v.text("entities")), v.text("constraint") != ""
	c.SourceType, c.Actor, c.Project, c.Importance = "console", v.actor(), v.who.Project, 0.5
	if s := strings.TrimSpace(v.text("scope")); s != "" {
		if c.Scope, err = ken.ParseScope(s); err != nil {
			return err
		}
	}
	if s := strings.TrimSpace(v.text("days")); s != "" {
		days, err := strconv.Atoi(s)
		if err != nil || days < 1 || days > 36500 {
			return &ken.Error{Code: ken.CodeInvalid, Field: "days", Msg: "not a number of days from 1 to 36500", Try: "Leave it empty for a claim that does not expire."}
		}
		c.ExpiresAt = now.Add(time.Duration(days) * 24 * time.Hour)
	}
	if c.Kind == ken.KindDocument || c.Kind.Structural() {
		return &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "a claim of kind " + string(c.Kind) + " is not written by hand",
			Try: "Documents are files of the project; what things are and depend on is changed on their pages."}
	}
	return v.withStore(func(s store.Engine) error {
		c.Owner = s.Owner()
		id, err := s.WriteClaim(v.ctx(), c)
		if err != nil {
			return err
		}
		return v.did(pathOf("claims", id), "written")
	})
}

// commas takes a list apart.
func commas(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}
