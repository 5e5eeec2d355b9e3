package morpho

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anatomy/landmarks/internal/replace"
	"anatomy/landmarks/internal/text"
)

// fileFormat is one file format of landmark data.
type fileFormat struct {
	name       string
	extensions []string
	recognise  func(head []byte) bool // by the first bytes of a file whose extension says nothing
	read       func(r io.Reader, name string) (*Dataset, error)
	write      func(w io.Writer, d *Dataset) error // nil if the format is read only
}

var (
	tpsHead = regexp.MustCompile(`(?im)^[ \t]*LM3?[ \t]*=`)
	ntsHead = regexp.MustCompile(`(?im)^[ \t]*1[ \t]+\d.*\bDIM[ \t]*=`)
)

// fileFormats in the order in which contents are tried.
var fileFormats = []fileFormat{
	{"FCSV", []string{".fcsv"}, fcsvHead.Match, ReadFCSV, nil},
	{"Markups", []string{".json"}, func(h []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(h), []byte("{")) }, ReadMarkups, nil},
	{"NPY", []string{".npy"}, func(h []byte) bool { return bytes.HasPrefix(h, []byte(npyMagic)) }, ReadNPY, WriteNPY},
	{"Morphologika", []string{".txt", ".morphologika"}, func(h []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(h), []byte("[")) },
		ReadMorphologika, WriteMorphologika},
	{"TPS", []string{".tps"}, tpsHead.Match, ReadTPS, WriteTPS},
	{"NTS", []string{".nts", ".dta"}, ntsHead.Match, ReadNTS, WriteNTS},
	{"CSV", []string{".csv", ".tsv"}, func(h []byte) bool {
		line, _, _ := bytes.Cut(h, []byte("\n"))
		return bytes.ContainsAny(line, ",;\t") && !bytes.Contains(h, []byte{0})
	}, ReadCSV, WriteCSV},
}

// Read reads a file of shapes. The extension names the format: .csv, .tsv, .tps, .nts, .dta, .npy, and .fcsv and .mrk.json of 3D Slicer; the
// contents of any other file tell it (Morphologika files have no extension of their own). Missing landmarks come back as NaN;
// see Dataset.Validate. Errors name the file and the line.
//
// Of a folder, such as 3D Slicer's users have, every file is a specimen, of the name of the file without extension; hidden files are passed
// over. The numbers of landmarks and of their coordinates must agree, and so must labels. Numbers behind the name of a list, as 3D Slicer
// makes them (F-1, F-2, …), agree whatever the name.
//
// Only 3D Slicer's formats hold Unit and Closed: set them after reading others.
func Read(path string) (*Dataset, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readFolder(path)
	}
	return readFile(path)
}

func readFile(path string) (*Dataset, error) {
	f, err := text.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := text.Decode(f)
	extension := strings.ToLower(filepath.Ext(path))
	// Many programs write .txt, so there the contents decide.
	if extension != ".txt" {
		for _, f := range fileFormats {
			if slices.Contains(f.extensions, extension) {
				return f.read(buffered, path)
			}
		}
	}
	head, err := buffered.Peek(4096)
	if len(head) == 0 && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range fileFormats {
		if f.recognise(head) {
			return f.read(buffered, path)
		}
	}
	return nil, fmt.Errorf("%s: neither the extension nor the contents are those of a CSV, TPS, NTS, Morphologika, NPY, FCSV or .mrk.json file", path)
}

// readFolder reads a folder with one specimen a file.
func readFolder(folder string) (*Dataset, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := newDataset(folder)
	files := map[string]string{} // of the specimens
	var first *Dataset
	var labels []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(folder, e.Name())
		d, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("%w (of a folder every file is a specimen)", err)
		}
		if len(d.Specimens) != 1 {
			return nil, fmt.Errorf("%s: %d specimens: in a folder, a file holds one", path, len(d.Specimens))
		}
		s := &d.Specimens[0]
		s.Name = stem(path)
		if other, taken := files[s.Name]; taken {
			return nil, fmt.Errorf("%s: the specimen %s is in %s, too", path, text.Clip(s.Name), other)
		}
		files[s.Name] = e.Name()
		if first == nil {
			first, labels = d, d.Labels
		}
		if err := d.correspondsTo(first); err != nil {
			return nil, fmt.Errorf("%s: %w in %s", path, err, filepath.Base(first.Source))
		}
		if !slices.Equal(d.Labels, labels) {
			labels = nil // numbers behind names that differ
		}
		out.Specimens = append(out.Specimens, *s)
	}
	if first == nil {
		return nil, fmt.Errorf("%s: a folder without files", folder)
	}
	out.Unit, out.Closed, out.Labels = first.Unit, first.Closed, labels
	return out, nil
}

