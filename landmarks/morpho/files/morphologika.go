package files

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// morphologikaCounts are the sections that hold one number.
var morphologikaCounts = []string{"individuals", "landmarks", "dimensions"}

// readMorphologika reads the Morphologika format of O'Higgins and Jones: the sections [individuals], [landmarks], [dimensions] with a
// count each, [names] with a name in each line, [labels] with the names of what [labelvalues] has in each line, [wireframe] with landmarks in each
// line that lines join, counted from 1, and [rawpoints] with a line for each landmark, the specimens one after another (lines that begin with
// ' there are comments). Each label is a covariate; one that is called group, or has no name, is the group. Other sections ([polygons], …)
// are passed over. NA or NaN is a missing coordinate.
func readMorphologika(in *source) {
	counts, seen, lines, section := map[string]int{}, map[string]int{}, map[string][]string{}, ""
	var points [][]float64
	for in.next() {
		switch {
		case in.text[0] == '[':
			section = in.section(seen)
			if section == "rawpoints" {
				checkMorphologikaCounts(counts)
			}
		case section == "":
			refuse("begin with [individuals]", "%s before the first [section]", text.Clip(in.text))
		case slices.Contains(morphologikaCounts, section):
			if _, twice := counts[section]; twice {
				refuse("keep the right one", "a second number in [%s]", section)
			}
			counts[section] = try.Get(text.Count(section, in.text))
		case section == "rawpoints" && in.text[0] == '\'':
		case section == "rawpoints":
			n, individual, landmark := counts["individuals"], len(points)/counts["landmarks"], len(points)%counts["landmarks"]
			if individual == n {
				refuse("correct [individuals] or [landmarks], or remove the rest", "%s after the last of %d × %d landmarks", text.Clip(in.text), n,
					counts["landmarks"])
			}
			point, err := in.coordinates(landmark, counts["dimensions"])
			if err != nil {
				try.Fail("specimen %d of %d, %w", individual+1, n, err)
			}
			points = append(points, point)
		default:
			lines[section] = append(lines[section], in.text)
		}
	}
	in.decimals()
	if seen["rawpoints"] == 0 {
		in.refuseAt(0, "write the landmarks into a section [rawpoints]", "no [rawpoints], so no landmarks")
	}
	n, landmarks := counts["individuals"], counts["landmarks"]
	refuseIf(len(points) < n*landmarks, "the file may have been cut off: save it again",
		"the file ends before landmark %d of specimen %d: %d individuals of %d landmarks are announced", len(points)%landmarks,
		len(points)/landmarks+1, n, landmarks)
	for _, section := range []string{"names", "labelvalues"} {
		if values := lines[section]; values != nil && len(values) != n {
			in.refuseAt(seen[section], "write a line for each individual, or leave the section out", "%d lines in [%s], but %d individuals", len(values),
				section, n)
		}
	}
	labels := strings.Fields(strings.Join(lines["labels"], " "))
	for i := range n {
		s := Specimen{Points: points[i*landmarks : (i+1)*landmarks : (i+1)*landmarks]}
		if lines["names"] != nil {
			s.Name = lines["names"][i]
		}
		if lines["labelvalues"] != nil {
			s.labelled(labels, lines["labelvalues"][i])
		}
		in.add(s)
	}
	in.line = seen["wireframe"]
	for _, line := range lines["wireframe"] {
		last := -1
		for word := range strings.FieldsSeq(line) {
			l, err := strconv.Atoi(word)
			refuseIf(err != nil || l < 1 || l > landmarks, "write numbers of landmarks from 1", "%s in [wireframe] is none of %d landmarks",
				text.Clip(word), landmarks)
			if last >= 0 {
				in.Links = append(in.Links, [2]int{last, l - 1})
			}
			last = l - 1
		}
	}
}

// labelled takes a line of [labelvalues].
func (s *Specimen) labelled(labels []string, line string) {
	values := strings.Fields(line)
	if len(labels) == 1 {
		values = []string{line}
	}
	if len(labels) != len(values) {
		s.Group = line
		return
	}
	for k, value := range values {
		s.set(labels[k], value)
	}
}

// section reads the title of one, which is not among those seen.
func (in *source) section(seen map[string]int) string {
	title, rest, closed := strings.Cut(in.text, "]")
	refuseIf(!closed, "write sections as [names]", "%s lacks its ]", text.Clip(in.text))
	refuseIf(rest != "", "write it in a line of its own", "%s after %s", text.Clip(rest), text.Clip(title+"]"))
	section := strings.ToLower(strings.TrimSpace(title[1:]))
	if line, twice := seen[section]; twice {
		refuse("remove one of them", "a second [%s]; the first is in line %d", section, line)
	}
	seen[section] = in.line
	return section
}

// checkMorphologikaCounts sees before [rawpoints] that the three counts are there and can be.
func checkMorphologikaCounts(counts map[string]int) {
	for _, section := range morphologikaCounts {
		if count, ok := counts[section]; !ok {
			refuse("write that section above", "[rawpoints] before a number in [%s]", section)
		} else if count == 0 {
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
func writeMorphologika(out *bufio.Writer, d *Data) {
	n, dim := d.rectangular()
	grouped := slices.ContainsFunc(d.Specimens, func(s Specimen) bool { return s.Group != "" })
	var names, groups []string
	for _, s := range d.Specimens {
		if strings.HasPrefix(s.Name, "[") || strings.HasPrefix(s.Group, "[") {
			refuse("rename it, or use another format", "specimen %q, group %q: a line that begins with [ would be a section", s.Name, s.Group)
		} else if grouped && s.Group == "" {
			refuse("give each specimen a group, or none", "specimen %q has no group, but others have", s.Name)
		}
		names, groups = append(names, s.Name), append(groups, s.Group)
	}
	fmt.Fprintf(out, "[individuals]\n%d\n[landmarks]\n%d\n[dimensions]\n%d\n[names]\n%s\n", len(names), n, dim, strings.Join(names, "\n"))
	if grouped {
		fmt.Fprintf(out, "[labels]\ngroup\n[labelvalues]\n%s\n", strings.Join(groups, "\n"))
	}
	fmt.Fprintln(out, "[rawpoints]")
	for _, s := range d.Specimens {
		fmt.Fprintf(out, "\n'%s\n", s.Name)
		writeRows(out, s.Points)
	}
}
