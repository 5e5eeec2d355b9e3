package files

import (
	"archive/zip"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"anatomy/geom/try"
	"anatomy/internal/input"
	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
)

const (
	archive     = ".zip"
	archiveList = 16 << 20 // bytes of the list of its files: they take ten times that
)

// archiveHead reads the list of an archive.
type archiveHead struct {
	*input.Reader
	read int
}

func (a *archiveHead) ReadAt(p []byte, at int64) (int, error) {
	if a.read += len(p); a.read > archiveList {
		return 0, text.Advise("unpack it, and read the folder", "the list of its files is longer than %d bytes", archiveList)
	}
	return a.Reader.ReadAt(p, at)
}

// writeArchive writes a file for each specimen, of its name, in a format.
func (f *fileFormat) writeArchive(path, extension string, d *Data) (err error) {
	defer try.Catch(&err)
	if extension == ".json" {
		extension = ".mrk.json"
	}
	try.Do(try.Name(try.Run(d.check), "%s", d.Name))
	try.Do(try.Name(try.Run(d.checkFiles), "%s", path))
	return replace.File(path, func(w io.Writer) error {
		return try.Run(func() {
			out := zip.NewWriter(w)
			for _, s := range d.Specimens {
				one := *d
				one.Specimens = []Specimen{s}
				try.Do(f.to(try.Get(out.Create(s.Name+extension)), &one))
			}
			try.Do(out.Close())
		})
	})
}

// checkFiles refuses names of specimens that are no names of files, or of one file.
func (d *Data) checkFiles() {
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		lower := strings.ToLower(s.Name)
		refuseIf(strings.ContainsAny(s.Name, `/\:*?"<>|`) || strings.HasPrefix(s.Name, "."), "rename it",
			"the name %s of a specimen is no name of a file", text.Clip(s.Name))
		refuseIf(seen[lower], "give each a name of its own", "two specimens %s would be one file", text.Clip(s.Name))
		seen[lower] = true
	}
}

// readArchive reads the files of an archive as those of a folder, or the one file that there is as a file.
func (as Reading) readArchive(path string) (d *Data) {
	file := try.Get(input.Open(path))
	defer file.Close()
	head := &archiveHead{Reader: file}
	in, err := zip.NewReader(head, int64(file.Size))
	if err != nil && !errors.As(err, new(*input.Advice)) {
		err = text.Advise("the file may have been cut off: save it again", "%w", err)
	}
	try.Do(try.Name(err, "%s", path))
	head.read = math.MinInt // what follows counts as what it unpacks to
	least := 0
	for _, f := range in.File {
		least = int(min(uint64(least)+min(f.UncompressedSize64, math.MaxInt32), math.MaxInt32))
	}
	if err := new(input.Budget).Spend(input.Bytes, least); err != nil { // before anything is unpacked
		try.Fail("%s: unpacked, it has %w", path, err)
	}
	folder := try.Get(os.MkdirTemp("", "landmarks-*"))
	defer os.RemoveAll(folder)
	alone, count, unpacked := "", 0, new(input.Budget)
	for _, f := range in.File {
		name := filepath.Base(filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(name, ".") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		try.Do(try.Name(unpack(f, filepath.Join(folder, name), unpacked), "%s", path))
		alone, count = name, count+1
	}
	err = try.Run(func() {
		if count == 1 {
			d = try.Get(as.readFile(filepath.Join(folder, alone), new(input.Budget), false, nil)).Data
		} else {
			d = as.readFolder(folder)
		}
	})
	if err != nil {
		try.Fail("%s", strings.ReplaceAll(err.Error(), folder, path))
	}
	d.Name, d.Source = stem(strings.TrimSuffix(path, filepath.Ext(path))+".x"), path
	return d
}

// unpack writes a file of an archive into a folder.
func unpack(f *zip.File, path string, within *input.Budget) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return text.Advise("give each a name of its own", "two files %s", text.Clip(filepath.Base(path)))
	}
	if err != nil {
		return err
	}
	r, err := f.Open()
	if err == nil {
		defer r.Close()
		_, err = io.Copy(out, input.Of(r, within))
	}
	return try.Name(errors.Join(err, out.Close()), "%s", text.Clip(filepath.Base(path)))
}
