package stats_test

import (
	"fmt"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
)

// The mean of three points of the sphere, and how they vary around it.
func ExampleFrechetMean() {
	space := geom.On(manifold.Sphere(2))
	mean, err := stats.FrechetMean(space, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := mean.Err(); err != nil { // the search has not converged
		fmt.Println(err)
		return
	}
	pca, err := stats.TangentPCA(mean)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v at %.4f, shares %.3f\n", mean.Status, mean.Point, pca.Explained)
	// Output: converged at [0.5774 0.5774 0.5774], shares [0.500 0.500]
}

// Points of a sphere that move east by 0.1 a year and are 0.2 further north where sex is m.
func ExampleRegress() {
	space := geom.On(manifold.Sphere(2))
	age, sex := []float64{0, 2, 4, 0, 2, 4}, []string{"f", "f", "f", "m", "m", "m"}
	var samples [][]float64
	for i := range age {
		east, north := 0.1*(age[i]-2), -0.1
		if sex[i] == "m" {
			north = 0.1
		}
		g, err := space.Exp([]float64{1, 0, 0}, []float64{0, east, north})
		if err != nil {
			fmt.Println(err)
			return
		}
		samples = append(samples, g.End)
	}
	r, err := stats.Regress(space, samples, linear.Terms{linear.Covariate("age", age...), linear.Factor("sex", sex...)})
	if err != nil {
		fmt.Println(err)
		return
	}
	point, err := r.At(space, 6, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("R² %.3f by %q, %.4f at age 6 of sex m\n", r.R2, r.Columns, point)
	// Output: R² 1.000 by ["age" "sex m"], [0.9162 0.3888 0.0972] at age 6 of sex m
}

// Do points that move with age differ by sex beside it?
func ExampleRegressionTest() {
	plane := geom.On(manifold.Euclidean(2))
	age, sex := linear.Covariate("age", 1, 2, 3, 4, 5, 6, 7, 8), linear.Factor("sex", "f", "m", "f", "m", "f", "m", "f", "m")
	samples := [][]float64{{1.1, 0}, {2, 0.1}, {2.9, 0}, {4, -0.1}, {5.1, 0.1}, {6, 0}, {6.9, -0.1}, {8, 0}}
	for _, c := range []struct{ known, tested linear.Terms }{{nil, linear.Terms{age}}, {linear.Terms{age}, linear.Terms{sex}}} {
		test, err := stats.RegressionTest(plane, samples, c.known, c.tested, linear.Permutations{N: 999, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("partial R² %.2f, p = %.3f\n", test.Statistic, test.P)
	}
	// Output:
	// partial R² 1.00, p = 0.001
	// partial R² 0.01, p = 0.958
}

// Three groups on a line, the last one far from the others.
func ExamplePermutationTest() {
	line := geom.On(manifold.Euclidean(1))
	samples := [][]float64{{0}, {1}, {2}, {3}, {0.5}, {1.5}, {2.5}, {8}, {9}, {10}, {11}, {12}}
	site := linear.Factor("site", "a", "a", "a", "a", "b", "b", "b", "c", "c", "c", "c", "c")
	test, err := stats.PermutationTest(line, samples, site, stats.MeanDistance, linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("means %.1f, p = %.3f\n", test.Means, test.P)
	// Output: means [[1.5] [1.5] [10.0]], p = 0.003
}

// A search that may take one step alone has not arrived, and its status says so.
func ExampleMaxIterations() {
	sphere := geom.On(manifold.Sphere(2))
	mean, err := stats.FrechetMean(sphere, [][]float64{{1, 0, 0}, {0.8, 0.6, 0}, {0, 0.6, 0.8}}, stats.MaxIterations(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mean.Status)
	// Output: iteration limit
}

// Changes of three subjects are compared at one place: vectors at the samples, moved to their mean.
func ExampleTransportToMean() {
	space := geom.On(manifold.Sphere(2))
	mean, err := stats.FrechetMean(space, [][]float64{{0.6, 0, 0.8}, {-0.6, 0, 0.8}, {0, 0, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	north := [][]geom.Vec{{{-0.8, 0, 0.6}}, {{-0.8, 0, -0.6}}, {{-1, 0, 0}}}
	moved, err := stats.TransportToMean(space, mean, north)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range moved {
		fmt.Printf("%.3f ", v[0][0])
	}
	// Output: -1.000 -1.000 -1.000
}
