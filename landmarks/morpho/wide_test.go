package morpho

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"anatomy/landmarks/internal/text"
)

// writeWideCSV writes the wide layout of ReadCSV: specimen, group, covariates, x1, y1[, z1], …; NA where a landmark is missing.
func writeWideCSV(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	covariates, err := d.writableCovariates("specimen", "group", "x1", "y1", "x2", "y2")
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	header := append([]string{"specimen", "group"}, covariates...)
	for l := range n {
		for c := range dim {
			header = append(header, axis(c)+strconv.Itoa(l+1))
		}
	}
	out.Write(header)
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		if seen[s.Name] {
			return fmt.Errorf("%s: %w", d.Name, text.Advise("give each a name of its own", "two specimens %q", s.Name))
		}
		seen[s.Name] = true
		record := s.start(covariates)
		for _, p := range s.Points {
			for _, v := range p {
				record = append(record, formatCoordinate(v))
			}
		}
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}
