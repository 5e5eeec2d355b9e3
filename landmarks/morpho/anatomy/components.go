package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/morpho/supplement"
)

// alignment is what `align --format json` says about an alignment.
type alignment struct {
	Specimens  []string    `json:"specimens"`
	Status     string      `json:"status"`
	Iterations int         `json:"iterations"`
	RMS        float64     `json:"rms"`
	Mean       [][]float64 `json:"mean"`           // [n][d]
	Distances  []float64   `json:"distances"`      // [N]
	Sizes      []float64   `json:"centroid_sizes"` // [N], in the unit of the coordinates
}

// aligned describes the alignment of a data set.
func aligned(d *morpho.Dataset, a *morpho.Alignment) alignment {
	sizes := lists.Each(d.Shapes(), func(x shape.Shape) float64 { return morpho.CentroidSize(x) })
	return alignment{d.Names(), a.Status.String(), a.Iterations, a.RMS, a.Mean, a.Distances, sizes}
}

func components() *cobra.Command {
	format := "text"
	c := command(&cobra.Command{
		Use:   "components DATA",
		Short: "Print the principal components of the aligned shapes; in json with scores and axes",
		Example: `  anatomy components heads.tps
  anatomy components heads.tps --format json > components.json`,
	}, 1, supplement.ToRead, supplement.ToPrepare, func(c *cobra.Command, asked *supplement.Answers, args []string) {
		d := try.Get(supplement.Ready(try.Get(asked.Read(args[0])), asked.Question))
		model := try.Get(shapestats.Fit(d))
		found := try.Get(model.Components())
		if format == "json" {
			axes := lists.Each(found.Axes, model.Shape)
			try.Do(json.NewEncoder(c.OutOrStdout()).Encode(struct {
				Specimens []string      `json:"specimens"`
				Shares    []float64     `json:"shares"` // [k], of the variance
				Scores    [][]float64   `json:"scores"` // [k][N], in centroid sizes
				Axes      []shape.Shape `json:"axes"`   // [k][n][d], of length 1
				Mean      [][]float64   `json:"mean"`   // [n][d], where all scores are 0
			}{d.Names(), found.Shares, found.Scores, axes, model.Shape(model.Fitted[0])}))
			return
		}
		lines, sum := []string{strings.Join([]string{"component", "share", "sum"}, "\t")}, 0.0
		for k, share := range found.Shares {
			sum += share
			lines = append(lines, fmt.Sprintf("%d\t%.4f\t%.4f", k+1, share, sum))
		}
		fmt.Fprintln(c.OutOrStdout(), linear.Table(lines))
	})
	c.Flags().Var(choice(&format, "text", "json"), "format", "text or json")
	return c
}
