package nb

import (
	"encoding/json"
	"fmt"
	"os"

	"anatomy/internal/lists"
	"anatomy/notebooks/internal/param"
)

// Data returns the data set that the notebook is about: of the file that the environment variable ANATOMY_DATA names,
// as `make report DATA=my.csv` sets it, or else the standard one. A file that cannot be read or that Validate refuses ends
// the cell with that error:
//
//	var data = nb.Data(morpho.MouseVertebrae(), morpho.Read)
//
// Answers, which a notebook has from the function Answers, read in their own way.
func Data[D interface{ Validate() error }](standard D, read func(path string) (D, error), answers ...interface {
	Read(path string) (D, error)
}) D {
	path := own()
	if path == "" {
		return standard
	}
	if len(answers) > 0 {
		read = answers[0].Read
	}
	own := Must(read(path))
	checked := own
	if lacks, can := any(own).(interface{ Complete() (D, error) }); can { // landmarks, which its analyses estimate
		checked = Must(lacks.Complete())
	}
	if err := checked.Validate(); err != nil {
		fail("error: %v", err)
	}
	return own
}

// Unfinished returns a folder for what a long computation about one's own data has found so far. `make report` names it in ANATOMY_UNFINISHED,
// and removes it when the report is written: after an interruption the same command goes on from there. Without the variable it is "".
func Unfinished() string { return os.Getenv("ANATOMY_UNFINISHED") }

// own is the file of one's own data, if there is one.
func own() string { return os.Getenv("ANATOMY_DATA") }

// File returns a parameter of the notebook that names a file or a folder, or SPECIMEN=FILE; "" if it is not set. `make report` copies it at the
// start, so that it stands in the report with its checksum, and cells read the copy.
func File(name string) string { return Param(name, "") }

// Param returns a parameter of the notebook: what `make report SET="name=value ..."` says, through the JSON object in the
// environment variable ANATOMY_SET, or else its standard value. Where values are allowed, none but these and the standard one is:
//
//	var sigma = nb.Param[float64]("sigma", data.Spacing())
//	var group = nb.Param("group", "all", data.Groups()...)
//
// A value that is not of the type, or not allowed, ends the cell with an error. `make report` finds it before anything is executed, where
// the type stands in brackets or the standard value is a literal, and where the allowed values are literals or, as here, what a
// method of the data returns; also append(data.Groups(), "all")...
func Param[T bool | int | float64 | string](name string, standard T, allowed ...T) T {
	text, given := parameters()[name]
	if !given {
		return standard
	}
	value, err := param.Parse(fmt.Sprintf("%T", standard), text)
	if err == nil && len(allowed) > 0 && value != any(standard) {
		err = param.Among(fmt.Sprint(value), lists.Each(allowed, func(a T) string { return fmt.Sprint(a) }))
	}
	if err != nil {
		fail("error: the parameter %s=%s: %v", name, text, err)
	}
	return value.(T)
}

// parameters are those of ANATOMY_SET by their names.
func parameters() map[string]string {
	set := map[string]string{}
	if text := os.Getenv("ANATOMY_SET"); text != "" {
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			fail("error: ANATOMY_SET=%s: %v", text, err)
		}
	}
	return set
}

// Answers returns q with those of its questions answered that `make report SET="name=value ..."` answers, as Param does it for one. An answer that is
// wrong ends the cell with an error:
//
//	asked := nb.Answers(supplement.Usual())
func Answers[Q interface {
	Set(answers map[string]string) (others []string, err error)
}](q Q) Q {
	Must(q.Set(parameters()))
	return q
}
