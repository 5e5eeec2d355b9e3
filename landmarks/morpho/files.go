package morpho

import (
	"bytes"
	"embed"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho/files"
)

// Reading says how a file is read where nothing in it tells. The zero value leaves everything to the file.
type Reading struct {
	Dimensions int            // 2 or 3, of a table whose columns are numbered throughout
	Resample   map[string]int // how many points each curve is to have, by its name, or by its number from 1
}

// Extensions are those of the files that Read reads by their names; a folder may hold more, whose contents tell.
func Extensions() []string { return files.Extensions() }

// Read returns the landmarks in a file, in a .zip of files, or in a folder. Coordinates keep the unit of the file. A missing
// landmark has the coordinates NaN; see Dataset.Validate. Unit and Closed are known from some formats only: set them after reading
// others.
//
// The extension names the format, one of Extensions. The contents name that of files with other extensions, and of .txt, .dat and
// .asc.
//
// In a folder every file is a specimen, named after the file without its extension. Read ignores hidden files. It also ignores
// folders and files of other kinds, such as meshes beside their landmarks, and says so in Notes. All specimens must have the same
// numbers of landmarks and coordinates. Of labels, those that most files have are taken, where at most a quarter differs; labels that are
// words tell the order of landmarks and which are missing. Labels that are a name with a number, as 3D Slicer makes them (F-1, F-2, …), are
// the same if the numbers are. Tables whose names have slid, wire, link or curve in them, of two or three whole numbers in each row, are
// Links and Sliders.
//
// Errors name the file and the line and say what to do. errors.Is(err, ErrNotLandmarks) holds for a file of another kind.
func Read(path string) (*Dataset, error) { return Reading{}.Read(path) }

// Read is the function Read, as the Reading says.
func (as Reading) Read(path string) (*Dataset, error) {
	d, err := files.Reading(as).Read(path)
	return (*Dataset)(d), err
}

// ErrNotLandmarks is what the error of a file of something else is: of another kind, or of a table without coordinates.
var ErrNotLandmarks = files.ErrNotLandmarks

// ReadCSV reads a table in text, whose columns are separated by commas, semicolons, tabs or spaces, in either of two layouts:
//
//	long: a row for each landmark: specimen, group, landmark, x, y[, z]
//	wide: a row for each specimen: specimen, group, x1, y1[, z1], x2, y2[, z2], …
//
// The columns stand in any order. The letter of an axis stands before or behind the name or number of the landmark, on one side in the whole
// table: x1, 1.x, x_1, "LM1 x (mm)", LM1_X, nasion_x, Sx; or x, y, x, y, … stand below a row with the names of the landmarks. Names are the
// data set's Labels. Columns that are numbered throughout (V1, V2, …) are coordinates if the shapes agree in pairs or triples of them.
//
// Specimens are named by the column "specimen", "name" or "id" and the like, in a long table also "individual", "subject" and "sample",
// unless its values cannot be names and those of another can: in a long table the column that is constant over each run of landmarks, in a
// wide one the first, whose words differ. Names that repeat are numbered. Without names, a specimen of a long table begins where the first
// landmark comes again, else all rows are one; those of a wide table are numbered. R's header may be one title shorter than the rows. Group
// and landmark may be left out (landmarks come in order). Other columns with a title are Covariates, unless they differ between the
// landmarks of a specimen. Landmarks are numbered from 0 or from 1; those of a long table may have names, the same in each specimen. A
// blank, NA or NaN is a missing coordinate; z that are all missing are left out. A first line sep=; names the separator. Notes say what
// values decided, and where the shapes would agree much better in another order than in that of the titles.
//
// Passed over, with a note in Notes, are lines above the header, rows without text, lines below the table, and columns without a title. A
// row below the header, or brackets in it, may have the unit of length.
//
// A table without a header is one specimen where each row holds two or three coordinates, at least three rows of them, behind a name or a
// number of the landmark or not; Notes say so. Lines that begin with #, the heads of Landmark Editor (Version 1.0 and a count; 9999 is
// missing) and of files with n_points:, and lines without numbers above and below are passed over.
//
// Where columns are not separated by commas, a number may have a decimal comma (2,5), as spreadsheets write it in many
// countries. It is an error if others of the file have a decimal point, or if all those with a comma may be thousands (2,500).
// name is that of the file, for Name, Source and errors.
func ReadCSV(r io.Reader, name string) (*Dataset, error) {
	d, err := files.Reading{}.ReadAs("CSV", r, name)
	return (*Dataset)(d), err
}

// Write writes a data set in the format that the extension of path names:
//
//	.csv, .tsv                one row per landmark; with covariates
//	.tps                      with curves
//	.nts, .dta, .morphologika, .txt (Morphologika), .morphoj.txt (the text of MorphoJ)
//	.npy                      without names
//	.mrk.json, .fcsv          3D Slicer, one specimen; with labels, and .mrk.json with unit and Closed
//
// With .zip behind an extension, as in skulls.mrk.json.zip, it writes an archive with one file per specimen. Read gives back every
// coordinate to the last bit. What a format cannot hold, by this list, is not written.
//
// It is an error if the extension names no format that can be written, if the data set has no specimens, if a format of one specimen
// is given several, if a name has a line break or spaces around it, or if a coordinate is infinite; NaN is written as missing. Write writes a file
// beside path and renames it, so that after an error an earlier file is as it was.
func Write(path string, d *Dataset) error { return files.Write(path, (*files.Data)(d)) }

