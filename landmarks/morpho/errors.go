package morpho

import (
	"math"
	"slices"

	"anatomy/geom/try"
)

// ErrorColumn is the covariate of landmarks that were placed with errors, as study.Study.PlacedData writes it: the root mean square, over the landmarks of a
// specimen, of the standard error along one direction of the curve or surface, in the unit of the landmarks. It is 0 where they were digitised. Inspect,
// WeightedProcrustes, shapestats.FitWithErrors and the reports about landmarks take it into account.
const ErrorColumn = "standard error of landmarks"

// SquaredErrors returns what the errors of its landmarks add to the mean square of the Procrustes distance of each specimen from another
// shape: L(D − 1) times the square of its ErrorColumn over its centroid size. It returns nil for data without that covariate. It is an error
// if a specimen has no number there, or a negative one.
func (d *Dataset) SquaredErrors() (_ []float64, err error) {
	defer try.Catch(&err)
	if !slices.Contains(d.Covariates(), ErrorColumn) {
		return nil, nil
	}
	squares := try.Get(d.Numbers(ErrorColumn))
	for i, e := range squares {
		s := d.Specimens[i]
		try.FailIf(!(e >= 0) || math.IsInf(e, 1), "%s: the %s of specimen %q is %q: give a number that is not negative, or leave the specimen out",
			d.Name, ErrorColumn, s.Name, s.Covariates[ErrorColumn])
		squares[i] = float64(len(s.Points)*(len(s.Points[0])-1)) * math.Pow(e/CentroidSize(s.Points), 2)
	}
	return squares, nil
}
