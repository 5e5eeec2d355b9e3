package nb

import (
	"encoding/json"
	"os"
	"strconv"
)

// Data returns the data set that the notebook is about: of the file that the environment variable ANATOMY_DATA names,
// as `make report DATA=my.csv` sets it, or else the standard one. A file that cannot be read or that Validate refuses ends
// the cell with that error:
//
//	var data = nb.Data(morpho.MouseVertebrae(), morpho.Read)
func Data[D interface{ Validate() error }](standard D, read func(path string) (D, error)) D {
	path := own()
	if path == "" {
		return standard
	}
	own := Must(read(path))
	if err := own.Validate(); err != nil {
		fail("error: %v", err)
	}
	return own
}

// own is the file of one's own data, if there is one.
func own() string { return os.Getenv("ANATOMY_DATA") }

// Param returns a parameter of the notebook: what `make report SET="name=value ..."` says, through the JSON object in the
// environment variable ANATOMY_SET, or else its standard value:
//
//	var sigma = nb.Param("sigma", data.Spacing())
//
// A value that is not of the type ends the cell with an error.
func Param[T bool | int | float64 | string](name string, standard T) T {
	set := map[string]string{}
	if text := os.Getenv("ANATOMY_SET"); text != "" {
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			fail("error: ANATOMY_SET=%s: %v", text, err)
		}
	}
	text, given := set[name]
	if !given {
		return standard
	}
	var value any
	var err error
	switch any(standard).(type) {
	case bool:
		value, err = strconv.ParseBool(text)
	case int:
		value, err = strconv.Atoi(text)
	case float64:
		value, err = strconv.ParseFloat(text, 64)
	case string:
		value = text
	}
	if err != nil {
		fail("error: the parameter %s=%s: want a %T", name, text, standard)
	}
	return value.(T)
}
