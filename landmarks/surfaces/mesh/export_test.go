package mesh

import (
	"bufio"
	"io"
)

// Readers and writers of single formats, for tests of what they say.
var (
	ReadGIfTI, ReadOBJ, ReadOFF, ReadPLY, ReadSTL, ReadVTK, ReadVTP = readGIfTI, readOBJ, readOFF, readPLY, readSTL, readVTK, readVTP
	WriteOBJ, WriteOFF, WriteVTK, WriteVTP                          = writer(writeOBJ), writer(writeOFF), writer(writeVTK), writer(fileFormats[6].write)
)

func writer(write func(out *bufio.Writer, m *Mesh)) func(w io.Writer, m *Mesh) error {
	return func(w io.Writer, m *Mesh) error { return written(w, m, write) }
}
