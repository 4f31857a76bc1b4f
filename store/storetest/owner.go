package storetest

import "github.com/kenlayer/ken"

// neighbours opens the stores of two owners, each with one claim under the same key.
func neighbours(k *kit) (ada, ben ken.Store, adas, bens string) {
	k.Helper()
	ada, ben = k.another(Options{Owner: "ada"}), k.another(Options{Owner: "ben"})
	var err error
	if adas, err = ada.WriteClaim(k.ctx, claim("ada likes sagas", withKey("k"))); err != nil {
		k.Fatal(err)
	}
	if bens, err = ben.WriteClaim(k.ctx, claim("ben likes sagas", withKey("k"))); err != nil {
		k.Fatal(err)
	}
	return ada, ben, adas, bens
}

func testOwner(k *kit) {
	k.sub("a claim of another owner is refused", func(k *kit) {
		ada, _, _, _ := neighbours(k)
		_, err := ada.WriteClaim(k.ctx, claim("ben likes tea", func(c *ken.Claim) { c.Owner = "ben" }))
		k.wantErr(err, ken.ErrRefused, "owner")
	})

	k.sub("the own name is accepted and filled in", func(k *kit) {
		ada, _, adas, _ := neighbours(k)
		if _, err := ada.WriteClaim(k.ctx, claim("ada likes tea", func(c *ken.Claim) { c.Owner = "ada" })); err != nil {
			k.Error(err)
		}
		found, err := ada.Query(k.ctx, ken.Query{Question: "sagas"})
		if err != nil || len(found) != 1 || found[0].Owner != "ada" || found[0].ID != adas {
			k.Errorf("%+v, %v", found, err)
		}
	})

	k.sub("no question reaches across owners", func(k *kit) {
		ada, _, _, bens := neighbours(k)
		for _, question := range []string{"", "sagas", "ben", bens, "owner:ben", "*"} {
			found, err := ada.Query(k.ctx, ken.Query{Question: question, Filter: ken.Filter{Statuses: ken.Statuses()}, Limit: many})
			if err != nil {
				k.Error(err)
			}
			for _, c := range found {
				if c.Owner != "ada" {
					k.Errorf("%q finds %s's claim", question, c.Owner)
				}
			}
		}
	})

	k.sub("the id of another owner is not found", func(k *kit) {
		ada, ben, adas, bens := neighbours(k)
		k.wantErr(ada.Transition(k.ctx, ken.Transition{ID: bens, To: ken.StatusDisputed}), ken.ErrNotFound, "")
		k.wantErr(ada.Supersede(k.ctx, bens, adas), ken.ErrNotFound, "")
		k.wantErr(ada.Supersede(k.ctx, adas, bens), ken.ErrNotFound, "")
		_, err := ada.History(k.ctx, bens)
		k.wantErr(err, ken.ErrNotFound, "")
		found, err := ben.Query(k.ctx, ken.Query{Question: "sagas"})
		if err != nil || len(found) != 1 || found[0].Status != ken.StatusObserved {
			k.Errorf("ben's claim is now %+v, %v", found, err)
		}
	})
}
