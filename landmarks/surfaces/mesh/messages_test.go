package mesh

import (
	"testing"

	"anatomy/landmarks/internal/zoo"
)

func TestMessagesSayWhatToDo(t *testing.T) {
	zoo.Messages(t, 100, "arrays.go", "clean.go", "fields.go", "files.go", "gifti.go", "measure.go", "mesh.go", "nearest.go", "obj.go", "off.go", "ply.go", "stl.go", "vtk.go",
		"vtp.go", "../../internal/markup/markup.go")
}
