// Package report makes the documents of package supplement about one's own data with all that needs XLA: landmarks with their deformations,
// the template of a folder of meshes, and landmarks that are placed on meshes. The templates of notebooks/templates show them:
//
//	document, err := report.Landmarks(heads, supplement.Usual())
//	err = document.Write("heads-report")
package report

import (
	"fmt"
	"strings"

	"anatomy/geom/solve"
	"anatomy/landmarks/morpho/supplement"
)

// add adds a paragraph in the form of fmt to a section.
func add(s *supplement.Section, format string, args ...any) {
	s.Parts = append(s.Parts, supplement.Paragraph(fmt.Sprintf(format, args...)))
}

// figure adds a figure to a section.
func figure(s *supplement.Section, f supplement.Figure) { s.Parts = append(s.Parts, &f) }

// converged is the claim that a search has.
func converged(what string, status solve.Status) supplement.Claim {
	return supplement.Claim{What: "The search for " + what + " has converged", Holds: status == solve.Converged}
}

// inUnit writes a number with its unit, if there is one.
func inUnit(x float64, unit string) string { return strings.TrimSpace(fmt.Sprintf("%.3g %s", x, unit)) }
