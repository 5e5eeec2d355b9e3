package morpho

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// readMorphologika reads the Morphologika format of O'Higgins and Jones: the sections [individuals], [landmarks], [dimensions] with a
// count each, [names] with a name in each line, [labels] and [labelvalues] with a group in each line, and [rawpoints] with a line for each
// landmark, the specimens one after another (lines that begin with ' there are comments). Other sections ([wireframe],
// [polygons], …) are passed over. NA or NaN is a missing coordinate.
func readMorphologika(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset { return parseMorphologika(in, name) })
}

func parseMorphologika(in *lineReader, name string) *Dataset {
	counts := map[string]int{}     // [individuals], [landmarks], [dimensions]
	texts := map[string][]string{} // [names], [labelvalues]
	seen := map[string]int{}       // line of each section
	var points [][]float64
	section := ""
	for in.next() {
		if strings.HasPrefix(in.text, "[") {
			end := strings.IndexByte(in.text, ']')
			if end < 0 {
				refuse("write sections as [names]", "%s lacks its ]", text.Clip(in.text))
			}
			if end != len(in.text)-1 {
				refuse("write it in a line of its own", "%s after %s", text.Clip(in.text[end+1:]), text.Clip(in.text[:end+1]))
			}
			section = strings.ToLower(strings.TrimSpace(in.text[1:end]))
			if line, twice := seen[section]; twice {
				refuse("remove one of them", "a second [%s]; the first is in line %d", section, line)
			}
			seen[section] = in.Number
			if section == "rawpoints" {
				checkMorphologikaCounts(counts)
			}
			continue
		}
		switch section {
		case "":
			refuse("begin with [individuals]", "%s before the first [section]", text.Clip(in.text))
		case "individuals", "landmarks", "dimensions":
			if _, twice := counts[section]; twice {
				refuse("keep the right one", "a second number in [%s]", section)
			}
			counts[section] = try.Get(text.Count(section, in.text))
		case "names", "labelvalues":
			texts[section] = append(texts[section], in.text)
		case "rawpoints":
			if strings.HasPrefix(in.text, "'") {
				continue
			}
			individual, landmark := len(points)/counts["landmarks"], len(points)%counts["landmarks"]
			if individual == counts["individuals"] {
				refuse("correct [individuals] or [landmarks], or remove the rest",
					"%s after the last of %d × %d landmarks", text.Clip(in.text), individual, counts["landmarks"])
			}
			point, err := in.coordinates(landmark, counts["dimensions"])
			if err != nil {
				try.Do(fmt.Errorf("specimen %d of %d, %w", individual+1, counts["individuals"], err))
			}
			points = append(points, point)
		}
	}
	in.decimals(name)
	if seen["rawpoints"] == 0 {
		refuseAt(name, 0, "write the landmarks into a section [rawpoints]", "no [rawpoints], so no landmarks")
	}
	individuals, landmarks := counts["individuals"], counts["landmarks"]
	if len(points) < individuals*landmarks {
		refuse("the file may have been cut off: save it again",
			"the file ends before landmark %d of specimen %d: %d individuals of %d landmarks are announced",
			len(points)%landmarks, len(points)/landmarks+1, individuals, landmarks)
	}
	for section, values := range texts {
		if len(values) != individuals {
			refuseAt(name, seen[section], "write a line for each individual, or leave the section out",
				"%d lines in [%s], but %d individuals", len(values), section, individuals)
		}
	}
	d := newDataset(name)
	d.Specimens = make([]Specimen, individuals)
	for i := range d.Specimens {
		s := &d.Specimens[i]
		s.Points = points[i*landmarks : (i+1)*landmarks : (i+1)*landmarks]
		if names := texts["names"]; names != nil {
			s.Name = names[i]
		}
		if groups := texts["labelvalues"]; groups != nil {
			s.Group = groups[i]
		}
	}
	return d
}

// checkMorphologikaCounts sees before [rawpoints] that the three counts are there and can be.
func checkMorphologikaCounts(counts map[string]int) {
	for _, section := range []string{"individuals", "landmarks", "dimensions"} {
		count, ok := counts[section]
		if !ok {
			refuse("write that section above", "[rawpoints] before a number in [%s]", section)
		}
		if count == 0 {
			refuse("correct it", "[%s] is 0", section)
		}
	}
	if dim := counts["dimensions"]; dim != 2 && dim != 3 {
		refuse("write 2 or 3", "[dimensions] is %d: shapes are in 2 or 3 dimensions", dim)
	}
	if most := input.Coordinates.Most(); counts["individuals"] > most/counts["landmarks"]/counts["dimensions"] {
		refuse("correct [individuals] or [landmarks]",
			"%d individuals of %d landmarks are more than the %d coordinates that a file may hold", counts["individuals"], counts["landmarks"], most)
	}
}

// writeMorphologika writes the sections that readMorphologika reads, with the groups as the label "group"; NA where a landmark is missing.
// Either every specimen has a group or none has.
func writeMorphologika(w io.Writer, d *Dataset) error {
	n, dim, err := d.checkRectangular()
	if err != nil {
		return err
	}
	grouped := slices.ContainsFunc(d.Specimens, func(s Specimen) bool { return s.Group != "" })
	for _, s := range d.Specimens {
		switch {
		case strings.HasPrefix(s.Name, "[") || strings.HasPrefix(s.Group, "["):
			return fmt.Errorf("%s: specimen %q, group %q: %w", d.Name, s.Name, s.Group, text.Advise("rename it, or use another format",
				"a line that begins with [ would be a section"))
		case grouped && s.Group == "":
			return fmt.Errorf("%s: %w", d.Name, text.Advise("give each specimen a group, or none",
				"specimen %q has no group, but others have", s.Name))
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "[individuals]\n%d\n[landmarks]\n%d\n[dimensions]\n%d\n[names]\n", len(d.Specimens), n, dim)
	for _, s := range d.Specimens {
		fmt.Fprintln(out, s.Name)
	}
	if grouped {
		fmt.Fprintf(out, "[labels]\ngroup\n[labelvalues]\n")
		for _, s := range d.Specimens {
			fmt.Fprintln(out, s.Group)
		}
	}
	fmt.Fprintln(out, "[rawpoints]")
	for _, s := range d.Specimens {
		fmt.Fprintf(out, "\n'%s\n", s.Name)
		writeRows(out, s.Points)
	}
	return out.Flush()
}
