package morpho

import (
	"embed"
	"strings"
)

//go:embed data/*.csv data/*.nwk
var dataFiles embed.FS

// embedded reads a data set of the package; each call returns a fresh copy.
func embedded(file string, about Dataset) *Dataset {
	f, err := dataFiles.Open("data/" + file)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	d, err := ReadCSV(f, file)
	if err != nil {
		panic(err)
	}
	about.Specimens, about.FromZero = d.Specimens, d.FromZero
	return &about
}

const callosumSource = "jhu_atlas: contour of labels 3–5 (genu, body, splenium) of the JHU white-matter atlas, mean of the three mid-sagittal slices, smoothed; " +
	"colin27: contour of the bright body in the ch2better (Colin27) MRI, threshold and opening. Both images from Debian's mricron-data 1.2.20211006"

// CorpusCallosum returns the outlines of two human corpora callosa in the mid-sagittal plane, "jhu_atlas" and "colin27": 39 landmarks by arc
// length, counter-clockwise, from the lowest point of the splenium, in mm (MNI space).
func CorpusCallosum() *Dataset {
	return embedded("corpus_callosum_39.csv", Dataset{Name: "corpus callosum, 39 landmarks", Unit: "mm", Closed: true, Source: callosumSource})
}

// CorpusCallosumOutline returns the outlines of CorpusCallosum with 200 points each.
func CorpusCallosumOutline() *Dataset {
	return embedded("corpus_callosum_outline_200.csv", Dataset{Name: "corpus callosum, 200 points", Unit: "mm", Closed: true, Source: callosumSource})
}

const mouseSource = "O'Higgins & Johnson (1988); Dryden & Mardia (2016), Statistical Shape Analysis; mice in the R package shapes 1.2.7"

// MouseVertebrae returns the outlines of the second thoracic vertebrae of 76 mice, 60 pseudo-landmarks each, in the groups "control" (30),
// "large" (23) and "small" (23). The units are the digitiser's and the bones lie as they were digitised: align them first (Procrustes).
// In six of the controls points are out of order, as published, and the outline of a seventh folds slightly: Inspect lists them.
func MouseVertebrae() *Dataset {
	return embedded("mouse_vertebra_outlines_60.csv", Dataset{Name: "mouse vertebrae, outlines", Closed: true, Source: mouseSource})
}

// MouseVertebraLandmarks returns the six anatomical landmarks of the bones of MouseVertebrae.
func MouseVertebraLandmarks() *Dataset {
	return embedded("mouse_vertebra_landmarks_6.csv", Dataset{Name: "mouse vertebrae, landmarks", Source: mouseSource})
}

// GorillaSkulls returns eight landmarks in the mid-sagittal plane of 59 gorilla skulls in the groups "female" (30) and "male" (29).
func GorillaSkulls() *Dataset {
	return embedded("gorilla_skulls_8.csv", Dataset{Name: "gorilla skulls",
		Source: "O'Higgins (1989); Dryden & Mardia (2016), Statistical Shape Analysis; gorf.dat and gorm.dat in the R package shapes 1.2.7"})
}

// Brain2D returns 13 landmarks of mid-sagittal brain MRI of 28 people in the groups "con" (14 controls) and "scz" (14 patients with schizophrenia).
func Brain2D() *Dataset {
	return embedded("midsagittal_brain_13.csv", Dataset{Name: "mid-sagittal brains",
		Source: "DeQuardo et al. (1996); Bookstein (1996); schizophrenia in the R package shapes 1.2.7"})
}

// Brain3D returns 24 landmarks in space of brain MRI of 58 people; the groups are the sexes "f" and "m".
func Brain3D() *Dataset {
	return embedded("brain_24_3d.csv", Dataset{Name: "brains, 3-D", Source: "Free et al. (2001); brains in the R package shapes 1.2.7"})
}

const geomorph = " in the R package geomorph 4.0.8"

// Plethodon returns 12 landmarks of the heads of 40 salamanders with the covariates "species" (Jord, Teyah) and "site" (Symp, Allo: with the
// other species or without).
func Plethodon() *Dataset {
	return embedded("plethodon_12.csv", Dataset{Name: "salamander heads", Source: "Adams (2004), Ecology 85; Adams (2010), BMC Evol. Biol. 10; plethodon" + geomorph})
}

// PlethodonSpecies returns the mean heads of nine species of salamanders, 11 landmarks each; the specimens are the species of PlethodonTree.
// Align them first.
func PlethodonSpecies() *Dataset {
	return embedded("plethodon_species_11.csv", Dataset{Name: "salamander species", Source: "Adams & Collyer (2009 ff.); plethspecies" + geomorph})
}

// PlethodonTree returns the phylogeny of PlethodonSpecies in Newick's format, with branch lengths.
func PlethodonTree() string {
	tree, err := dataFiles.ReadFile("data/plethodon_species.nwk")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(tree))
}

// MosquitoWings returns 18 landmarks of the wings of mosquitoes with the covariates "individual", "side" and "replicate".
func MosquitoWings() *Dataset {
	return embedded("mosquito_wings_18.csv", Dataset{Name: "mosquito wings", Source: "mosquito" + geomorph})
}

// Pupfish returns 56 landmarks and semi-landmarks of the bodies of 54 pupfish, aligned as published, with the covariates "sex", "population" and
// "centroid_size", that before they were scaled.
func Pupfish() *Dataset {
	return embedded("pupfish_56.csv", Dataset{Name: "pupfish", Source: "Collyer, Sekora & Adams (2015), Heredity 115; pupfish" + geomorph})
}

// Rats returns eight landmarks of the skulls of 18 rats, each at eight ages, with the covariates "rat" and "age" (days).
func Rats() *Dataset {
	return embedded("rat_growth_8.csv", Dataset{Name: "rat skulls", Source: "Vilmann; Bookstein (1991), Morphometric Tools for Landmark Data; rats in the R package shapes 1.2.7"})
}

// GreatApes returns eight landmarks of 167 skulls in the groups "gorf", "gorm", "panf", "panm", "pongof" and "pongom": gorillas,
// chimpanzees and orang-utans, female and male.
func GreatApes() *Dataset {
	return embedded("great_apes_8.csv", Dataset{Name: "great apes", Source: "O'Higgins; Dryden & Mardia (2016), Statistical Shape Analysis; apes in the R package shapes 1.2.7"})
}
