package scorer

import (
	"math"

	"github.com/kenlayer/ken"
)

// Places of the dense features in a model. The order is part of FeatureVersion.
const (
	xBias = iota
	xRank
	xScore
	xKeyword
	xVector
	xStructure
	xFocal
	xHop
	xWeight
	xTier
	xTrust
	xAge
	xDocument
	xEpisode
	xUse
	xShown
	xSlotUse
	xSlotShown
	dense
)

// Slots is how many weights the hashed slots share.
const Slots = 2048

// FeatureVersion names what the places of a model mean. A model of another version
// is of no use.
const FeatureVersion = 1

// width is how many weights a model has.
const width = dense + Slots

// vector is a candidate as the model reads it: dense features, each about 0..1, and
// up to three hashed slots with the value 1.
type vector struct {
	x     [dense]float64
	slots [3]int
	n     int // of slots
}

// vectorOf reads a candidate.
func vectorOf(f *Features) (v vector) {
	x := &v.x
	x[xBias] = 1
	x[xRank] = 1 / math.Log2(float64(max(f.Rank, 1))+1)
	x[xScore] = clamp(f.Score, -1, 1)
	x[xKeyword], x[xVector], x[xStructure] = reciprocal(f.Keyword), reciprocal(f.Vector), reciprocal(f.Structure)
	x[xFocal], x[xHop] = is(f.Distance == 0), is(f.Distance > 0)
	x[xWeight] = clamp(f.Weight, 0, 1)
	x[xTier] = float64(min(f.Tier, ken.Verified)) / float64(ken.Verified)
	x[xTrust] = is(f.Trust.AtLeast(ken.TrustAgent))
	x[xAge] = math.Log1p(clamp(f.AgeDays, 0, 3650)) / math.Log1p(3650)
	x[xDocument], x[xEpisode] = is(f.Document), is(f.Episode)
	x[xUse], x[xShown] = use(f.Shown, f.Used)
	x[xSlotUse], x[xSlotShown] = use(f.SlotShown, f.SlotUsed)
	add := func(kind, a, b uint64) {
		v.slots[v.n] = dense + int(mix(kind<<62^a<<31^b*0x9e3779b97f4a7c15)%Slots)
		v.n++
	}
	if f.Entity != 0 {
		add(1, uint64(f.Entity), 0)
	}
	if f.Aspect != 0 {
		add(2, uint64(f.Aspect), 0)
		if f.Entity != 0 {
			add(3, uint64(f.Entity), uint64(f.Aspect))
		}
	}
	return v
}

// reciprocal is 1 for the first rank, a half for the eleventh, and 0 for none: the
// smoothing of reciprocal rank fusion, with a shorter tail.
func reciprocal(rank int) float64 {
	if rank <= 0 {
		return 0
	}
	return 10 / float64(9+rank)
}

// use is how much of what was shown was used, -0.5..0.5 around what nothing is known
// of (the rule of succession), and how much is known, 0..1.
func use(shown, used float64) (utility, known float64) {
	shown = clamp(shown, 0, 1e6)
	used = clamp(used, 0, shown)
	return (used+1)/(shown+2) - 0.5, shown / (shown + 4)
}

// clamp also makes the lowest value of what is no number.
func clamp(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return low
	}
	return min(max(v, low), high)
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
