package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Cohort returns the tree of specimens that were seen at some ages, with one leaf for each, in their order: all come from one root, of
// age 0, and go their own ways from there. Specimens of one individual, which has one name, lie on one way: a node stands for the
// individual at each age but its last one, with an edge of length 0 to the leaf. Where individuals is nil, every specimen is another
// one, and the tree a star. Leaves are called specimen 0, specimen 1 and so on: their order is not that of Newick.
//
// The state of a process at the root and what deviates from it along the edges are then those of a regression by age, whose
// deviations grow with age: see guided.Options.RootParts. Ages may have any unit and origin, of which those of the process are.
//
// It is an error if an age is negative or not finite, all ages are equal, an individual has no name, or there are not as many individuals as
// ages.
func Cohort(ages []float64, individuals []string) (*Tree, error) {
	if individuals != nil && len(individuals) != len(ages) {
		return nil, fmt.Errorf("tree: %d individuals for %d ages: one of each a specimen", len(individuals), len(ages))
	}
	for k, age := range ages {
		if !(age >= 0) || math.IsInf(age, 1) {
			return nil, fmt.Errorf("tree: the age of specimen %d is %v: ages are finite and not negative", k, age)
		}
	}
	if len(ages) == 0 || slices.Min(ages) == slices.Max(ages) {
		return nil, fmt.Errorf("tree: %d specimens of one age, which tell of no change: want two ages at least", len(ages))
	}
	own := make([][]int, 0, len(ages)) // the specimens of each individual
	which := map[string]int{}
	for k := range ages {
		if individuals == nil {
			own = append(own, []int{k})
			continue
		}
		if individuals[k] == "" {
			return nil, fmt.Errorf("tree: specimen %d is of no individual: name it, by a name of its own if it was seen once", k)
		}
		i, known := which[individuals[k]]
		if !known {
			i, which[individuals[k]] = len(own), len(own)
			own = append(own, nil)
		}
		own[i] = append(own[i], k)
	}
	t := &Tree{Parent: []int{-1}, Length: []float64{0}, Name: []string{""}}
	add := func(parent int, length float64, name string) int {
		t.Parent, t.Length, t.Name = append(t.Parent, parent), append(t.Length, length), append(t.Name, name)
		return len(t.Parent) - 1
	}
	parent, length := make([]int, len(ages)), make([]float64, len(ages)) // of the leaves, which come after all other nodes
	for _, specimens := range own {
		slices.SortStableFunc(specimens, func(a, b int) int { return cmp.Compare(ages[a], ages[b]) })
		node, age := 0, 0.0
		for j, k := range specimens {
			length[k] = ages[k] - age
			if j+1 < len(specimens) && length[k] > 0 {
				node, age = add(node, length[k], ""), ages[k]
				length[k] = 0
			}
			parent[k] = node
		}
	}
	for k := range ages {
		add(parent[k], length[k], fmt.Sprintf("specimen %d", k))
	}
	return t, nil
}
