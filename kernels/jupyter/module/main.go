// Module prints the folder of the Go module that the working directory lies in, or nothing if it lies in none. Of a module that others
// may write to it prints why it is passed over, and exits with status 1: the cells of a notebook would compile what they put there.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"anatomy/geom/engine/trusted"
)

func main() {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = find(dir)
	}
	if err != nil {
		fmt.Println("cells do not have the packages around the notebook:", err)
		os.Exit(1)
	} else if dir != "" {
		fmt.Println(dir)
	}
}

// find returns the nearest folder with a go.mod from a folder upwards, without links, or "".
func find(dir string) (module string, err error) {
	dir, err = filepath.EvalSymlinks(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "go.mod")
		if info, missing := os.Stat(file); missing == nil && info.Mode().IsRegular() {
			if err = trusted.Path(dir); err == nil {
				err = trusted.Path(file)
			}
			return dir, err
		}
		if dir == "/" {
			return "", nil
		}
	}
	return "", err
}
