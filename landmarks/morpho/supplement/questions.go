package supplement

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Item is one question about data and its answer in a line: a flag of the program anatomy, a field of its page, and a parameter of the templates
// for one's own data, all of the same name.
type Item struct {
	Name    string
	Of      string   // reports that ask it: some of the letters of reports
	Step    Step     // of the work that it changes
	Example string   // of an answer
	About   string   // what it asks, in words that follow the name
	Values  []string // that are allowed, the usual one first; nil for any

	at func(*Answers) any // where the answer goes; nil for a question that only a template asks, as one of its nb.Param
}

// reports are the reports about one's own data, by their letters in Item.Of.
var reports = map[rune]string{'L': "landmarks", 'M': "one mesh", 'P': "population", 'D': "placed landmarks"}

// Step is a part of the work. Each command of the program asks the questions of the steps that it takes.
type Step int

const (
	ToRead    Step = iota // the files
	ToCorrect             // defects of the data
	ToPrepare             // shapes that are compared
	ToCompare             // them
	ToWrite               // a document
	ToDeform              // what needs XLA: templates alone do that
)

type (
	file    string // the path of a file, or SPECIMEN=FILE
	lines   string // answers with semicolons between, each of which may be given on its own
	names   []string
	counted map[string]int
)

// Questions are all questions, in the order in which doors and pages have them.
var Questions = []Item{
	{"covariates", "L", ToRead, "specimens.csv", "a table with a row for each specimen", nil, func(a *Answers) any { return (*file)(&a.Table) }},
	{"join", "L", ToRead, "order", "how rows find their specimens: by names, or by order, which gives row k to specimen k",
		[]string{"names", "order"}, func(a *Answers) any { return &a.Join.By }},
	{"unmatched", "L", ToRead, "drop", "what specimens without a row are: an error, or left out (drop)",
		[]string{"error", "drop"}, func(a *Answers) any { return &a.Join.Unmatched }},
	{"closed", "L", ToRead, "true", "the landmarks follow a closed outline", nil, func(a *Answers) any { return &a.Closed }},
	{"missing", "L", ToRead, "-999", "the code of missing landmarks", nil, func(a *Answers) any { return &a.Missing }},
	{"dimensions", "L", ToRead, "3", "2 or 3, of a table whose columns are numbered throughout",
		[]string{"2", "3"}, func(a *Answers) any { return &a.As.Dimensions }},
	{"resample", "L", ToRead, "edge=20", "how many points curves are to have, by their names or numbers from 1",
		nil, func(a *Answers) any { return (*counted)(&a.As.Resample) }},
	{"sliders", "L", ToRead, "sliders.csv", "a table of landmarks before, sliding and after, as geomorph has: these slide",
		nil, func(a *Answers) any { return (*file)(&a.Sliders) }},

	{"unit", "LMPD", ToCorrect, "mm; a=in", "the unit of the coordinates, if the file does not say, and of specimens that have another one",
		nil, func(a *Answers) any { return (*lines)(&a.Units) }},
	{"without", "L", ToCorrect, "a; b", "specimens that are left out", nil, func(a *Answers) any { return (*lines)(&a.Without) }},
	{"mirror", "L", ToCorrect, "a; b", "specimens whose mirror images are taken", nil, func(a *Answers) any { return (*lines)(&a.Mirror) }},
	{"exchange", "L", ToCorrect, "a=3,7", "landmarks of a specimen that are in each other's place",
		nil, func(a *Answers) any { return (*lines)(&a.Exchange) }},
	{"landmarks", "L", ToCorrect, "1-12, nasion", "the landmarks that are taken; without, all",
		nil, func(a *Answers) any { return &a.Landmarks }},
	{"without-landmarks", "L", ToCorrect, "3, 7-9", "landmarks that are left out of all specimens",
		nil, func(a *Answers) any { return &a.WithoutLandmarks }},
	{"measured", "L", ToCorrect, "true", "landmarks in unlikely places are there, and none is taken for a code of a missing one",
		nil, func(a *Answers) any { return &a.Measured }},

	{"curves", "L", ToPrepare, "1-9; 9-20", "landmarks of each curve in their order: the ends stay, the others slide",
		nil, func(a *Answers) any { return &a.Curves }},
	{"slide", "L", ToPrepare, "distance",
		"by what they slide: bending energy or Procrustes distance, also as geomorph slides. Then sizes are equal again, so that " +
			"sums of squares are not those of geomorph",
		[]string{"energy", "distance", "geomorph energy", "geomorph distance"}, func(a *Answers) any { return &a.Slide }},
	{"turns", "L", ToPrepare, "4", "turns of sliding as geomorph slides: nine as in geomorph 4, or four as in earlier versions",
		nil, func(a *Answers) any { return &a.Turns }},
	{"joint", "L", ToPrepare, "1; 6-11; 2-5",
		"a joint, landmarks of the part at rest and of the one that moves: specimens get one angle. In space two landmarks are " +
			"on the axis of a hinge",
		nil, func(a *Answers) any { return &a.Joint }},
	{"keep-size", "L", ToPrepare, "true", "forms are compared: specimens are not brought to one size",
		nil, func(a *Answers) any { return &a.KeepSize }},

	{"model", "L", ToCompare, "size + sex*population", "terms that explain the shapes; without, the groups",
		nil, func(a *Answers) any { return &a.Model }},
	{"sums", "L", ToCompare, "II", "the type of the sums of squares", []string{"I", "II", "III"}, func(a *Answers) any { return &a.Sums }},
	{"by", "L", ToCompare, "species", "the column whose values are the groups", nil, func(a *Answers) any { return &a.By }},
	{"parts", "L", ToCompare, "jaw: 1-5, 8; skull: 6, 7, 9-12", "parts that may vary together, with all landmarks",
		nil, func(a *Answers) any { return &a.Parts }},
	{"pairs", "L", ToCompare, "1-2, 3-4", "landmarks on the left and on the right of symmetric shapes: how the sides differ",
		nil, func(a *Answers) any { return &a.Pairs }},
	{"covary", "L", ToCompare, "mass, gape", "columns of numbers: how shapes covary with them", nil, func(a *Answers) any { return &a.Covary }},
	{"tree", "L", ToCompare, "species.nwk",
		"a phylogeny in Newick's format or NEXUS, whose leaves are the specimens, or values of one of their columns",
		nil, func(a *Answers) any { return (*file)(&a.Phylogeny) }},
	{"trees", "L", ToCompare, "all",
		"of a file of several trees the first, or all, over which the phylogenetic signal is computed with its spread",
		[]string{"first", "all"}, func(a *Answers) any { return &a.Which }},
	{"links", "L", ToCompare, "1-2, 2-3, 3-1", "landmarks that lines join in figures, as in a wireframe",
		nil, func(a *Answers) any { return &a.Links }},
	{"mesh", "L", ToCompare, "skull7=scan.ply",
		"the surface of a specimen, which figures warp: a file that is named after the specimen, or SPECIMEN=FILE",
		nil, func(a *Answers) any { return (*file)(&a.Scan) }},
	{"permutations", "L", ToCompare, "9999", "random draws of each test", nil, func(a *Answers) any { return &a.Permutations }},
	{"seed", "L", ToCompare, "7", "the seed of the draws", nil, func(a *Answers) any { return &a.Seed }},

	{"title", "LMPD", ToWrite, "Heads of salamanders", "the title of the page", nil, func(a *Answers) any { return &a.Title }},
	{"authors", "LMPD", ToWrite, "A. Name; B. Name", "the authors of the page", nil, func(a *Answers) any { return (*names)(&a.Authors) }},

	{"from", "L", ToDeform, "chimp", "a deformation is drawn from this specimen or group", nil, nil},
	{"to", "L", ToDeform, "Homo sapiens", "the specimen or group to which it leads", nil, nil},
	{"width", "L", ToDeform, "3", "the width of the kernel, in distances of neighbouring landmarks", nil, nil},
	{"mismatch", "L", ToDeform, "0.1",
		"how far deformations may miss the landmarks: such a miss, in centroid sizes, costs as much as a deformation of length " +
			"1; 0 asks for exact matches",
		nil, nil},
	{"templates", "D", ToDeform, "skull1.mrk.json", "the file or folder of the landmarks of some meshes", nil, nil},
	{"model", "D", ToDeform, "size", "terms that explain the shapes", nil, nil},
	{"deformation", "PD", ToDeform, "0.5", "the width of the deformations, in sizes of the first subject or template", nil, nil},
	{"detail", "PD", ToDeform, "0.2", "the width in which shapes are compared, in the same unit", nil, nil},
	{"noise", "P", ToDeform, "2", "the noise of the shapes, in multiples of the usual one", nil, nil},
	{"similarity", "P", ToDeform, "true", "subjects are scaled, too", nil, nil},
	{"smooth", "P", ToDeform, "false", "templates of surfaces move by smooth fields", nil, nil},
	{"tolerance", "P", ToDeform, "0.05", "residuals at which the search ends", nil, nil},
	{"folder", "P", ToDeform, "results", "a folder for files that ParaView shows", nil, nil},
	{"file", "D", ToDeform, "placed.csv", "the table of landmarks that is written", nil, nil},
}

