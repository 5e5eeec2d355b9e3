package morpho

import (
	"bytes"
	"embed"
	"encoding/json"
	"strings"

	"anatomy/geom/try"
)

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
