package scorer

import (
	"math"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Model is a logistic regression that learns online:
//
//	p(used | x) = 1 / (1 + exp(-w·x))
//
// It is trained by FTRL-Proximal (H. B. McMahan et al., Ad click prediction: a view from the
// trenches, KDD 2013, algorithm 1) without the L1 part: gradient descent with an L2 penalty and a
// learning rate for each weight, which decreases the more the weight has learned. So the weight of
// a new slot changes quickly, while those of the dense features are settled. With g = (p-y)·x,
//
//	σ = (√(n+g²) - √n) / α;  z += g - σ·w;  n += g²;  w = -z / ((β+√n)/α + λ)
//
// Names are hashed into Slots weights (K. Weinberger et al., Feature hashing for large scale
// multitask learning, ICML 2009), so the size of a model does not depend on the number of names.
// The same examples in the same order give the same model. A model is not safe for concurrent use
// while it learns. The zero value is an untrained model.
type Model struct {
	z, n [width]float64
}

// The constants of the paper. α is larger than for clicks, because there are some thousand
// examples, not billions.
const (
	alpha  = 0.15
	beta   = 1
	lambda = 1
)

func (m *Model) weight(i int) float64 {
	if m.n[i] == 0 {
		return 0
	}
	return -m.z[i] / ((beta+math.Sqrt(m.n[i]))/alpha + lambda)
}

// logit returns w·x.
func (m *Model) logit(v *vector) (sum float64) {
	for i, x := range v.x {
		if x != 0 {
			sum += x * m.weight(i)
		}
	}
	for _, i := range v.slots[:v.n] {
		sum += m.weight(i)
	}
	return sum
}

// learn updates the weights by one example.
func (m *Model) learn(v *vector, used bool) {
	g := 1/(1+math.Exp(-m.logit(v))) - is(used)
	for i, x := range v.x {
		if x != 0 {
			m.step(i, g*x)
		}
	}
	for _, i := range v.slots[:v.n] {
		m.step(i, g)
	}
}

func (m *Model) step(i int, g float64) {
	w := m.weight(i)
	more := m.n[i] + g*g
	m.z[i] += g - (math.Sqrt(more)-math.Sqrt(m.n[i]))/alpha*w
	m.n[i] = more
}

// weights returns a copy of the model's weights for reading.
func (m *Model) weights() *[width]float64 {
	w := new([width]float64)
	for i := range w {
		w[i] = m.weight(i)
	}
	return w
}

// Indices of the dense features in a model. Their order is part of featureVersion.
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

// Slots is the number of weights that the hashed slots share.
const Slots = 2048

// featureVersion is the version of the meaning of the indices. A model of another version can't be
// used.
const featureVersion = 1

// width is the number of weights of a model.
const width = dense + Slots

// vector is a candidate in the form that the model uses: dense features, each about 0..1, and up to
// three hashed slots with the value 1.
type vector struct {
	x     [dense]float64
	slots [3]int
	n     int // number of slots
}

// vectorOf converts the features of a candidate.
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

// reciprocal returns 1 for the first rank, a half for the eleventh, and 0 for rank 0, which means
// not found. It is the smoothing of reciprocal rank fusion with a shorter tail.
func reciprocal(rank int) float64 {
	if rank <= 0 {
		return 0
	}
	return 10 / float64(9+rank)
}

// use returns which part of what was shown was used, as -0.5..0.5 with 0 for unknown (the rule of
// succession), and how much is known, 0..1.
func use(shown, used float64) (utility, known float64) {
	shown = clamp(shown, 0, 1e6)
	used = clamp(used, 0, shown)
	return (used+1)/(shown+2) - 0.5, shown / (shown + 4)
}

// clamp limits v to low..high, and returns low for NaN.
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

// Slot returns the 32-bit FNV-1a hash of the name of an entity or an aspect, in the form of
// analysis.Entity. It is 0 only for a name that is empty in that form.
func Slot(name string) uint32 {
	name = analysis.Entity(name)
	if name == "" {
		return 0
	}
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(name) {
		h ^= uint32(name[i])
		h *= prime
	}
	if h == 0 {
		return offset
	}
	return h
}

// pair combines the hashes of an entity and an aspect.
func pair(entity, aspect uint32) uint64 { return uint64(entity)<<32 | uint64(aspect) }

// mix spreads the bits of a number (the finalizer of splitmix64, Steele, Lea and Flood, OOPSLA
// 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Features is what a scorer knows about a candidate; see ken.Features.
type Features = ken.Features

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
