package tree

import (
	"fmt"
	"math"
	"strconv"
)

// Average returns the dendrogram of objects by their distances, [n][n]: in turns the two clusters with the least mean distance of their members are joined, at
// half that distance above the leaves (average linkage, UPGMA: R. Sokal and C. Michener, Univ. Kansas Science Bulletin 38, 1958). Leaves are as far from the
// root as each other; a dendrogram shows who is alike, and is no phylogeny. Of equal distances the first counts. It is an error if there are fewer
// than two objects, or distances are not symmetric, positive or 0, and numbers.
func Average(names []string, distances [][]float64) (*Tree, error) {
	if len(names) < 2 || len(distances) != len(names) {
		return nil, fmt.Errorf("tree: %d names and %d rows of distances, want as many and at least 2", len(names), len(distances))
	}
	type cluster struct {
		newick  string
		members []int
		height  float64
	}
	var open []cluster
	for i, row := range distances {
		if len(row) != len(names) {
			return nil, fmt.Errorf("tree: row %d has %d distances, want %d", i, len(row), len(names))
		}
	}
	for i, row := range distances {
		for j, d := range row {
			if !(d >= 0) || math.IsInf(d, 0) || d != distances[j][i] {
				return nil, fmt.Errorf("tree: the distance from %s to %s is %g, and back %g", names[i], names[j], d, distances[j][i])
			}
		}
		open = append(open, cluster{newick: fmt.Sprint(i), members: []int{i}})
	}
	for len(open) > 1 {
		a, b, least := 0, 1, math.Inf(1)
		for i := range open {
			for j := i + 1; j < len(open); j++ {
				sum := 0.0
				for _, x := range open[i].members {
					for _, y := range open[j].members {
						sum += distances[x][y]
					}
				}
				if mean := sum / float64(len(open[i].members)*len(open[j].members)); mean < least {
					a, b, least = i, j, mean
				}
			}
		}
		x, y := open[a], open[b]
		joined := cluster{fmt.Sprintf("(%s:%v,%s:%v)", x.newick, max(0, least/2-x.height), y.newick, max(0, least/2-y.height)), append(x.members, y.members...), least / 2}
		open = append(open[:b], open[b+1:]...)
		open[a] = joined
	}
	t, err := Parse(open[0].newick + ";")
	if err != nil {
		return nil, err
	}
	for i, name := range t.Name {
		if k, err := strconv.Atoi(name); err == nil {
			t.Name[i] = names[k]
		}
	}
	return t, nil
}
