package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

type archiver interface {
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error
}

// testArchive: what is put away stays where those find it who ask for it.
func testArchive(k *kit) {
	if _, ok := k.s.(archiver); !ok {
		k.Skip("the store archives nothing")
	}
	ada := ken.Actor{Type: "user", ID: "ada"}
	archive := func(k *kit, id, reason string) error { return k.s.(archiver).Archive(k.ctx, id, reason, ada) }

	k.sub("superseded", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		if err := archive(k, old, "tidying up, says Basic ghp_"+"q7RzT1mXv8KpLw3NcYh6BdJg5FsAe2Ui9Ok4"); err != nil {
			k.Fatal(err)
		}
		c := k.get(old)
		if c.ArchivedAt.IsZero() || c.Status != ken.StatusSuperseded || c.Text != "payments uses sagas" {
			k.Errorf("archived, it is %+v", c)
		}
		events := k.history(old)
		last := events[len(events)-1]
		if last.Type != ken.EventArchived || last.Reason != "tidying up, says Basic [redacted:github-token]" || last.Actor != ada || !last.At.Equal(c.ArchivedAt) {
			k.Errorf("the history ends with %+v", last)
		}
		if found := k.ask("payments"); !slices.Equal(found, []string{next}) {
			k.Errorf("recalled %v", found)
		}
		asked := ids(k.query(ken.Query{Question: "sagas", Filter: ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded}}}))
		if !slices.Equal(asked, []string{old}) {
			k.Errorf("asked for what was superseded, the archive gives %v", asked)
		}
		if !k.get(next).ArchivedAt.IsZero() {
			k.Error("its successor is archived too")
		}
	})

	k.sub("expired", func(k *kit) {
		id := k.write("the freeze ends on Friday", func(c *ken.Claim) { c.ExpiresAt = epoch })
		if err := archive(k, id, ""); err != nil {
			k.Fatal(err)
		}
		events := k.history(id)
		if last := events[len(events)-1]; last.Reason != "expired" {
			k.Errorf("the reason is %q", last.Reason)
		}
		found := k.query(ken.Query{Question: "freeze", Filter: ken.Filter{Now: epoch.Add(-time.Hour)}})
		if len(found) != 1 || found[0].ArchivedAt.IsZero() {
			k.Errorf("asked for a time before, the archive gives %+v", found)
		}
	})

	k.sub("twice changes nothing", func(k *kit) {
		id := k.write("over", func(c *ken.Claim) { c.ExpiresAt = epoch })
		for range 2 {
			if err := archive(k, id, ""); err != nil {
				k.Fatal(err)
			}
		}
		if n := len(k.history(id)); n != 2 {
			k.Errorf("%d events", n)
		}
	})

	k.sub("a claim that stands is refused", func(k *kit) {
		for _, status := range ken.Statuses() {
			if status == ken.StatusSuperseded {
				continue
			}
			id := k.write("it is "+string(status), withStatus(status), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(24 * time.Hour) })
			k.wantErr(archive(k, id, ""), ken.ErrRefused, "status")
			if !k.get(id).ArchivedAt.IsZero() {
				k.Errorf("%s: archived all the same", status)
			}
		}
		for _, unknown := range []string{"", "adr-7", uuid.NewString()} {
			k.wantErr(archive(k, unknown, ""), ken.ErrNotFound, "")
		}
	})

	k.sub("what stands is not written as archived", func(k *kit) {
		archived := func(c *ken.Claim) { c.ArchivedAt = epoch }
		if c := k.get(k.write("it stands", archived)); !c.ArchivedAt.IsZero() {
			k.Errorf("got %+v", c)
		}
		if c := k.get(k.write("it was replaced", archived, withStatus(ken.StatusSuperseded))); !c.ArchivedAt.Equal(epoch) {
			k.Errorf("got %+v", c)
		}
	})

	k.sub("a new version that stands comes back", func(k *kit) {
		id := k.write("the freeze ends on Friday", withKey("freeze"), func(c *ken.Claim) { c.ExpiresAt = epoch })
		if err := archive(k, id, ""); err != nil {
			k.Fatal(err)
		}
		k.write("the freeze ends on Friday", withKey("freeze"), func(c *ken.Claim) { c.ExpiresAt = epoch })
		if types := k.historyTypes(id); len(types) != 2 {
			k.Errorf("the same version left an event: %v", types)
		}
		k.write("the freeze ends on Monday", withKey("freeze"), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(24 * time.Hour) })
		if c := k.get(id); !c.ArchivedAt.IsZero() {
			k.Errorf("it stands again, and is archived: %+v", c)
		}
		if found := k.ask("freeze"); !slices.Equal(found, []string{id}) {
			k.Errorf("recalled %v", found)
		}
	})
}
