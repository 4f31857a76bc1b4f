package budgeter

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kenlayer/ken"
)

// shortSizes are how many letters and digits a short id has: the first unless two ids
// end alike.
var shortSizes = [...]int{6, 8, 12, 20, 32}

// shortIDs returns what stands for each candidate's id in the block: its last six
// letters and digits, and more of them where two ids end alike. Ids that differ in
// nothing but punctuation or case can't be told apart.
func shortIDs(candidates []Candidate) []string {
	short := make([]string, len(candidates))
	todo := make([]int, len(candidates))
	for i := range todo {
		todo[i] = i
	}
	for _, size := range shortSizes {
		holder := make(map[string]string, len(todo)) // short to whole id, "" for more than one
		for _, i := range todo {
			id := candidates[i].Item.ID
			short[i] = tail(ending(&candidates[i].Item), size)
			if other, ok := holder[short[i]]; ok && other != id {
				id = ""
			}
			holder[short[i]] = id
		}
		clashing := todo[:0]
		for _, i := range todo {
			if holder[short[i]] == "" {
				clashing = append(clashing, i)
			}
		}
		if todo = clashing; len(todo) == 0 {
			break
		}
	}
	return short
}

// ending is what an item's short id is the end of: its id, or a hash of a symbol's, which
// would end in the middle of a word.
func ending(it *ken.Item) string {
	if it.Kind != KindSymbol {
		return it.ID
	}
	sum := sha256.Sum256([]byte(it.ID))
	return hex.EncodeToString(sum[:])
}

// tail returns the last n letters and digits of an id, which may be anything.
func tail(id string, n int) string {
	if end := id[max(0, len(id)-n):]; strings.IndexFunc(end, func(r rune) bool { return shown(r) != r }) < 0 {
		return end
	}
	end := strings.Map(shown, id[max(0, len(id)-3*n):])
	return end[max(0, len(end)-n):]
}

// shown returns how a short id shows r, and -1 for not at all.
func shown(r rune) rune {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z':
		return r
	case 'A' <= r && r <= 'Z':
		return r | 0x20
	}
	return -1
}
