package morpho

import "fmt"

// Fault is what a look at the data finds wrong with a specimen, or suspects.
type Fault int

const (
	Coincident  Fault = iota // two landmarks in one place
	OtherSize                // the size is many times that of the others, or in another unit
	Mirrored                 // the mirror image fits the other specimens
	Relabelled               // the landmarks are counted the other way round, or from another one
	Swapped                  // two landmarks in each other's place
	OutOfOrder               // neighbours along an outline in an order that makes it longer
	FarFromMean              // the shape is far from the others'
	Copy                     // the shape is that of another specimen
	Coded                    // landmarks at a code of missing ones: see Dataset.Coded
)

func (f Fault) String() string {
	return [...]string{"coincident landmarks", "another size", "mirrored", "relabelled", "swapped landmarks", "out of order", "far from the mean",
		"copied", "at codes"}[f]
}

// Option is an option of the program, and a parameter of the notebook, by which something is done about a finding.
type Option struct {
	Name  string `json:"name"` // such as mirror: see Corrections
	Value string `json:"value"`
}

// String is the option as it can be pasted behind a command.
func (o Option) String() string { return "--" + o.Name + " " + quoted(o.Value) }

// Finding is one fault of one specimen, or of several that have it alike.
type Finding struct {
	Specimen  string   // "all specimens", or how many, where it is of several
	All       []string // the names of several
	Index     int      // of the specimen, −1 for several
	Fault     Fault
	Landmarks []int // those concerned; nil for all of them
	// Coincident: landmarks that have another in their place. OtherSize: the size, in medians of the others. OutOfOrder: by how much another order
	// shortens the outline, in mean spacings. Copy: 0. Coded: the number of specimens. Else the distance from the mean, or from the middle of its
	// group, in medians.
	Severity float64
	About    string // the fault in words
	Options  []Option

	advice string // with a place for each option
	places []place
}

// advise says what to do about the finding, once the specimen was looked at, with the options that do it.
func (f Finding) advise() string {
	words := make([]any, len(f.Options))
	for i, o := range f.Options {
		words[i] = o
	}
	return fmt.Sprintf(f.advice, words...)
}

// String is where, what and what to do.
func (f Finding) String() string { return f.Specimen + ": " + f.About + "; " + f.advise() }

// names are those of the specimens of the finding.
func (f Finding) names() []string {
	if f.All != nil {
		return f.All
	}
	return []string{f.Specimen}
}
