package mesh

// Readers and writers of single formats, for tests of what they say.
var (
	ReadGIfTI, ReadOBJ, ReadOFF, ReadPLY, ReadSTL, ReadVTK, ReadVTP = readGIfTI, readOBJ, readOFF, readPLY, readSTL, readVTK, readVTP
	WriteOBJ, WriteOFF, WriteVTK, WriteVTP                          = writeOBJ, writeOFF, writeVTK, writeVTP
)
