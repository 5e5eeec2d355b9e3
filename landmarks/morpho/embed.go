package morpho

import "embed"

//go:embed data/*.csv
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
	about.Specimens = d.Specimens
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
