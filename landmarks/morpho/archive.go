package morpho

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// writeArchive writes a file for each specimen, of its name, in the format that stands before .zip.
func writeArchive(path string, d *Dataset) error {
	inner := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), archive)
	at := slices.IndexFunc(fileFormats, func(f fileFormat) bool {
		return f.write != nil && slices.ContainsFunc(f.extensions, func(e string) bool { return strings.HasSuffix(inner, e) })
	})
	if at < 0 {
		return fmt.Errorf("%s: %w", path, text.Advise("write it before, as skulls.mrk.json.zip", "an archive whose name tells no format of the files in it"))
	}
	f := fileFormats[at]
	extension := f.extensions[slices.IndexFunc(f.extensions, func(e string) bool { return strings.HasSuffix(inner, e) })]
	if extension == ".json" {
		extension = ".mrk.json"
	}
	if err := d.checkWritable(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		switch lower := strings.ToLower(s.Name); {
		case strings.ContainsAny(s.Name, `/\:*?"<>|`) || strings.HasPrefix(s.Name, "."):
			return fmt.Errorf("%s: %w", path, text.Advise("rename it", "the name %s of a specimen is no name of a file", text.Clip(s.Name)))
		case seen[lower]:
			return fmt.Errorf("%s: %w", path, text.Advise("give each a name of its own", "two specimens %s would be one file", text.Clip(s.Name)))
		default:
			seen[lower] = true
		}
	}
	return replace.File(path, func(w io.Writer) error {
		out := zip.NewWriter(w)
		for _, s := range d.Specimens {
			one := *d
			one.Specimens = []Specimen{s}
			in, err := out.Create(s.Name + extension)
			if err != nil {
				return err
			}
			if err := f.write(in, &one); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// readArchive reads the files of an archive as those of a folder, or the one file that there is as a file.
func (as Reading) readArchive(path string) (*Dataset, error) {
	file, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := &archiveHead{Reader: file}
	in, err := zip.NewReader(head, int64(file.Size))
	if advice := (*input.Advice)(nil); err != nil && !errors.As(err, &advice) {
		err = text.Advise("the file may have been cut off: save it again", "%w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head.read = math.MinInt // what follows counts as what it unpacks to
	folder, err := os.MkdirTemp("", "landmarks-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	files := map[string]bool{}
	alone, unpacked, least := "", new(input.Budget), 0
	for _, f := range in.File {
		least = int(min(uint64(least)+min(f.UncompressedSize64, math.MaxInt32), math.MaxInt32))
	}
	ahead := new(input.Budget) // before anything is unpacked
	if err := ahead.Spend(input.Bytes, least); err != nil {
		return nil, fmt.Errorf("%s: unpacked, it has %w", path, err)
	}
	for _, f := range in.File {
		name := filepath.Base(filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(name, ".") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		if files[name] {
			return nil, fmt.Errorf("%s: %w", path, text.Advise("give each a name of its own", "two files %s", text.Clip(name)))
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, text.Clip(name), err)
		}
		out, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = io.Copy(out, input.Of(r, unpacked))
			err = errors.Join(err, out.Close())
		}
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, text.Clip(name), err)
		}
		files[name], alone = true, name
	}
	var d *Dataset
	if len(files) == 1 {
		d, err = as.readFile(filepath.Join(folder, alone), new(input.Budget))
	} else {
		d, err = as.readFolder(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), folder, path))
	}
	d.Name, d.Source = stem(strings.TrimSuffix(path, filepath.Ext(path))+".x"), path
	return d, nil
}
