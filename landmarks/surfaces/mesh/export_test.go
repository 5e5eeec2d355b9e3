package mesh

import (
	"bufio"
	"io"

	"anatomy/landmarks/internal/text"
)

// Readers and writers of single formats, for tests of what they say.
var (
	ReadGIfTI, ReadOBJ, ReadOFF, ReadPLY, ReadSTL, ReadVTK, ReadVTP = reader(readGIfTI), reader(readOBJ), reader(readOFF), reader(readPLY), reader(readSTL), reader(readVTK), reader(readVTP)
	WriteOBJ, WriteOFF, WriteVTK, WriteVTP                          = writer(writeOBJ), writer(writeOFF), writer(writeVTK), writer(fileFormats[6].write)
)

func reader(read func(in *text.Reader, b *builder)) func(r io.Reader, name string) (*Mesh, error) {
	return (&fileFormat{read: read}).mesh
}

func writer(write func(out *bufio.Writer, m *Mesh)) func(w io.Writer, m *Mesh) error {
	return func(w io.Writer, m *Mesh) error { return written(w, m, write) }
}
