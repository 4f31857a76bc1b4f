package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// What a store may have beside ken.Store. The suite holds it to the contract
// where it is there.
type (
	getter interface {
		Get(ctx context.Context, id string) (ken.Claim, error)
	}
	byKeyer interface {
		ByKey(ctx context.Context, key string) (ken.Claim, error)
	}
	reinforcer interface {
		Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	}
)

func testGet(k *kit) {
	if _, ok := k.s.(getter); !ok {
		k.Skip("the store has no Get")
	}
	const first, second = "0198a000-0000-7000-8000-000000000001", "0198a000-0000-7000-8000-000000000002"
	withID := func(id string) func(*ken.Claim) { return func(c *ken.Claim) { c.ID = id } }
	k.write("payments uses sagas", withID(first))
	k.write("payments uses two-phase commit", withID(second))
	k.transition(second, ken.StatusDisputed)
	get := k.s.(getter).Get

	for _, id := range []string{first, strings.ToUpper(first), first[:35] + "1", first[2:], "000001"} {
		c, err := get(k.ctx, id)
		if err != nil || c.ID != first {
			k.Errorf("%q finds %s, %v", id, c.ID, err)
		}
	}
	if c, err := get(k.ctx, second); err != nil || c.Status != ken.StatusDisputed {
		k.Errorf("a disputed claim: %s, %v", c.Status, err)
	}
	_, err := get(k.ctx, "0198a0")
	k.wantErr(err, ken.ErrInvalid, "id") // fits both
	for _, id := range []string{"", "00001", "sagas!", uuid.NewString()} {
		_, err := get(k.ctx, id)
		k.wantErr(err, ken.ErrNotFound, "id")
	}
}

func testByKey(k *kit) {
	if _, ok := k.s.(byKeyer); !ok {
		k.Skip("the store has no ByKey")
	}
	byKey := func(key string) (ken.Claim, error) { return k.s.(byKeyer).ByKey(k.ctx, key) }
	_, err := byKey("adr-7")
	k.wantErr(err, ken.ErrNotFound, "key")

	id := k.write("payments uses sagas", withKey("adr-7"), func(c *ken.Claim) { c.Tags = []string{"saga"} })
	k.write("payments uses two-phase commit")
	for _, key := range []string{"", "adr", "adr-77", "ADR-7", id} {
		_, err := byKey(key)
		k.wantErr(err, ken.ErrNotFound, "key")
	}
	c, err := byKey("adr-7")
	if err != nil || c.ID != id || c.Text != "payments uses sagas" {
		k.Fatalf("%+v, %v", c, err)
	}
	c.Tags[0], c.Evidence[0].Detail = "changed", "changed"
	if again, err := byKey("adr-7"); err != nil || again.Tags[0] != "saga" || again.Evidence[0].Detail == "changed" {
		k.Errorf("it shares memory with the store: %+v, %v", again, err)
	}

	k.write("payments uses orchestration", withKey("adr-7"))
	next := k.write("payments uses choreography", withKey("adr-8"))
	k.supersede(id, next)
	c, err = byKey("adr-7")
	if err != nil || c.ID != id || c.Text != "payments uses orchestration" || c.Status != ken.StatusSuperseded {
		k.Errorf("a superseded claim is found by its key as %+v, %v", c, err)
	}
}

func testReinforce(k *kit) {
	if _, ok := k.s.(reinforcer); !ok {
		k.Skip("the store has no Reinforce")
	}
	reinforce := func(id string, e ...ken.Evidence) error {
		return k.s.(reinforcer).Reinforce(k.ctx, id, e, ken.Actor{Type: "user", ID: "ada"})
	}

	k.sub("the evidence grows and the status stays", func(k *kit) {
		reinforce := k.s.(reinforcer).Reinforce
		id := k.write("payments uses sagas")
		k.transition(id, ken.StatusVerified)
		more := ken.FromHumanAssertion("ada", epoch, "said it again")
		if err := reinforce(k.ctx, id, []ken.Evidence{more}, ken.Actor{Type: "user", ID: "ada"}); err != nil {
			k.Fatal(err)
		}
		c := k.get(id)
		if c.Reinforcements != 1 || c.ReinforcedAt.IsZero() || c.Status != ken.StatusVerified || len(c.Evidence) != 2 {
			k.Errorf("%+v", c)
		}
		last := k.history(id)[2]
		if last.Type != ken.EventReinforced || last.Actor.ID != "ada" || !cmp.Equal(last.Evidence, []ken.Evidence{more}) {
			k.Errorf("history ends with %+v", last)
		}
		if found := k.ask("sagas"); !slices.Equal(found, []string{id}) {
			k.Errorf("found %v", found)
		}
	})

	k.sub("the same evidence twice counts once", func(k *kit) {
		id := k.write("payments uses sagas")
		later := ken.FromHumanAssertion("ada", epoch, "again")
		for _, e := range []ken.Evidence{ken.FromHumanAssertion("ada", epoch.Add(-time.Hour), "once"), later} {
			if err := k.s.(reinforcer).Reinforce(k.ctx, id, []ken.Evidence{e}, ken.Actor{}); err != nil {
				k.Fatal(err)
			}
		}
		c := k.get(id)
		if c.Reinforcements != 2 || len(c.Evidence) != 2 || !cmp.Equal(c.Evidence[1], later) {
			k.Errorf("%d reinforcements, evidence %+v", c.Reinforcements, c.Evidence)
		}
	})

	k.sub("what it brings is cleaned", func(k *kit) {
		id := k.write("payments uses sagas")
		e := ken.FromToolResult("tc", "<think>hm</think>printed "+madeUpSecrets[0])
		if err := k.s.(reinforcer).Reinforce(k.ctx, id, []ken.Evidence{e}, ken.Actor{}); err != nil {
			k.Fatal(err)
		}
		detail := k.get(id).Evidence[1].Detail
		if strings.Contains(detail, madeUpSecrets[0]) || strings.Contains(detail, "hm") || !strings.Contains(detail, "printed") {
			k.Errorf("kept %q", detail)
		}
	})

	disputed, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
	replaced := k.write("payments uses files")
	k.transition(disputed, ken.StatusDisputed)
	k.supersede(replaced, next)
	k.wantErr(reinforce(disputed), ken.ErrRefused, "status")
	k.wantErr(reinforce(replaced), ken.ErrRefused, "status")
	k.wantErr(reinforce(uuid.NewString()), ken.ErrNotFound, "id")
	k.wantErr(reinforce("adr-7"), ken.ErrNotFound, "id")
	k.wantErr(reinforce(next, ken.Evidence{Kind: "rumour"}), ken.ErrInvalid, "")
	if c := k.get(next); c.Reinforcements != 0 {
		k.Errorf("a refused call took effect: %+v", c)
	}
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if err := k.s.(reinforcer).Reinforce(over, next, nil, ken.Actor{}); err == nil || k.get(next).Reinforcements != 0 {
		k.Errorf("a cancelled call took effect: %v", err)
	}
}
