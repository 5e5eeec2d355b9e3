package landmarks

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anatomy/geom"
)

// Simulate returns shapes around the outline q, [n][D]: the ends of geodesics from q whose initial velocities are random waves along it,
//
//	v_i = size · Σ_k (s_k sin(2πki/n) + c_k cos(2πki/n))/(1 + k),  k = 0, 1, 2, 3,
//
// with independent standard normal vectors s_k and c_k. The size has the unit of q; equal seeds give equal shapes. The errors are those of Exp.
func (s *Space) Simulate(q geom.Shape, count int, size float64, seed uint64) (shapes []geom.Shape, err error) {
	if err := s.CheckNumbers("outline", q); err != nil {
		return nil, fmt.Errorf("Simulate: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, seed+1))
	for range count {
		v := q.Scale(0)
		for wave := range 4 {
			for a := range s.Manifold.D {
				sine, cosine := random.NormFloat64(), random.NormFloat64()
				for i := range v {
					sin, cos := math.Sincos(2 * math.Pi * float64(wave*i) / float64(len(v)))
					v[i][a] += size * (sine*sin + cosine*cos) / float64(1+wave)
				}
			}
		}
		g, err := s.Exp(q, v)
		if err != nil {
			return nil, fmt.Errorf("Simulate: %w", err)
		}
		shapes = append(shapes, g.End)
	}
	return shapes, nil
}
