package morpho

import (
	"io"
	"regexp"
	"strconv"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// checkpointPoint matches a landmark of a file of Checkpoint: number, status, coordinates, and the label in quotation marks.
var checkpointPoint = regexp.MustCompile(`^(\d{1,9}):\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+\S+\s+\S+\s+"([^"]*)"`)

// readCheckpoint reads the landmarks of a file of Stratovan Checkpoint, .ckpt, versions 5 and 6: the section
//
//	[Landmarks]
//	NumberOfPoints: 21
//	Units: um
//	0: 0 N 0x48 1469.846313 390.145691 1028.751099 0.698689 -0.657508 -0.281988 "eye_tip_L" 0 1
//
// whose lines have a number, which begins at 0, whether the landmark is there (N) or missing (M), its coordinates, a direction and its name.
// Points of curves and patches are landmarks in their places. A number that is left out is a missing landmark; Notes say so. The file is one
// specimen of its name, names are the Labels, and the Unit is that of the section.
func readCheckpoint(r io.Reader, name string) (*Dataset, error) {
	return readLines(r, name, func(in *lineReader) *Dataset { return parseCheckpoint(in, name) })
}

func parseCheckpoint(in *lineReader, name string) *Dataset {
	section, announced, found, ended := "", -1, false, false
	d := newDataset(name)
	list := slicerList{system: "LPS"}
	for in.next() {
		if strings.HasPrefix(in.text, "[") {
			ended = ended || found
			section = strings.ToLower(strings.Trim(in.text, "[]"))
			found = found || section == "landmarks"
			continue
		}
		if section != "landmarks" {
			continue
		}
		key, value, _ := strings.Cut(in.text, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "NumberOfPoints":
			announced = try.Get(text.Count("points", value))
			in.Spend(input.Coordinates, 3*announced)
			continue
		case "Units":
			if list.unit = unitIn(value); list.unit == "" {
				list.unit = value
			}
			continue
		}
		m := checkpointPoint.FindStringSubmatch(in.text)
		if m == nil {
			refuse("save the file again by Checkpoint",
				"%s is no landmark of Checkpoint: number, status, coordinates, direction, name", text.Clip(in.text))
		}
		landmark, _ := strconv.Atoi(m[1]) // nine digits at most
		if landmark < len(list.points) || landmark >= announced {
			refuse("save the file again by Checkpoint",
				"landmark %d after %d of the %d that are announced", landmark, len(list.points), announced)
		}
		list.lack(landmark, d)
		point := missingPoint()
		switch m[2] {
		case "M":
		case "N":
			point = try.Get(plainPoint(landmark, m[3:6]))
		default:
			refuse("write N for a landmark that is there, M for a missing one",
				"landmark %d: the status is %s", landmark, text.Clip(m[2]))
		}
		list.add(point, m[6])
	}
	switch {
	case !found:
		refuse("save the file by Checkpoint, with landmarks", "no section [Landmarks]")
	case announced < 0:
		refuse("save the file again by Checkpoint", "the section [Landmarks] has no NumberOfPoints")
	case !ended:
		refuse("save the file again by Checkpoint",
			"the file ends within [Landmarks], after %d of %d points", len(list.points), announced)
	}
	list.lack(announced, d)
	out := list.dataset(name)
	if list.unit == "" {
		out.Unit = ""
	}
	out.Notes = d.Notes
	return out
}

// lack adds missing landmarks up to one, and notes them.
func (s *slicerList) lack(to int, d *Dataset) {
	const told = 20
	for from := len(s.points); len(s.points) < to; {
		if l := len(s.points); l < from+told {
			d.note("landmark %d is not in the file: missing", l)
		} else if l == from+told {
			d.note("landmarks %d to %d are not in the file: missing", l, to-1)
		}
		s.add(missingPoint(), "")
	}
}