// correspondsTo returns an error where the one specimen has not the landmarks of that of first: what it has, and not what there is.
func (d *Dataset) correspondsTo(first *Dataset) error {
	n, m := len(d.Specimens[0].Points), len(first.Specimens[0].Points)
	labels, others := numberLabels(d.Labels), numberLabels(first.Labels)
	switch {
	case n != m:
		return fmt.Errorf("%d landmarks, but %d", n, m)
	case n > 0 && len(d.Specimens[0].Points[0]) != len(first.Specimens[0].Points[0]):
		return fmt.Errorf("%d coordinates, but %d", len(d.Specimens[0].Points[0]), len(first.Specimens[0].Points[0]))
	case d.Unit != first.Unit:
		return fmt.Errorf("the unit is %q, but %q", d.Unit, first.Unit)
	case d.Closed != first.Closed:
		return fmt.Errorf("closed is %v, but %v", d.Closed, first.Closed)
	case len(labels) != len(others):
		return fmt.Errorf("%d labels, but %d", len(labels), len(others))
	}
	for l := range labels {
		if labels[l] != others[l] && d.Labels[l] != first.Labels[l] {
			return fmt.Errorf("landmark %d is %s, but %s", l, text.Clip(d.Labels[l]), text.Clip(first.Labels[l]))
		}
	}
	return nil
}

// numberLabels returns the numbers of labels that are numbers behind one prefix, and other labels as they are.
func numberLabels(labels []string) []string {
	const digits = "0123456789"
	numbers := slices.Clone(labels)
	for l := range labels {
		prefix := strings.TrimRight(labels[0], digits)
		number, ok := strings.CutPrefix(labels[l], prefix)
		if !ok || number == "" || strings.Trim(number, digits) != "" {
			return labels
		}
		numbers[l] = number
	}
	return numbers
}

// Write writes the data set in the format that the extension of path names: .csv (long), .tps, .nts or .dta, .npy,
// .txt or .morphologika (Morphologika). Every coordinate is read back to the last bit. The file is written beside path and
// renamed, so that an error leaves an earlier file as it was. Covariates are written to .csv and .tsv alone, .npy has no names either,
// and Unit, Closed and Labels are written to none.
func Write(path string, d *Dataset) error {
	extension := strings.ToLower(filepath.Ext(path))
	for _, f := range fileFormats {
		if f.write != nil && slices.Contains(f.extensions, extension) {
			write := f.write
			if extension == ".tsv" {
				write = func(w io.Writer, d *Dataset) error { return writeCSV(w, d, '\t') }
			}
			return replace.File(path, func(w io.Writer) error { return write(w, d) })
		}
	}
	return fmt.Errorf("%s: the extension %q names no format of landmarks; use .csv, .tsv, .tps, .nts, .dta, .npy, .txt or .morphologika", path, extension)
}

// lineReader reads a text file line by line, without blank lines and outer spaces.
type lineReader struct {
	*text.Reader
	text string
	err  error
}

func newLines(r io.Reader, file string) *lineReader {
	return &lineReader{Reader: text.NewReader(r, file)}
}

// next moves to the next line that is not blank; false at the end or after a read error.
func (l *lineReader) next() bool {
	for {
		line, err := l.Line()
		if err != nil {
			if l.text = ""; err != io.EOF {
				l.err = l.Errorf("%w", err)
			}
			return false
		}
		if l.text = strings.TrimSpace(line); l.text != "" {
			return true
		}
	}
}

// parseCoordinate reads a number; a blank, NA and NaN are a missing coordinate.
func parseCoordinate(word string) (float64, error) {
	word = strings.TrimSpace(word)
	switch strings.ToLower(word) {
	case "", "na", "nan":
		return math.NaN(), nil
	}
	v, err := text.Number(word)
	switch {
	case math.IsInf(v, 0):
		return 0, text.Advise("write a number, or NA if it is missing", "%s is infinite", text.Clip(word))
	case err != nil && strings.Contains(word, ","):
		return 0, text.Advise("use a decimal point", "%w", err)
	case err != nil:
		return 0, text.Advise("write a number, or NA if it is missing", "%w", err)
	}
	return v, nil
}

// formatCoordinate is the shortest text that parseCoordinate reads back to the same float64.
func formatCoordinate(v float64) string {
	if math.IsNaN(v) {
		return "NA"
	}
	return text.Format(v)
}

// coordinateLine reads the dim coordinates of a landmark, separated by spaces or tabs, from the current line.
func (l *lineReader) coordinateLine(landmark, dim int) ([]float64, error) {
	point := make([]float64, dim)
	count := 0
	for field := range strings.FieldsSeq(l.text) {
		if count < dim {
			v, err := parseCoordinate(field)
			if err != nil {
				return nil, l.Errorf("landmark %d: %s = %w", landmark, axis(count), err)
			}
			point[count] = v
		}
		count++
	}
	if count != dim {
		return nil, l.Errorf("landmark %d: %d values where %d coordinates belong: %s", landmark, count, dim, text.Clip(l.text))
	}
	return point, nil
}
