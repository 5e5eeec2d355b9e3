// Package solve finds roots and minima of functions that are expensive to evaluate, such as the end points of geodesics, many of
// which are computed in one call. It works on vectors of numbers on the host.
//
//   - System is many independent systems of equations F_b(x_b) = 0 that are evaluated together. Its method Broyden needs no
//     derivatives; Newton, with GMRES or the whole Jacobian, needs derivatives in given directions.
//   - Minimise is the limited-memory BFGS method with a preconditioner. LBFGS is its state: the caller evaluates, passes value and
//     gradient to Learn, and can save the search between two values.
//   - BFGS is the same method with a dense Hessian, for few variables. The caller passes value and gradient to Learn, too.
//   - Inverse and Anderson are the memories of Broyden's and Anderson's methods, for iterations with another line search.
//
// To solve F(x) = 0 for one x, for example:
//
//	system := solve.System{Residual: func(x [][]float64) ([][]float64, error) { return [][]float64{f(x[0])}, nil }}
//	root := solve.NewRoot(x, f(x), 1e-10)
//	err := system.Broyden(ctx, []*solve.Root{root}, 100) // then root.Done, root.X, root.Norm
//
// An iteration ends when it meets its tolerance, when no step makes progress, at a limit, or when its context ends. Status says
// which; an error means that an evaluation failed.
package solve
