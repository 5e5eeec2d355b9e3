package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"anatomy/geom"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/try"
)

func TestZZCover(t *testing.T) {
	so3 := try.Get(lie.SO(3).LeftInvariant([][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}))
	eye := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	for _, c := range []struct {
		name string
		m geom.Manifold
		p []float64
		spread float64
	}{
		{"S2 .7", manifold.Sphere(2), pole, 0.7}, {"S2 1", manifold.Sphere(2), pole, 1}, {"S2 1.3", manifold.Sphere(2), pole, 1.3},
		{"SO3 .5", so3, eye, 0.5}, {"SO3 1", so3, eye, 1}, {"SO3 1.5", so3, eye, 1.5},
		{"SPD2 1", manifold.SPD(2), []float64{1, 0, 0, 1}, 1},
		{"K32 .2", manifold.Kendall(3, 2), nil, 0.2}, {"K32 .5", manifold.Kendall(3, 2), nil, 0.5},
	} {
		s := geom.On(c.m)
		p := c.p
		if p == nil { p, _, _ = s.Project([]float64{-1, -0.5, 1.2, -0.5, 0, 1}) }
		r := rand.New(rand.NewPCG(1, 1))
		held, n, lost := 0, 0, 0
		begin := time.Now()
		var why error
		for time.Since(begin) < 15*time.Second && n < 400 {
			n++
			err := try.Run(func() {
				e, status := frechet(s, p, c.spread, nil, r)
				if status != geom.Converged { lost++; return }
				if e[0].holds { held++ }
			})
			if err != nil { lost++; why = err }
		}
		fmt.Printf("%s: %d sims, %d lost, covered %.3f of the others %v\n", c.name, n, lost, float64(held)/float64(n-lost), why)
	}
}