// WriteCSV writes the long layout of ReadCSV: specimen, group, covariates, landmark (as Dataset.Landmark calls it), x, y[, z]; NA where a landmark is
// missing. Counts may differ between specimens, dimensions may not.
func WriteCSV(w io.Writer, d *Dataset) error { return files.WriteAs("CSV", w, (*files.Data)(d)) }

// ReadSliders returns the data set with the sliding semi-landmarks of a table, see Dataset.Sliders: a row for each, of the landmarks before,
// sliding and after, counted from 1, or from 0 if one is 0; two in each row are Links.
func (d *Dataset) ReadSliders(path string) (*Dataset, error) {
	out := *d
	if err := (*files.Data)(&out).AddChains(path); err != nil {
		return nil, err
	}
	return &out, nil
}

// dropChains leaves out links and sliders that have one of the landmarks, and counts the others anew.
func (d *Dataset) dropChains(landmarks []int) {
	landmarks = slices.Compact(slices.Sorted(slices.Values(landmarks)))
	anew := func(chain []int) bool { // false if one is left out
		for k, l := range chain {
			before, is := slices.BinarySearch(landmarks, l)
			if is {
				return false
			}
			chain[k] -= before
		}
		return true
	}
	links, sliders := d.Links, d.Sliders
	d.Links, d.Sliders = nil, nil
	for _, l := range links {
		if anew(l[:]) {
			d.Links = append(d.Links, l)
		}
	}
	for _, s := range sliders {
		if anew(s[:]) {
			d.Sliders = append(d.Sliders, s)
		}
	}
}

//go:embed data/*.csv data/*.nwk data/about.json
var dataFiles embed.FS

// embedded reads a data set of the package; each call returns a fresh copy. about.json has the Name, the Source, … of each file.
func embedded(file string) *Dataset {
	about := map[string]*Dataset{}
	err := try.Run(func() {
		try.Do(json.Unmarshal(try.Get(dataFiles.ReadFile("data/about.json")), &about))
		d := try.Get(ReadCSV(bytes.NewReader(try.Get(dataFiles.ReadFile("data/"+file))), file))
		about[file].Specimens, about[file].FromZero = d.Specimens, d.FromZero
	})
	if err != nil {
		panic(err)
	}
	return about[file]
}

// CorpusCallosum returns the outlines of two human corpora callosa in the mid-sagittal plane, "jhu_atlas" and "colin27": 39 landmarks by arc
// length, counter-clockwise, from the lowest point of the splenium, in mm (MNI space).
func CorpusCallosum() *Dataset { return embedded("corpus_callosum_39.csv") }

// CorpusCallosumOutline returns the outlines of CorpusCallosum with 200 points each.
func CorpusCallosumOutline() *Dataset { return embedded("corpus_callosum_outline_200.csv") }

// MouseVertebrae returns the outlines of the second thoracic vertebrae of 76 mice, 60 pseudo-landmarks each, in the groups "control" (30),
// "large" (23) and "small" (23). The units are the digitiser's and the bones lie as they were digitised: align them first (Procrustes).
// In six of the controls points are out of order, as published, and the outline of a seventh folds slightly: Inspect lists them.
func MouseVertebrae() *Dataset { return embedded("mouse_vertebra_outlines_60.csv") }

// MouseVertebraLandmarks returns the six anatomical landmarks of the bones of MouseVertebrae.
func MouseVertebraLandmarks() *Dataset { return embedded("mouse_vertebra_landmarks_6.csv") }

// GorillaSkulls returns eight landmarks in the mid-sagittal plane of 59 gorilla skulls in the groups "female" (30) and "male" (29).
func GorillaSkulls() *Dataset { return embedded("gorilla_skulls_8.csv") }

// Brain2D returns 13 landmarks of mid-sagittal brain MRI of 28 people in the groups "con" (14 controls) and "scz" (14 patients with schizophrenia).
func Brain2D() *Dataset { return embedded("midsagittal_brain_13.csv") }

// Brain3D returns 24 landmarks in space of brain MRI of 58 people; the groups are the sexes "f" and "m".
func Brain3D() *Dataset { return embedded("brain_24_3d.csv") }

// Plethodon returns 12 landmarks of the heads of 40 salamanders with the covariates "species" (Jord, Teyah) and "site" (Symp, Allo: with the
// other species or without).
func Plethodon() *Dataset { return embedded("plethodon_12.csv") }

// PlethodonSpecies returns the mean heads of nine species of salamanders, 11 landmarks each; the specimens are the species of PlethodonTree.
// Align them first.
func PlethodonSpecies() *Dataset { return embedded("plethodon_species_11.csv") }

// PlethodonTree returns the phylogeny of PlethodonSpecies in Newick's format, with branch lengths.
func PlethodonTree() string {
	tree, err := dataFiles.ReadFile("data/plethodon_species.nwk")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(tree))
}

// MosquitoWings returns 18 landmarks of the wings of mosquitoes with the covariates "individual", "side" and "replicate".
func MosquitoWings() *Dataset { return embedded("mosquito_wings_18.csv") }

// Pupfish returns 56 landmarks and semi-landmarks of the bodies of 54 pupfish, aligned as published, with the covariates "sex", "population" and
// "centroid_size", that before they were scaled.
func Pupfish() *Dataset { return embedded("pupfish_56.csv") }

// Rats returns eight landmarks of the skulls of 18 rats, each at eight ages, with the covariates "rat" and "age" (days).
func Rats() *Dataset { return embedded("rat_growth_8.csv") }

// GreatApes returns eight landmarks of 167 skulls in the groups "gorf", "gorm", "panf", "panm", "pongof" and "pongom": gorillas,
// chimpanzees and orang-utans, female and male.
func GreatApes() *Dataset { return embedded("great_apes_8.csv") }
