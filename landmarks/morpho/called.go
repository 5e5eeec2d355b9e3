package morpho

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho/files"
)

// Landmark is what the user calls landmark l: its label, or else its number, which counts from 0 if the file does (FromZero) and else from 1. All
// messages, tables, figures and options call landmarks so; ParseLandmarks reads it.
func (d *Dataset) Landmark(l int) string { return (*files.Data)(d).Landmark(l) }

// landmarkNames are all of n landmarks.
func (d *Dataset) landmarkNames(n int) []string {
	return lists.Make(n, d.Landmark)
}

// Called is "landmark 3" or "landmarks F-3 and F-8".
func (d *Dataset) Called(landmarks ...int) string {
	names := lists.Each(landmarks, d.Landmark)
	switch last := len(names) - 1; {
	case last == 0:
		return "landmark " + names[0]
	case last < 20:
		return "landmarks " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return "landmarks " + text.Listed(names)
}

// Counting says how Landmark calls the landmarks.
func (d *Dataset) Counting() string {
	switch {
	case d.Labels != nil && slices.ContainsFunc(d.Labels, func(s string) bool { return !files.WholeNumber.MatchString(s) }):
		return "landmarks have their labels"
	case d.Labels != nil:
		return "landmarks have the numbers that they had before some were left out"
	case d.FromZero:
		return "landmarks are counted from 0, as in the file"
	}
	return "landmarks are counted from 1"
}

// ParseLandmarks reads names and ranges of landmarks, such as "1-5, 8" or "nasion, F-3", as Landmark calls them. Where landmarks have labels, numbers
// from 1 stand for them too. The last one may be the first again. It is an error, which says how they are called, if there is no such landmark.
func (d *Dataset) ParseLandmarks(line string) (out []int, err error) {
	if len(d.Specimens) == 0 {
		return nil, d.empty()
	}
	n := len(d.Specimens[0].Points)
	for rest := strings.TrimLeft(line, ", \t"); rest != ""; rest = strings.TrimLeft(rest, ", \t") {
		word := rest
		from, after := d.takeLandmark(rest, n)
		to := from
		rest = strings.TrimLeft(after, " \t")
		if second := strings.TrimLeft(rest, "-–"); from >= 0 && second != rest {
			to, rest = d.takeLandmark(strings.TrimLeft(second, " \t"), n)
		}
		switch {
		case from < 0 || to < 0:
			return nil, text.Advise(fmt.Sprintf("write them with commas between, and ranges as %s-%s", d.Landmark(0), d.Landmark(min(4, n-1))),
				"no landmark is called as %s begins: landmarks are %s to %s; %s", text.Clip(word), d.Landmark(0), d.Landmark(n-1), d.Counting())
		case to < from:
			return nil, text.Advise("write the one that comes first in the file first", "%s is no range of landmarks", text.Clip(word))
		case len(out)+to-from > n:
			return nil, text.Advise("name each once", "%s is one landmark too many: some are named twice", text.Clip(word))
		}
		for l := from; l <= to; l++ {
			out = append(out, l)
		}
	}
	return out, nil
}

// ParseLink reads two landmarks with a dash between, such as "1-2" or "F-3-F-8".
func (d *Dataset) ParseLink(link string) (from, to int, err error) {
	if len(d.Specimens) == 0 || len(d.Specimens[0].Points) == 0 {
		return 0, 0, d.empty()
	}
	n := len(d.Specimens[0].Points)
	from, rest := d.takeLandmark(strings.TrimSpace(link), n)
	second := strings.TrimLeft(rest, "-– \t")
	to, after := d.takeLandmark(second, n)
	if from < 0 || to < 0 || second == rest || after != "" {
		return 0, 0, text.Advise(fmt.Sprintf("write two landmarks of %s to %s, as %[1]s-%[3]s", d.Landmark(0), d.Landmark(n-1), d.Landmark(1)),
			"it does not join two landmarks; %s", d.Counting())
	}
	return from, to, nil
}

// takeLandmark is the landmark whose name a line begins with, −1 if none of n, and what follows. Of two labels that fit it takes the longer one.
func (d *Dataset) takeLandmark(line string, n int) (landmark int, after string) {
	ends := func(s string) bool {
		return s == "" || strings.ContainsAny(s[:1], ", \t-") || strings.HasPrefix(s, "–")
	}
	landmark = -1
	length, numbered := 0, false
	for l, label := range d.Labels {
		if after, is := strings.CutPrefix(line, label); is && len(label) > length && ends(after) {
			landmark, length = l, len(label)
		}
		numbered = numbered || files.WholeNumber.MatchString(label)
	}
	if length == 0 && !numbered {
		for length < len(line) && '0' <= line[length] && line[length] <= '9' {
			length++
		}
		number, err := strconv.Atoi(line[:length])
		if !d.FromZero {
			number--
		}
		if err == nil && number >= 0 && number < n && ends(line[length:]) {
			landmark = number
		}
	}
	return landmark, line[length:]
}

// empty is the error of a data set without specimens.
func (d *Dataset) empty() error {
	return fmt.Errorf("%s: %w", d.Name, text.Advise("see what was left out", "no specimens"))
}
