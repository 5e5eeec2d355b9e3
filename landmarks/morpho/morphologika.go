package morpho

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// readMorphologika reads the Morphologika format of O'Higgins and Jones: the sections [individuals], [landmarks], [dimensions] with a
// count each, [names] with a name in each line, [labels] with the names of what [labelvalues] has in each line, [wireframe] with landmarks in each
// line that lines join, counted from 1, and [rawpoints] with a line for each landmark, the specimens one after another (lines that begin with
// ' there are comments). Each label is a covariate; one that is called group, or has no name, is the group. Other sections ([polygons], …)
// are passed over. NA or NaN is a missing coordinate.
func readMorphologika(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset { return parseMorphologika(in, name) })
}

// morphologika is what a file of Morphologika has.
type morphologika struct {
	in     *lineReader
	name   string
	counts map[string]int      // [individuals], [landmarks], [dimensions]
	texts  map[string][]string // lines of other sections
	seen   map[string]int      // line of each section
	points [][]float64
}

func parseMorphologika(in *lineReader, name string) *Dataset {
	m := &morphologika{in, name, map[string]int{}, map[string][]string{}, map[string]int{}, nil}
	section := ""
	for in.next() {
		if strings.HasPrefix(in.text, "[") {
			section = m.section()
			continue
		}
		switch section {
		case "":
			refuse("begin with [individuals]", "%s before the first [section]", text.Clip(in.text))
		case "individuals", "landmarks", "dimensions":
			if _, twice := m.counts[section]; twice {
				refuse("keep the right one", "a second number in [%s]", section)
			}
			m.counts[section] = try.Get(text.Count(section, in.text))
		case "names", "labels", "labelvalues", "wireframe":
			m.texts[section] = append(m.texts[section], in.text)
		case "rawpoints":
			m.point()
		}
	}
	return m.dataset()
}

// section reads the title of one.
func (m *morphologika) section() string {
	line := m.in.text
	end := strings.IndexByte(line, ']')
	if end < 0 {
		refuse("write sections as [names]", "%s lacks its ]", text.Clip(line))
	}
	if end != len(line)-1 {
		refuse("write it in a line of its own", "%s after %s", text.Clip(line[end+1:]), text.Clip(line[:end+1]))
	}
	section := strings.ToLower(strings.TrimSpace(line[1:end]))
	if line, twice := m.seen[section]; twice {
		refuse("remove one of them", "a second [%s]; the first is in line %d", section, line)
	}
	m.seen[section] = m.in.Number
	if section == "rawpoints" {
		checkMorphologikaCounts(m.counts)
	}
	return section
}

// point reads a landmark.
func (m *morphologika) point() {
	if strings.HasPrefix(m.in.text, "'") {
		return
	}
	individuals, landmarks := m.counts["individuals"], m.counts["landmarks"]
	individual, landmark := len(m.points)/landmarks, len(m.points)%landmarks
	if individual == individuals {
		refuse("correct [individuals] or [landmarks], or remove the rest",
			"%s after the last of %d × %d landmarks", text.Clip(m.in.text), individual, landmarks)
	}
	point, err := m.in.coordinates(landmark, m.counts["dimensions"])
	if err != nil {
		try.Do(fmt.Errorf("specimen %d of %d, %w", individual+1, individuals, err))
	}
	m.points = append(m.points, point)
}

func (m *morphologika) dataset() *Dataset {
	m.in.decimals(m.name)
	if m.seen["rawpoints"] == 0 {
		refuseAt(m.name, 0, "write the landmarks into a section [rawpoints]", "no [rawpoints], so no landmarks")
	}
	individuals, landmarks := m.counts["individuals"], m.counts["landmarks"]
	if len(m.points) < individuals*landmarks {
		refuse("the file may have been cut off: save it again",
			"the file ends before landmark %d of specimen %d: %d individuals of %d landmarks are announced",
			len(m.points)%landmarks, len(m.points)/landmarks+1, individuals, landmarks)
	}
	for _, section := range []string{"names", "labelvalues"} {
		if values := m.texts[section]; values != nil && len(values) != individuals {
			refuseAt(m.name, m.seen[section], "write a line for each individual, or leave the section out",
				"%d lines in [%s], but %d individuals", len(values), section, individuals)
		}
	}
	d := newDataset(m.name)
	labels := strings.Fields(strings.Join(m.texts["labels"], " "))
	d.Specimens = make([]Specimen, individuals)
	for i := range d.Specimens {
		s := &d.Specimens[i]
		s.Points = m.points[i*landmarks : (i+1)*landmarks : (i+1)*landmarks]
		if names := m.texts["names"]; names != nil {
			s.Name = names[i]
		}
		if lines := m.texts["labelvalues"]; lines != nil {
			values := strings.Fields(lines[i])
			if len(labels) != len(values) || len(labels) == 1 {
				values = []string{lines[i]}
			}
			for k, value := range values {
				if len(labels) != len(values) || strings.EqualFold(labels[k], "group") {
					s.Group = value
					continue
				}
				if s.Covariates == nil {
					s.Covariates = map[string]string{}
				}
				s.Covariates[labels[k]] = value
			}
		}
	}
	for _, line := range m.texts["wireframe"] {
		last := -1
		for word := range strings.FieldsSeq(line) {
			l, err := strconv.Atoi(word)
			if err != nil || l < 1 || l > landmarks {
				refuseAt(m.name, m.seen["wireframe"], "write numbers of landmarks from 1", "%s in [wireframe] is none of %d landmarks", text.Clip(word), landmarks)
			}
			if last >= 0 {
				d.Links = append(d.Links, [2]int{last, l - 1})
			}
			last = l - 1
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
