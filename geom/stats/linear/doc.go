// Package linear is linear models of rows of numbers, and the permutation tests of the whole project. It is plain Go and links no XLA.
//
// A model explains rows y_i, such as shapes in a tangent space, by terms:
//
//	sex, age := linear.Factor("sex", sexes...), linear.Covariate("age", ages...)
//	design, err := linear.NewDesign(len(y), nil, nil, sex, age, linear.Interaction(sex, age))
//	model, err := design.Fit(y)                                           // or design.FitOnTree(y, tree)
//	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})       // PairsOfMeans, PairsOfSlopes, Disparity, Trajectories
//
// Where the data have names for their columns (Data), Factor("sex") is enough.
//
// # Permutation tests
//
// All tests draw by Permutations.Test, so that they agree on these rules:
//
//   - The p-value is (1 + #{permuted ≥ observed})/(1 + N): the data as they are count as one of the draws. Its Monte Carlo standard error is
//     Test.StandardError.
//   - Numbers that differ by a billionth of the observed one are equal: rounding does not make a draw that repeats the data smaller.
//   - A permuted number that is NaN counts as one that is as large as the observed one, so that it never makes a result significant. Where the
//     observed number is NaN, there is no p-value: it is NaN, too.
//   - A test reports every draw to a watch.Task, and stops with it. Its p-value is then that of the draws it made.
package linear