// Named returns the question of a name that the program asks, nil for none.
func Named(name string) *Item {
	at := slices.IndexFunc(Questions, func(i Item) bool { return i.Name == name && i.Everywhere() })
	if at < 0 {
		return nil
	}
	return &Questions[at]
}

// Everywhere says whether the program and its page ask it, and not templates alone.
func (i Item) Everywhere() bool { return i.at != nil }

// Kind is what an answer is: "file", "bool", "number", "choice" or "text".
func (i Item) Kind() string {
	if i.Values != nil {
		return "choice"
	}
	switch i.at(new(Answers)).(type) {
	case *file:
		return "file"
	case *bool:
		return "bool"
	case *int, *uint64, *float64:
		return "number"
	}
	return "text"
}

// Usual is the answer where none is given, "" for none.
func (i Item) Usual() string {
	usual := reflect.ValueOf(i.at(Usual())).Elem()
	if usual.IsZero() || usual.Kind() == reflect.Float64 {
		return ""
	}
	return fmt.Sprint(usual)
}

// Set answers the question. Answers of which several may be given are added to those before; the empty text takes these back. The error says what is
// wanted.
func (i Item) Set(a *Answers, text string) (err error) {
	if text != "" && i.Values != nil && !slices.Contains(i.Values, text) {
		return fmt.Errorf("want %s", strings.Join(i.Values, " or "))
	}
	want := "a whole number"
	switch to := i.at(a).(type) {
	case *string:
		*to = text
	case *file:
		*to = file(text)
	case *lines:
		if *to != "" && text != "" {
			text = string(*to) + "; " + text
		}
		*to = lines(text)
	case *names:
		for name := range strings.SplitSeq(text, ";") {
			*to = append(*to, strings.TrimSpace(name))
		}
	case *counted:
		*to, want = counted{}, "how many points each curve is to have, such as edge=20,tip=8"
		for part := range strings.SplitSeq(text, ",") {
			name, count, _ := strings.Cut(part, "=")
			n, wrong := strconv.Atoi(strings.TrimSpace(count))
			(*to)[strings.TrimSpace(name)], err = n, errors.Join(err, wrong)
		}
	case *bool:
		*to, err = strconv.ParseBool(text)
		want = "true or false"
	case *int:
		*to, err = strconv.Atoi(text)
	case *uint64:
		*to, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
		want = "a number"
	}
	if err != nil {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

// Take answers the question as other answers do, in addition to those that there are of several.
func (i Item) Take(to, from *Answers) {
	if l, are := i.at(from).(*lines); are {
		_ = i.Set(to, string(*l)) // any lines do
		return
	}
	reflect.ValueOf(i.at(to)).Elem().Set(reflect.ValueOf(i.at(from)).Elem())
}

// Markdown is the table of all questions for a page.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| question | for example | usually | what it asks | reports |\n|---|---|---|---|---|\n")
	for _, i := range Questions {
		usual, doors, about := "", "", []string{}
		if i.Everywhere() {
			usual = i.Usual()
		} else {
			doors = "†"
		}
		for _, of := range i.Of {
			about = append(about, reports[of])
		}
		fmt.Fprintf(&b, "| `%s`%s | `%s` | %s | %s | %s |\n", i.Name, doors, i.Example, usual, i.About, strings.Join(about, ", "))
	}
	return b.String()
}
