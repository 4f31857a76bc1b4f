package forgotten_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

const said = "The vault of the Brandywhistle archive opens with the code quill7719 on Sundays."

func shelf(t *testing.T, texts ...string) store.Shelf {
	t.Helper()
	s := memory.NewShelf()
	err := s.Update(t.Context(), func(tx store.ShelfTx) error {
		key, err := forgotten.Key(tx)
		if err != nil {
			return err
		}
		rec := forgotten.Record{Claim: "0195616d-8c00-7000-8000-0000003f9a1c", Also: []string{"0195616d-8c00-7000-8000-0000003f9a1d"},
			At: time.Unix(1, 0), DeletedAt: time.Unix(2, 0), Words: []uint64{forgotten.HashOf(key, "brandywhistle")}}
		for _, text := range texts {
			rec.Prints = append(rec.Prints, forgotten.PrintsOf(key, text)...)
		}
		return forgotten.Put(tx, &rec)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func set(t *testing.T, s store.Shelf) (out *forgotten.Set) {
	t.Helper()
	if err := s.View(t.Context(), func(r store.ShelfReader) (err error) { out, err = forgotten.In(r); return err }); err != nil {
		t.Fatal(err)
	}
	return out
}

// A text is recognised as it was, within another, in JSON, among bytes; another
// text is not, and nor are its words apart.
func TestWhatIsRecognised(t *testing.T) {
	s := set(t, shelf(t, said, "Yes.", "ring me twice", "多くの人がその秘密の言葉を知っています"))
	quoted, err := json.Marshal(map[string]string{"a": "First:\n" + said})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		said: true, strings.ToUpper(said): true, "I was told: " + said + " Is that right?": true, string(quoted): true,
		"\x00\xff\x13" + strings.ReplaceAll(said, " ", "\n") + "\x00\xff": true,
		"Please RING me, twice": true, "彼は「多くの人がその秘密の言葉を知っています」と言った": true,
		// The same of something else: another first, middle or last word.
		strings.Replace(said, "The", "A", 1): false, strings.Replace(said, "7719", "7720", 1): false, strings.Replace(said, "Sundays", "Mondays", 1): false,
		"": false, "Yes.": false, "The archive opens on Sundays.": false, "ring me": false, "the vault of the bank": false,
		strings.ReplaceAll(said, " ", " or so "): false, "その本は古い": false,
		"The vault of the Brandywhistle" + strings.Repeat(" and so on", 60) + " archive opens with": false,
	} {
		if got := s.Says(text); got != want {
			t.Errorf("%v for %q", got, text)
		}
	}
	if !s.Names("at BRANDYWHISTLE's") || s.Names("the archive") {
		t.Error("its word is not told from others")
	}
	if ids := s.Scan([]byte(said + said)); len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	if !s.Has("0195616d-8c00-7000-8000-0000003f9a1d") || s.Has("other") || !s.After(time.Unix(3, 0)) || s.After(time.Unix(1, 0)) {
		t.Error("ids or times are not known")
	}
	var none *forgotten.Set
	if none.Has("x") || none.Says(said) || none.Names(said) || !none.After(time.Time{}) || none.Scan([]byte(said)) != nil {
		t.Error("nothing was forgotten, and something is recognised")
	}
}

// Nothing that is kept has the words, and two stores have no hash in common.
func TestFingerprintsHaveNoWords(t *testing.T) {
	hashes := map[uint64]bool{}
	for range 2 {
		err := shelf(t, said).View(t.Context(), func(r store.ShelfReader) error {
			for key, v := range r.Scan("") {
				for w := range strings.FieldsSeq(strings.ToLower(said)) {
					if w = strings.Trim(w, "."); len(w) > 3 && strings.Contains(strings.ToLower(string(v)), w) && w != "code" {
						t.Errorf("%s has %q", key, w)
					}
				}
			}
			all, err := forgotten.All(r)
			for _, rec := range all {
				for _, p := range rec.Prints {
					for _, h := range p.Hashes {
						if hashes[h] {
							t.Errorf("hash %x is in both", h)
						}
						hashes[h] = true
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(hashes) < 10 {
		t.Errorf("%d hashes", len(hashes))
	}
}

// A set belongs to the state that is read: an added record is visible at once.
func TestASetIsOfItsState(t *testing.T) {
	s := shelf(t, said)
	before := set(t, s)
	for i := range 3 {
		if err := s.Update(t.Context(), func(tx store.ShelfTx) error { return forgotten.Mark(tx, fmt.Sprint("id", i)) }); err != nil {
			t.Fatal(err)
		}
		if now := set(t, s); !now.Has(fmt.Sprint("id", i)) || before.Has(fmt.Sprint("id", i)) {
			t.Errorf("mark %d", i)
		}
	}
	if again := set(t, s); again != set(t, s) {
		t.Error("it is read anew although nothing has changed")
	}
	for id, want := range map[string]bool{"0195616d-8c00-7000-8000-0000003f9a1c": true, "0195616d-8c00-7000-8000-0000003f9a1d": true, "3f9a1d": true, "nothing": false, "": false} {
		err := s.View(t.Context(), func(r store.ShelfReader) error {
			rec, err := forgotten.Find(r, id)
			if (rec != nil) != want {
				t.Errorf("%q: %+v", id, rec)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
