package morpho

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"anatomy/landmarks/internal/text"
)

// number is the text of a coordinate.
func number(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// writeWideCSV writes the wide layout of ReadCSV: specimen, group, covariates, x1, y1[, z1], …; NA where a landmark is missing.
func writeWideCSV(w io.Writer, d *Dataset) error {
	if err := WriteCSV(io.Discard, d); err != nil {
		return err
	}
	out, covariates := csv.NewWriter(w), d.Covariates()
	header := append([]string{"specimen", "group"}, covariates...)
	for l, p := range d.Specimens[0].Points {
		for c := range p {
			header = append(header, text.Axis(c)+strconv.Itoa(l+1))
		}
	}
	out.Write(header)
	for _, s := range d.Specimens {
		if len(s.Points) != len(d.Specimens[0].Points) {
			return fmt.Errorf("%s: specimen %q has other landmarks", d.Name, s.Name)
		}
		record := []string{s.Name, s.Group}
		for _, name := range covariates {
			record = append(record, s.Covariates[name])
		}
		for _, p := range s.Points {
			for _, v := range p {
				record = append(record, number(v))
			}
		}
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}
